"""StatusFeed: one rendering of the status for all viewers."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple, Protocol

from shared.protocol.errors import OverloadedError

log = logging.getLogger(__name__)

# Between two messages, at least: after a change of state, and for other changes, so that the former seldom waits.
URGENT_SECONDS: Final = 1.0
ROUTINE_SECONDS: Final = 2.0
# A viewer to whom nothing was sent for so long gets a sign of life; it costs no rendering.
LIFE_SECONDS: Final = 5.0
# Rendering takes at most one part of so many of a core's time, while the longest pause suffices for that.
RENDER_SHARE: Final = 100
# With a sign of life up to LIFE_SECONDS old, what a page shows stays below the 8 s from which it says that it is old.
# A rendering seems slow also where the machine stood still meanwhile.
LONGEST_PAUSE_SECONDS: Final = 4.0
MAX_VIEWERS: Final = 200
# When a refused viewer should ask again, in seconds.
FULL_SECONDS: Final = 30.0
# Names of events.
STATUS: Final = "status"
ALIVE: Final = "alive"


class StatusSource(Protocol):
    """Maker of what viewers are shown: JSON objects that are not empty."""

    def render(self) -> bytes:
        """Return the status without its times."""
        ...

    def times(self, behind: float) -> bytes:
        """Return the time of now, and of what is known.

        The latter is at least ``behind`` seconds ago.
        """
        ...


class FeedEvent(NamedTuple):
    """Event of the stream; ``version`` is that of its viewer's status."""

    name: str
    data: bytes
    version: int


class StatusFeed:
    """Renders for its viewers, while there are any; ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rendered_at = -math.inf
        self._content_at = -math.inf
        self._stamped_at = -math.inf
        self._render_seconds = 0.0
        self._has_failed = False
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

    def current(self, source: StatusSource) -> bytes:
        """Return the status, rendered now if that is due."""
        if self._has_failed or self._clock() >= self.next_render_at(urgent=True):
            self._render(source)
        return self._stamped(source)

    def next_render_at(self, *, urgent: bool) -> float:
        """Return the time of the next rendering."""
        pause = URGENT_SECONDS if urgent else ROUTINE_SECONDS
        return self._rendered_at + max(pause, min(LONGEST_PAUSE_SECONDS, RENDER_SHARE * self._render_seconds))

    @asynccontextmanager
    async def viewing(self, source: StatusSource) -> AsyncGenerator[None]:
        """Keep rendering; raise OverloadedError beyond ``MAX_VIEWERS``."""
        if self.viewers >= MAX_VIEWERS:
            detail = f"{MAX_VIEWERS} viewers follow the status already; GET /status/data without streaming works."
            raise OverloadedError(detail, retry_after=FULL_SECONDS)
        if self._task is None:
            self.current(source)  # not what earlier viewers saw last
        self.viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run(source))
        try:
            yield
        finally:
            self.viewers -= 1
            if not self.viewers:
                self._task.cancel()
                self._task = None

    async def after(self, version: int, source: StatusSource) -> FeedEvent | None:
        """Wait for a newer status or a sign of life; None: closed.

        While the status cannot be rendered there is no sign of life, so that viewers take it for unknown.
        """
        while not self._closed:
            try:
                async with asyncio.timeout(LIFE_SECONDS), self._published:
                    await self._published.wait_for(lambda: self._is_newer_than(version) or self._closed)
            except TimeoutError:
                if not self._has_failed:
                    return FeedEvent(ALIVE, source.times(self._behind()), version)
            if self._is_newer_than(version):
                return FeedEvent(STATUS, self._stamped(source), self.version)
        return None

    async def close(self) -> None:
        """End all streams, because the proxy stops."""
        self._closed = True
        async with self._published:
            self._published.notify_all()

    async def _run(self, source: StatusSource) -> None:
        while True:
            try:
                self._render(source)
            except Exception:
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

    def _is_newer_than(self, version: int) -> bool:
        return self.version > version and not self._has_failed

    def _render(self, source: StatusSource) -> None:
        self._urgent.clear()
        self._has_failed = True  # until it has not
        started = self._rendered_at = self._clock()
        content = source.render()
        self._rendered_at = self._clock()
        self._render_seconds = self._rendered_at - started
        self._content_at = started
        self._has_failed = False
        if content != self._content:
            self._content = content
            self._stamped_at = -math.inf
            self.version += 1

    def _stamped(self, source: StatusSource) -> bytes:
        """Return the status with times at most a second old."""
        if self._clock() - self._stamped_at >= URGENT_SECONDS:
            self._message = source.times(self._behind())[:-1] + b"," + self._content[1:]
            self._stamped_at = self._clock()
        return self._message

    def _behind(self) -> float:
        """Return the content's age beyond the routine pause, in seconds."""
        return max(0.0, self._clock() - self._content_at - ROUTINE_SECONDS)
