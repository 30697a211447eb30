"""Simulated fleet with continuous batching on a clock of its own, and four ways to choose a replica.

Discrete events, nothing real: a replica runs the segments of its requests side by side; each step gives every running
segment one token and takes longer the more of them run. A failing replica answers at once with an error, and the
request goes to the next choice, at most ``ATTEMPTS`` times.
"""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final, Protocol

from benchmarks.sizing.replica_model import text_segments
from tests.proxy.balancing.simulated_balancer import SimulatedBalancer

# A small translation model on one GPU or on many cores: a step of one segment, and what each further one adds.
STEP_SECONDS: Final = 0.008
STEP_SECONDS_PER_SEGMENT: Final = 0.00025
MAX_SEGMENTS: Final = 64
# HTTP, tokenizing and the rest of a request's way.
OVERHEAD_SECONDS: Final = 0.004
# A replica that fails does so at once.
FAILURE_SECONDS: Final = 0.002
ATTEMPTS: Final = 3
SHORTEST, LONGEST = 10, 2000


@dataclass(frozen=True, slots=True)
class Kind:
    """What one replica is like: ``speed`` as a part of the fastest, and whether it fails everything at once."""

    speed: float = 1.0
    fails: bool = False


class Strategy(Protocol):
    """How replicas are chosen, and what the strategy hears of what became of it."""

    def choose(self, chars: int, now: float) -> int | None:
        """Return the index of a replica; None: there is none to ask."""
        ...

    def began(self, replica: int, chars: int, now: float) -> None:
        """Hear that a request went there."""
        ...

    def ended(self, replica: int, chars: int, now: float, seconds: float, *, failed: bool) -> None:
        """Hear that it came back after so many seconds."""
        ...


@dataclass(slots=True)
class Outcome:
    """What became of a run: each request's latency (infinite without an answer), and the attempts at each replica."""

    latencies: list[float]
    attempts: list[int]

    @property
    def unanswered(self) -> int:
        """How many requests got no answer."""
        return self.latencies.count(math.inf)

    @property
    def attempts_per_request(self) -> float:
        """How often a request was sent."""
        return sum(self.attempts) / len(self.latencies)

    def percentile(self, part: float) -> float:
        """Return the latency (seconds) that this part of the requests stays within."""
        return sorted(self.latencies)[min(len(self.latencies) - 1, int(part * len(self.latencies)))]

    def share(self, replicas: Sequence[int]) -> float:
        """Return what part of all attempts went to these replicas."""
        return sum(self.attempts[index] for index in replicas) / sum(self.attempts)


@dataclass(slots=True)
class _Job:
    chars: int
    arrived: float
    sent: float = 0.0
    attempts: int = 0
    segments: int = 1
    tokens: float = 0.0


@dataclass(slots=True)
class _Engine:
    kind: Kind
    running: list[tuple[float, int, _Job]] = field(default_factory=list[tuple[float, int, _Job]])
    waiting: deque[_Job] = field(default_factory=deque["_Job"])
    segments: int = 0
    done: float = 0.0  # tokens that a segment has got that runs since the beginning
    at: float = 0.0
    epoch: int = 0

    def seconds_per_token(self) -> float:
        return (STEP_SECONDS + STEP_SECONDS_PER_SEGMENT * self.segments) / self.kind.speed

    def advance(self, now: float) -> None:
        if self.running:
            self.done += (now - self.at) / self.seconds_per_token()
        self.at = now

    def fill(self, number: count[int]) -> None:
        while self.waiting and (not self.running or self.segments + self.waiting[0].segments <= MAX_SEGMENTS):
            job = self.waiting.popleft()
            self.segments += job.segments
            heappush(self.running, (self.done + job.tokens, next(number), job))

    def next_end(self) -> float | None:
        if not self.running:
            return None
        return self.at + max(0.0, self.running[0][0] - self.done) * self.seconds_per_token()


def tokens_per_second(kind: Kind) -> float:
    """Return the tokens that a replica makes with a full batch."""
    return MAX_SEGMENTS * kind.speed / (STEP_SECONDS + STEP_SECONDS_PER_SEGMENT * MAX_SEGMENTS)


def text_length(rng: Random) -> int:
    """Return a number of characters: every order of magnitude between the shortest and the longest alike."""
    return int(SHORTEST * (LONGEST / SHORTEST) ** rng.random())


def mean_tokens(rng: Random, texts: int = 5000) -> float:
    """Return the tokens of a mean text."""
    return sum(math.prod(text_segments(text_length(rng))) for _ in range(texts)) / texts


class Simulation:
    """One run. ``rate`` requests a second arrive at random; only those that arrive after ``warm_up`` seconds count."""

    def __init__(self, kinds: Sequence[Kind], strategy: Strategy, rate: float, rng: Random) -> None:
        """Prepare an idle fleet."""
        self._engines = [_Engine(kind) for kind in kinds]
        self._strategy = strategy
        self._rate = rate
        self._rng = rng
        self._number = count()
        # (when, number, replica, its epoch, job): the end of what runs longest there, or the end of a failing attempt.
        self._events: list[tuple[float, int, int, int, _Job | None]] = []
        self._outcome = Outcome([], [0] * len(kinds))
        self._warm_up = 0.0

    def run(self, seconds: float, warm_up: float, changes: Sequence[tuple[float, int, Kind]] = ()) -> Outcome:
        """Let requests arrive for so many seconds, and wait for the last of them; apply the changes at their times."""
        self._warm_up = warm_up
        due = deque(sorted(changes, key=lambda change: change[0]))
        now = 0.0
        while now < seconds:
            now += self._rng.expovariate(self._rate)
            while due and due[0][0] <= now:
                when, replica, kind = due.popleft()
                self._until(when)
                self._set_kind(replica, kind, when)
            self._until(now)
            chars = text_length(self._rng)
            segments, tokens = text_segments(chars)
            self._send(_Job(chars, now, segments=min(segments, MAX_SEGMENTS), tokens=tokens), now)
        self._until(math.inf)
        return self._outcome

    def _set_kind(self, replica: int, kind: Kind, now: float) -> None:
        engine = self._engines[replica]
        engine.advance(now)
        engine.kind = kind
        self._reschedule(replica)

    def _until(self, end: float) -> None:
        events = self._events
        while events and events[0][0] <= end:
            when, _, replica, epoch, failing = heappop(events)
            if failing is not None:
                self._failed(replica, failing, when)
            elif epoch == self._engines[replica].epoch:
                self._finish(replica, when)

    def _send(self, job: _Job, now: float) -> None:
        replica = self._strategy.choose(job.chars, now) if job.attempts < ATTEMPTS else None
        if replica is None:
            if job.arrived >= self._warm_up:
                self._outcome.latencies.append(math.inf)
            return
        job.attempts += 1
        job.sent = now
        if job.arrived >= self._warm_up:
            self._outcome.attempts[replica] += 1
        self._strategy.began(replica, job.chars, now)
        engine = self._engines[replica]
        if engine.kind.fails:
            heappush(self._events, (now + FAILURE_SECONDS, next(self._number), replica, 0, job))
            return
        engine.advance(now)
        engine.waiting.append(job)
        engine.fill(self._number)
        self._reschedule(replica)

    def _reschedule(self, replica: int) -> None:
        engine = self._engines[replica]
        engine.epoch += 1
        if (end := engine.next_end()) is not None:
            heappush(self._events, (end, next(self._number), replica, engine.epoch, None))

    def _finish(self, replica: int, now: float) -> None:
        engine = self._engines[replica]
        engine.advance(now)
        _, _, job = heappop(engine.running)
        engine.segments -= job.segments
        engine.fill(self._number)
        self._reschedule(replica)
        seconds = now - job.sent + OVERHEAD_SECONDS
        self._strategy.ended(replica, job.chars, now, seconds, failed=False)
        if job.arrived >= self._warm_up:
            self._outcome.latencies.append(now - job.arrived + OVERHEAD_SECONDS)

    def _failed(self, replica: int, job: _Job, now: float) -> None:
        self._strategy.ended(replica, job.chars, now, now - job.sent, failed=True)
        self._send(job, now)


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


STRATEGIES: Final[dict[str, Callable[[int, Random], Strategy]]] = {
    "random": RandomChoice,
    "round robin": RoundRobin,
    "least connections": LeastConnections,
    "Pairway": SimulatedBalancer,
}
SPEEDS: Final = (1.0, 0.5, 0.25)
# One replica in a hundred is this slow, and one in a hundred fails at once.
SICK_ONE_IN: Final = 100
SLOW: Final = Kind(speed=1 / 75)
FAILING: Final = Kind(fails=True)
# Of two replicas one has a fault from second 2 to 9; a request takes about 30 ms there.
TWO_SPEED: Final = 8.0
FAULT: Final = (2.0, 9.0)
AFTER_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Replicas, and which of them are slow or fail."""

    kinds: list[Kind]
    slow: range
    failing: range

    @classmethod
    def mixed(cls, replicas: int, rng: Random, *, sick: bool) -> Fleet:
        """Make a fleet of mixed speeds, with sick ones or without."""
        kinds = [Kind(rng.choice(SPEEDS)) for _ in range(replicas)]
        some = replicas // SICK_ONE_IN if sick else 0
        slow, failing = range(some), range(some, 2 * some)
        for index in slow:
            kinds[index] = SLOW
        for index in failing:
            kinds[index] = FAILING
        return cls(kinds, slow, failing)

    def requests_per_second(self) -> float:
        """Return the requests that the replicas that work can do at most."""
        tokens = sum(tokens_per_second(kind) for kind in self.kinds if not kind.fails)
        return tokens / mean_tokens(Random(0))


def run(name: str, fleet: Fleet, load: float, seed: int, seconds: float, warm_up: float) -> Outcome:
    """Simulate one strategy; the requests are the same for each."""
    strategy = STRATEGIES[name](len(fleet.kinds), Random(seed))
    return Simulation(fleet.kinds, strategy, fleet.requests_per_second() * load, Random(seed)).run(seconds, warm_up)


class _RecordedChoices:
    """A strategy, and when it chose what."""

    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self.chosen: list[tuple[float, int]] = []
        self.began = inner.began
        self.ended = inner.ended

    def choose(self, chars: int, now: float) -> int | None:
        replica = self._inner.choose(chars, now)
        if replica is not None:
            self.chosen.append((now, replica))
        return replica

    def share(self, replica: int, since: float, until: float) -> float:
        counted = Counter(each for when, each in self.chosen if since <= when < until)
        return counted[replica] / max(1, counted.total())


def fault_shares(name: str, fault: Kind, rate: float, seed: int) -> tuple[float, float]:
    """Return the share that one of two replicas gets while it has a fault, and in the seconds after."""
    choices = _RecordedChoices(STRATEGIES[name](2, Random(seed)))
    well = Kind(TWO_SPEED)
    changes = ((FAULT[0], 1, fault), (FAULT[1], 1, well))
    Simulation([well, well], choices, rate, Random(seed)).run(FAULT[1] + AFTER_SECONDS, 0, changes)
    return choices.share(1, *FAULT), choices.share(1, FAULT[1], FAULT[1] + AFTER_SECONDS)
