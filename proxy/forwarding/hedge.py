"""Hedge: a second attempt beside a slow first one.

Whichever is answered first wins, the other is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from shared.protocol.errors import RelayedError


class HedgeWonError(Exception):
    """End of the wait for a replica: another one answered first."""


class ReplicaLostError(Exception):
    """End of the wait for a replica that is down or stands still; another can take over."""


class CancellableWait:
    """Context manager of a wait for a replica, which others can end.

    It raises their reason then.

    Mutable state: the wait under way, and why it was ended.
    """

    def __init__(self) -> None:
        self._timeout: asyncio.Timeout | None = None
        self._reason: HedgeWonError | ReplicaLostError | None = None

    async def __aenter__(self) -> None:
        """Wait from now on."""
        self._timeout = asyncio.timeout(None)
        await self._timeout.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        """Wait no longer.

        Raises:
            HedgeWonError, ReplicaLostError: the wait was ended for this reason.
        """
        timeout, self._timeout = self._timeout, None
        if timeout is None:
            return None
        try:
            return await timeout.__aexit__(kind, error, trace)
        except TimeoutError as ended:
            if self._reason is None:
                raise
            raise self._reason from ended

    @property
    def lasts(self) -> bool:
        """Whether somebody waits and nobody ended it."""
        return self._timeout is not None and self._reason is None

    def end(self, reason: HedgeWonError | ReplicaLostError) -> None:
        """End the wait, unless it has ended or not begun."""
        if self._timeout is not None and self._reason is None:
            self._reason = reason
            self._timeout.reschedule(asyncio.get_running_loop().time())


class Hedge:
    """Context manager that begins a second attempt after ``delay`` seconds, while the block lasts.

    Mutable state: the timer, and the second attempt's task once it has begun.
    """

    def __init__(self, delay: float, begin: Callable[[], asyncio.Task[bytes] | None], first: CancellableWait) -> None:
        """Take the first attempt's wait, which the hedge ends when it wins.

        ``begin`` begins the second attempt, or returns None if it may not be made.
        """
        self._delay = delay
        self._begin = begin
        self._first = first
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[bytes] | None = None

    def __enter__(self) -> Self:
        """Set the timer."""
        self._timer = asyncio.get_running_loop().call_later(self._delay, self._start)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the timer and the second attempt."""
        if self._timer is not None:
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
        """End the first attempt's wait if the hedge was answered.

        An answer is also that the request is wrong. After any other error the first attempt may still be answered.
        """
        if not task.cancelled() and (task.exception() is None or isinstance(task.exception(), RelayedError)):
            self._first.end(HedgeWonError())
