"""Played calls: a call is run with answers that a test says, without a network, at a clock that waits move."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
from pairway.errors import PairwayError
from pairway.exchange import Session
from pairway.settings import Settings
from pairway.steps import Call, Lost, Reply, Send, Together, Wait

T = TypeVar("T")
URL = "http://server.test"
Answer = Callable[[Send], Reply | Lost]


def answered(members: object, status: int = 200, **headers: str) -> Reply:
    """Return an answer; headers are named ``retry_after``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, httpx.Headers(named), json.dumps(members).encode())


def problem(status: int, code: str, retry_after: str | None = None, **members: Any) -> Reply:
    headers = {} if retry_after is None else {"retry_after": retry_after}
    return answered({"code": code, "detail": f"It is {code}.", **members}, status, **headers)


@dataclass
class Player:
    """A transport that answers from a list or by a function; remembers what was sent and how long calls waited."""

    answer: Answer | Sequence[Reply | Lost]
    sent: list[Send] = field(default_factory=list[Send])
    waits: list[float] = field(default_factory=list[float])
    now: float = 100.0
    seconds_each: float = 0.0

    def session(self, **settings: Any) -> Session:
        return Session(Settings(URL), 60.0, now=lambda: self.now, jitter=lambda: 0.0, **settings)

    def run(self, call: Call[T]) -> T:
        try:
            step = next(call)
            while True:
                try:
                    outcome = self._perform(step)
                except PairwayError as error:
                    step = call.throw(error)
                else:
                    step = call.send(outcome)
        except StopIteration as done:
            return done.value

    def bodies(self) -> list[Any]:
        return [json.loads(step.request.body or b"null") for step in self.sent]

    def _perform(self, step: Send | Wait | Together) -> Any:
        match step:
            case Send():
                self.sent.append(step)
                self.now += self.seconds_each
                return self.answer(step) if callable(self.answer) else self.answer[len(self.sent) - 1]
            case Wait(seconds=seconds):
                self.waits.append(seconds)
                self.now += seconds
                return None
            case Together(calls=calls):
                return [self.run(call) for call in calls]
