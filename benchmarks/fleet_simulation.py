"""A fleet of replicas with continuous batching on a clock of its own: what a choice of replica does to the latencies.

Discrete events, nothing real: a replica runs the segments of its requests side by side; each step gives every running
segment one token and takes longer the more of them run. A failing replica answers at once with an error, and the
request goes to the next choice, at most ``ATTEMPTS`` times.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

# A small translation model on one GPU or on many cores: a step of one segment, and what each further one adds.
STEP_SECONDS: Final = 0.008
STEP_SECONDS_PER_SEGMENT: Final = 0.00025
MAX_SEGMENTS: Final = 64
# Sentences of that many characters; about four characters a token, and a few tokens that every segment costs.
SEGMENT_CHARS: Final = 120
CHARS_PER_TOKEN: Final = 4
TOKENS_PER_SEGMENT: Final = 4
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


def shape(chars: int) -> tuple[int, float]:
    """Return the segments of a text and the tokens of each."""
    segments = math.ceil(chars / SEGMENT_CHARS)
    return segments, chars / segments / CHARS_PER_TOKEN + TOKENS_PER_SEGMENT


def text_length(rng: Random) -> int:
    """Return a number of characters: every order of magnitude between the shortest and the longest alike."""
    return int(SHORTEST * (LONGEST / SHORTEST) ** rng.random())


def mean_tokens(rng: Random, texts: int = 5000) -> float:
    """Return the tokens of a mean text."""
    return sum(math.prod(shape(text_length(rng))) for _ in range(texts)) / texts


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
            segments, tokens = shape(chars)
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
