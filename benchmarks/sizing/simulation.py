"""A fleet of equal replicas with measured model times, on a clock of its own: how long requests take in it. Pure.

Discrete events. A replica runs the segments of its requests side by side, as many as it may; each step gives every running
segment one token and takes as long as was measured for so many. The replica of each request is chosen as the proxy does.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from random import Random

from benchmarks.sizing.balancer import SimulatedBalancer, text_segments
from benchmarks.sizing.replica_model import ReplicaModel


@dataclass(slots=True)
class _Request:
    chars: int
    arrived: float
    tokens: float
    left: int  # segments


@dataclass(slots=True)
class _Replica:
    model: ReplicaModel
    step: float = 0.0
    done: float = 0.0  # tokens that a segment has got that runs since the beginning
    at: float = 0.0
    epoch: int = 0
    running: list[tuple[float, int, _Request]] = field(default_factory=list[tuple[float, int, _Request]])
    waiting: deque[_Request] = field(default_factory=deque["_Request"])  # once for each segment

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
        self.ended_at: list[float] = []
        self._model = model
        self._replicas = [_Replica(model) for _ in range(replicas)]
        self._balancer = SimulatedBalancer(replicas, rng)
        self._rng = rng
        self._warm_up = warm_up
        self._number = count()
        self._events: list[tuple[float, int, int, int]] = []  # when, number, replica, its epoch
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
            when, _, index, epoch = heappop(events)
            if epoch == self._replicas[index].epoch:
                self._finish(index, when)

    def _send(self, now: float) -> None:
        chars = self._model.mix.draw(self._rng)
        index = self._balancer.choose(chars, now)
        if index is None:
            raise AssertionError("no replica fails here")
        self._balancer.began(index, chars, now)
        segments, tokens = text_segments(chars)
        replica = self._replicas[index]
        replica.advance(now)
        request = _Request(chars, now, tokens, segments)
        replica.waiting.extend([request] * segments)
        self._reschedule(index)

    def _reschedule(self, index: int) -> None:
        replica = self._replicas[index]
        replica.fill(self._number)
        replica.epoch += 1
        if replica.running:
            heappush(self._events, (replica.next_end(), next(self._number), index, replica.epoch))

    def _finish(self, index: int, now: float) -> None:
        replica = self._replicas[index]
        replica.advance(now)
        _, _, request = heappop(replica.running)
        self._reschedule(index)
        request.left -= 1
        if request.left:
            return
        seconds = now - request.arrived + self._model.overhead
        self._balancer.ended(index, request.chars, now, seconds, failed=False)
        if request.arrived >= self._warm_up:
            self.latencies.append(seconds)
            self.ended_at.append(now)
        if self._closed_loop:
            self._send(now)
