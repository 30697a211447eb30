"""Hedge: a second attempt beside a slow first one; whichever is answered first wins, the other is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Self

from shared.protocol.errors import RelayedError


class HedgeReason(Enum):
    """Why the wait for a replica was ended before its time."""

    BEATEN = "beaten"
    """Another replica answered first."""
    LOST = "lost"
    """The replica is down or stands still, and another can take over."""


class CancellableWait:
    """The wait for a replica, as a context manager, which others can end: it raises TimeoutError then.

    Mutable state: the wait under way, and why it was ended.
    """

    def __init__(self) -> None:
        """Begin with no wait."""
        self._wait: asyncio.Timeout | None = None
        self.ended: HedgeReason | None = None

    async def __aenter__(self) -> None:
        """Wait from now on."""
        self._wait = asyncio.timeout(None)
        await self._wait.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait no longer."""
        wait, self._wait = self._wait, None
        return None if wait is None else await wait.__aexit__(kind, error, trace)

    @property
    def lasts(self) -> bool:
        """Whether somebody waits and nobody ended it."""
        return self._wait is not None and self.ended is None

    def end(self, reason: HedgeReason) -> None:
        """End the wait, unless it has ended or not begun."""
        if self._wait is not None and self.ended is None:
            self.ended = reason
            self._wait.reschedule(asyncio.get_running_loop().time())


class Hedge:
    """Begins a second attempt after ``delay`` seconds, while the block lasts; use as a context manager.

    Mutable state: the timer, and the second attempt's task once it has begun.
    """

    def __init__(self, delay: float, begin: Callable[[], asyncio.Task[bytes] | None], first: CancellableWait) -> None:
        """Take what begins the attempt (None: it may not), and the wait of the first one, which it ends when it wins."""
        self._delay = delay
        self._begin = begin
        self._first = first
        self._task: asyncio.Task[bytes] | None = None

    def __enter__(self) -> Self:
        """Set the timer."""
        self._timer = asyncio.get_running_loop().call_later(self._delay, self._start)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop whatever is left of it."""
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    @property
    def second(self) -> asyncio.Task[bytes] | None:
        """The second attempt, once it has begun."""
        return self._task

    def _start(self) -> None:
        self._task = self._begin()
        if self._task is not None:
            self._task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[bytes]) -> None:
        """End the first one's wait where this is an answer, if only that the request is wrong; else it may still come."""
        if not task.cancelled() and (task.exception() is None or isinstance(task.exception(), RelayedError)):
            self._first.end(HedgeReason.BEATEN)
