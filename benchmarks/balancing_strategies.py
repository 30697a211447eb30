"""Ways to choose a replica, for the simulation: Pairway's own decisions, and the three that everybody has."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from proxy.balancer import Candidate, pick
from proxy.breaker import BreakerState, CircuitBreaker, Permit
from proxy.latency import PeakEwma, work_of

if TYPE_CHECKING:
    from random import Random

# As the proxy does: what a failure in a row adds to the score, and what is taken for a replica that nothing is known of.
PENALTY_SECONDS = 1.0
FIRST_SECONDS_PER_UNIT = 0.1


class RandomChoice:
    """Any replica."""

    def __init__(self, replicas: int, rng: Random) -> None:
        """Choose among so many."""
        self._replicas = replicas
        self._rng = rng

    def choose(self, chars: int, now: float) -> int | None:
        """Return any."""
        del chars, now
        return self._rng.randrange(self._replicas)

    def began(self, replica: int, chars: int, now: float) -> None:
        """Take no notice."""

    def ended(self, replica: int, chars: int, now: float, seconds: float, *, failed: bool) -> None:
        """Take no notice."""


class RoundRobin(RandomChoice):
    """One after the other."""

    _last = -1

    def choose(self, chars: int, now: float) -> int | None:
        """Return the next."""
        del chars, now
        self._last += 1
        return self._last % self._replicas


class LeastConnections(RandomChoice):
    """The one with the fewest requests in flight of all, any of those."""

    def __init__(self, replicas: int, rng: Random) -> None:
        """Begin with all idle."""
        super().__init__(replicas, rng)
        self._in_flight = [0] * replicas
        # Replicas by requests in flight, and where each stands in its list.
        self._with: list[list[int]] = [list(range(replicas))]
        self._place = list(range(replicas))

    def choose(self, chars: int, now: float) -> int | None:
        """Return one of the idlest."""
        del chars, now
        return self._rng.choice(next(replicas for replicas in self._with if replicas))

    def began(self, replica: int, chars: int, now: float) -> None:
        """Count it."""
        del chars, now
        self._move(replica, 1)

    def ended(self, replica: int, chars: int, now: float, seconds: float, *, failed: bool) -> None:
        """Count it no longer, whatever became of it."""
        del chars, now, seconds, failed
        self._move(replica, -1)

    def _move(self, replica: int, by: int) -> None:
        old = self._with[self._in_flight[replica]]
        last = old.pop()
        if last != replica:
            old[self._place[replica]] = last
            self._place[last] = self._place[replica]
        self._in_flight[replica] += by
        if self._in_flight[replica] == len(self._with):
            self._with.append([])
        new = self._with[self._in_flight[replica]]
        self._place[replica] = len(new)
        new.append(replica)


class _Standing:
    """What one proxy knows of one replica."""

    __slots__ = ("breaker", "failures", "latency", "sent", "work")

    def __init__(self, pairway: Pairway, rng: Random) -> None:
        self.latency = PeakEwma(pairway.clock)
        self.breaker = CircuitBreaker(pairway.clock, rng)
        self.work = 0.0
        self.failures = 0
        # When each request in flight began, its length, and the permit it runs under; the oldest first.
        self.sent: deque[tuple[float, int, Permit]] = deque()


class Pairway:
    """The proxy's own decisions put together as the proxy does, without canaries and hedges."""

    def __init__(self, replicas: int, rng: Random) -> None:
        """Begin with nothing known."""
        self._now = 0.0
        self._rng = rng
        self._urls = [str(index) for index in range(replicas)]
        self._standings = [_Standing(self, rng) for _ in range(replicas)]
        self._usual = FIRST_SECONDS_PER_UNIT

    def clock(self) -> float:
        """Return the time of the simulation."""
        return self._now

    def choose(self, chars: int, now: float) -> int | None:
        """Return the best of a few."""
        self._now = now
        url = pick(self._urls, self._look, work_of(chars), self._rng)
        return None if url is None else int(url)

    def began(self, replica: int, chars: int, now: float) -> None:
        """Count it, with the breaker's leave."""
        standing = self._standings[replica]
        permit = standing.breaker.acquire()
        if permit is None:
            raise AssertionError(f"replica {replica} was chosen and may not be asked")
        standing.work += work_of(chars)
        standing.sent.append((now, chars, permit))

    def ended(self, replica: int, chars: int, now: float, seconds: float, *, failed: bool) -> None:
        """Learn from it."""
        self._now = now
        standing = self._standings[replica]
        # Two texts of one length at once are rare, and then one permit is as good as the other.
        ticket = next(each for each in standing.sent if each[1] == chars)
        standing.sent.remove(ticket)
        standing.work = standing.work - work_of(chars) if standing.sent else 0.0
        if failed:
            standing.failures += 1
            standing.breaker.failure(ticket[2])
            return
        standing.failures = 0
        standing.breaker.success(ticket[2])
        sample = seconds / work_of(chars)
        standing.latency.observe(sample)
        self._usual += (sample - self._usual) / 1000

    def _look(self, url: str) -> Candidate | None:
        standing = self._standings[int(url)]
        if standing.breaker.state is not BreakerState.CLOSED and standing.breaker.retry_in() > 0:
            return None
        latency = standing.latency.value
        if latency is None:
            latency = self._usual
        if standing.sent:
            began, chars, _ = standing.sent[0]
            latency = max(latency, (self._now - began) / work_of(chars))
        return Candidate(latency, standing.work, 1.0, standing.failures * PENALTY_SECONDS)
