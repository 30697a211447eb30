"""StatusFeed: one rendering of the status for all viewers."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from shared.protocol.errors import OverloadedError

log = logging.getLogger(__name__)

# Between two messages, at least: after a change of state, and for other changes, so that the former seldom waits.
URGENT_SECONDS: Final = 1.0
ROUTINE_SECONDS: Final = 2.0
# A message without a change says that the connection lives.
IDLE_SECONDS: Final = 10.0
# Rendering takes at most one part of so many of a core's time, also for a fleet of thousands.
RENDER_SHARE: Final = 100
MAX_VIEWERS: Final = 200
# When a refused viewer should ask again, in seconds.
FULL_SECONDS: Final = 30.0


def stamped(content: bytes) -> bytes:
    """Return a rendered status with the time of now."""
    return b'{"now":%.1f,' % time.time() + content[1:]


class StatusFeed:
    """Renders for its viewers, while there are any; ``clock`` is monotonic.

    ``render`` returns JSON without its time, which ``stamp`` adds.
    """

    def __init__(self, clock: Callable[[], float], stamp: Callable[[bytes], bytes]) -> None:
        self._clock = clock
        self._stamp = stamp
        self._rendered_at = -math.inf
        self._published_at = -math.inf
        self._render_seconds = 0.0
        self._content: bytes = b""
        self._message = b""
        self._closed = False
        self.viewers = 0
        self._urgent = asyncio.Event()
        self._published = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self.version = 0

    def wake(self) -> None:
        """Render as soon as possible, because a state changed."""
        self._urgent.set()

    def current(self, render: Callable[[], bytes]) -> bytes:
        """Return the status, rendered within the last second."""
        if self._clock() >= self.next_render_at(urgent=True):
            self._render(render)
        return self._message

    def next_render_at(self, *, urgent: bool) -> float:
        """Return the time of the next rendering."""
        pause = URGENT_SECONDS if urgent else ROUTINE_SECONDS
        return self._rendered_at + max(pause, RENDER_SHARE * self._render_seconds)

    @asynccontextmanager
    async def viewing(self, render: Callable[[], bytes]) -> AsyncGenerator[None]:
        """Keep rendering; raise OverloadedError beyond ``MAX_VIEWERS``."""
        if self.viewers >= MAX_VIEWERS:
            detail = f"{MAX_VIEWERS} viewers follow the status already; GET /status/data without streaming works."
            raise OverloadedError(detail, retry_after=FULL_SECONDS)
        if self._task is None:
            self.current(render)  # not what earlier viewers saw last
        self.viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run(render))
        try:
            yield
        finally:
            self.viewers -= 1
            if not self.viewers:
                self._task.cancel()
                self._task = None

    async def after(self, version: int) -> tuple[int, bytes] | None:
        """Wait for a message after this one; None: the feed is closed."""
        async with self._published:
            await self._published.wait_for(lambda: self.version > version or self._closed)
        return None if self._closed else (self.version, self._message)

    async def close(self) -> None:
        """End all streams, because the proxy stops."""
        self._closed = True
        async with self._published:
            self._published.notify_all()

    async def _run(self, render: Callable[[], bytes]) -> None:
        while True:
            try:
                self._render(render)
            except Exception:
                self._rendered_at = self._clock()
                log.exception("status not rendered")
            async with self._published:
                self._published.notify_all()
            await self._until_due()

    async def _until_due(self) -> None:
        try:
            async with asyncio.timeout(max(0.0, self.next_render_at(urgent=False) - self._clock())):
                await self._urgent.wait()
                await asyncio.sleep(max(0.0, self.next_render_at(urgent=True) - self._clock()))
        except TimeoutError:
            pass

    def _render(self, render: Callable[[], bytes]) -> None:
        self._urgent.clear()
        started = self._clock()
        content = render()
        self._rendered_at = self._clock()
        self._render_seconds = self._rendered_at - started
        if content != self._content or self._rendered_at - self._published_at >= IDLE_SECONDS:
            self._content = content
            self._message = self._stamp(content)
            self._published_at = self._rendered_at
            self.version += 1
