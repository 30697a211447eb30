"""Proxy's choice of a replica, on the clock of a simulation."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final

from proxy.balancing.circuit_breaker import BreakerState, CircuitBreaker, CircuitPermit
from proxy.balancing.replica_stats import PeakEwma
from proxy.balancing.selector import EligibleReplica, pick
from proxy.call import work_of

# As the proxy does: what a failure in a row adds to the score, and the latency of a replica that has none yet.
PENALTY_SECONDS: Final = 1.0
FIRST_SECONDS_PER_UNIT: Final = 0.1


class _ReplicaStats:
    """Statistics that one proxy has of one replica."""

    __slots__ = ("breaker", "failures", "latency", "sent", "work")

    def __init__(self, balancer: SimulatedBalancer, rng: Random) -> None:
        self.latency = PeakEwma(balancer.clock)
        self.breaker = CircuitBreaker(balancer.clock, rng)
        self.work = 0.0
        self.failures = 0
        # When each request in flight began, its length, and the permit it runs under; the oldest first.
        self.sent: deque[tuple[float, int, CircuitPermit]] = deque()


class SimulatedBalancer:
    """Proxy's own decisions put together as the proxy does, without canaries and hedges."""

    def __init__(self, replicas: int, rng: Random) -> None:
        self._now = 0.0
        self._rng = rng
        self._urls = [str(index) for index in range(replicas)]
        self._stats = [_ReplicaStats(self, rng) for _ in range(replicas)]
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
        stats = self._stats[replica]
        permit = stats.breaker.acquire()
        if permit is None:
            raise AssertionError(f"replica {replica} was chosen and may not be asked")
        stats.work += work_of(chars)
        stats.sent.append((now, chars, permit))

    def ended(self, replica: int, chars: int, now: float, seconds: float, *, failed: bool) -> None:
        """Learn from it."""
        self._now = now
        stats = self._stats[replica]
        # Two texts of one length at once are rare, and then one permit is as good as the other.
        ticket = next(each for each in stats.sent if each[1] == chars)
        stats.sent.remove(ticket)
        stats.work = stats.work - work_of(chars) if stats.sent else 0.0
        if failed:
            stats.failures += 1
            stats.breaker.record_failure(ticket[2])
            return
        stats.failures = 0
        stats.breaker.record_success(ticket[2])
        sample = seconds / work_of(chars)
        stats.latency.observe(sample)
        self._usual += (sample - self._usual) / 1000

    def _look(self, url: str) -> EligibleReplica | None:
        stats = self._stats[int(url)]
        if stats.breaker.state is not BreakerState.CLOSED and stats.breaker.retry_in() > 0:
            return None
        latency = stats.latency.value
        if latency is None:
            latency = self._usual
        if stats.sent:
            began, chars, _ = stats.sent[0]
            latency = max(latency, (self._now - began) / work_of(chars))
        return EligibleReplica(latency, stats.work, 1.0, stats.failures * PENALTY_SECONDS)
