"""Queue deadline: how long a request may wait for a slot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf
from typing import Final

from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority

# A short request without a slot after this many ``queue_seconds``, from its first wait, is refused.
QUEUE_DEADLINES: Final = {Priority.INTERACTIVE: 5.0, Priority.STANDARD: 10.0, Priority.BULK: 20.0}


class QueueTimeoutError(Exception):
    """The queue deadline passed before the first slot."""


class QueueDeadline:
    """Time limit of one request: of its first wait, then its deadline.

    The whole rule is here: its admission enforces it, its plan sets the limit, and the batch slots tell when the request
    waits and begins. Mutable state: these, and ``begun_at``, when it had its first slot.
    """

    __slots__ = ("_deadline", "_is_waiting", "_limit", "_timer", "begun_at")

    def __init__(self, deadline: Deadline) -> None:
        self.begun_at: float | None = None
        self._deadline = deadline
        self._limit = inf
        self._timer: asyncio.Timeout | None = None  # a canary is not enforced
        self._is_waiting = False

    @asynccontextmanager
    async def enforced(self) -> AsyncGenerator[None]:
        """Cancel the block at the deadline, or at the queue deadline.

        Raises:
            QueueTimeoutError: the request had no slot in time.
            DeadlineExceededError: its whole time is over.
        """
        try:
            async with asyncio.timeout(self._deadline.remaining()) as self._timer:
                yield
        except TimeoutError:
            if self._is_waiting:
                raise QueueTimeoutError from None
            raise self._deadline.exceeded_error() from None

    def limit(self, seconds: float) -> None:
        """Bound the first wait; without it, only the deadline does."""
        self._limit = seconds

    def wait(self) -> None:
        """Record a wait for a slot; the first has the limit."""
        if self.begun_at is not None or self._is_waiting or self._timer is None or self._limit == inf:
            return
        deadline, limit = self._timer.when(), asyncio.get_running_loop().time() + self._limit
        if deadline is not None and limit < deadline and not self._timer.expired():
            self._is_waiting = True
            self._timer.reschedule(limit)

    def begin(self) -> None:
        """Record a slot; only the deadline counts now."""
        if self.begun_at is not None:
            return
        self.begun_at = self._deadline.clock()
        if self._is_waiting and self._timer is not None and not self._timer.expired():
            self._is_waiting = False
            self._timer.reschedule(asyncio.get_running_loop().time() + self._deadline.remaining())
