"""A fleet of equal replicas with measured model times, on a clock of its own: how long requests take in it. Pure.

Discrete events. A replica runs the segments of its requests side by side, as many as it may; each step gives every running
segment one token and takes as long as was measured for so many. The replica of each request is the proxy's own pick.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Final

from benchmarks.sizing.replica_model import ReplicaModel, text_segments
from proxy.balancing.balancer import Candidate, pick
from proxy.balancing.latency import PeakEwma
from proxy.request_cost import work_of

FIRST_SECONDS_PER_UNIT: Final = 0.1


@dataclass(slots=True, eq=False)
class _Request:
    chars: int
    arrived: float
    tokens: float
    left: int  # segments


@dataclass(slots=True)
class _Replica:
    model: ReplicaModel
    latency: PeakEwma
    work: float = 0.0  # of the requests in flight
    step: float = 0.0
    done: float = 0.0  # tokens that a segment has got that runs since the beginning
    at: float = 0.0
    epoch: int = 0
    running: list[tuple[float, int, _Request]] = field(default_factory=list[tuple[float, int, _Request]])
    waiting: deque[_Request] = field(default_factory=deque["_Request"])  # once for each segment
    sent: deque[_Request] = field(default_factory=deque["_Request"])  # the oldest first

    def advance(self, now: float) -> None:
        if self.running:
            self.done += (now - self.at) / self.step
        self.at = now

    def fill(self, number: count[int]) -> None:
        while self.waiting and len(self.running) < self.model.most:
            request = self.waiting.popleft()
            heappush(self.running, (self.done + request.tokens, next(number), request))
        self.step = self.model.step(len(self.running))

    def next_end(self) -> float:
        return self.at + max(0.0, self.running[0][0] - self.done) * self.step


class FleetRun:
    """One run. Only requests that arrive after ``warm_up`` count; ``latencies`` are seconds, in the order of their ends."""

    def __init__(self, model: ReplicaModel, replicas: int, rng: Random, warm_up: float) -> None:
        self.latencies: list[float] = []
        self._model = model
        self._now = 0.0
        self._replicas = {str(index): _Replica(model, PeakEwma(lambda: self._now)) for index in range(replicas)}
        self._names = list(self._replicas)
        # Seconds a unit of work, as the proxy takes them of a replica that has no latency yet.
        self._usual = FIRST_SECONDS_PER_UNIT
        self._rng = rng
        self._warm_up = warm_up
        self._number = count()
        self._events: list[tuple[float, int, str, int]] = []  # when, number, replica, its epoch
        self._closed_loop = False

    def open(self, rate: float, requests: int) -> None:
        """Let so many requests arrive at random (Poisson) times, and wait for the last of them."""
        now = 0.0
        for _ in range(requests):
            now += self._rng.expovariate(rate)
            self._until(now)
            self._send(now)
        self._until(math.inf)

    def closed(self, at_once: int, seconds: float) -> None:
        """Keep so many requests in hand for so long."""
        self._closed_loop = True
        for _ in range(at_once):
            self._send(0.0)
        self._until(seconds)

    def _until(self, end: float) -> None:
        events = self._events
        while events and events[0][0] <= end:
            when, _, name, epoch = heappop(events)
            if epoch == self._replicas[name].epoch:
                self._finish(name, when)

    def _look(self, name: str) -> Candidate:
        """Say what the proxy knows of a replica: none fails here."""
        replica = self._replicas[name]
        latency = replica.latency.value or self._usual
        if replica.sent:
            oldest = replica.sent[0]
            latency = max(latency, (self._now - oldest.arrived) / work_of(oldest.chars))
        return Candidate(latency, replica.work, 1.0, 0.0)

    def _send(self, now: float) -> None:
        self._now = now
        chars = self._model.mix.draw(self._rng)
        name = pick(self._names, self._look, work_of(chars), self._rng) or self._names[0]  # none fails here
        segments, tokens = text_segments(chars)
        replica = self._replicas[name]
        replica.advance(now)
        request = _Request(chars, now, tokens, segments)
        replica.work += work_of(chars)
        replica.sent.append(request)
        replica.waiting.extend([request] * segments)
        self._reschedule(name)

    def _reschedule(self, name: str) -> None:
        replica = self._replicas[name]
        replica.fill(self._number)
        replica.epoch += 1
        if replica.running:
            heappush(self._events, (replica.next_end(), next(self._number), name, replica.epoch))

    def _finish(self, name: str, now: float) -> None:
        self._now = now
        replica = self._replicas[name]
        replica.advance(now)
        _, _, request = heappop(replica.running)
        self._reschedule(name)
        request.left -= 1
        if request.left:
            return
        seconds = now - request.arrived + self._model.overhead
        replica.sent.remove(request)
        replica.work = replica.work - work_of(request.chars) if replica.sent else 0.0
        sample = seconds / work_of(request.chars)
        replica.latency.observe(sample)
        self._usual += (sample - self._usual) / 1000
        if request.arrived >= self._warm_up:
            self.latencies.append(seconds)
        if self._closed_loop:
            self._send(now)
