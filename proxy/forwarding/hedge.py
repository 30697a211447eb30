"""Hedge: a second attempt during a slow one; the first answer wins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

from proxy.upstream.http_client import Exchange
from shared.protocol.errors import RelayedError


class HedgeWonError(Exception):
    """The hedge was answered before the first attempt."""


class ReplicaLostError(Exception):
    """The replica is down or stalled, and another one can take over."""


class Hedge:
    """Context manager that starts a second attempt after ``delay`` seconds.

    ``begin`` starts it, or returns None if it is not allowed. The ``first`` attempt is abandoned if the second wins.
    """

    def __init__(self, delay: float, begin: Callable[[], asyncio.Task[bytes] | None]) -> None:
        self._delay = delay
        self._begin = begin
        self.first: Exchange | None = None
        self.second: asyncio.Task[bytes] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_later(self._delay, self._start)
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.second is not None:
            self.second.cancel()

    def _start(self) -> None:
        self.second = self._begin()
        if self.second is not None:
            self.second.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[bytes]) -> None:
        is_answered = not task.cancelled() and (task.exception() is None or isinstance(task.exception(), RelayedError))
        if is_answered and self.first is not None:
            self.first.abandon(HedgeWonError())
