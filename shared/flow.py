"""uvicorn's FlowControl, which tells when it stops reading from a peer and when it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override
from uvicorn.protocols.http.flow_control import FlowControl

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class Flow(FlowControl):
    """What a peer sends meanwhile is not late: it can not come."""

    def __init__(self, transport: asyncio.Transport, paused: Callable[[], None], resumed: Callable[[], None]) -> None:
        """Take what is to be called when reading stops, and when it goes on."""
        super().__init__(transport)
        self._paused = paused
        self._resumed = resumed

    def forget(self) -> None:
        """Tell nobody any more: the connection has ended."""
        self._paused = self._resumed = _tell_nobody

    @override
    def pause_reading(self) -> None:
        """Stop."""
        if not self.read_paused:
            super().pause_reading()
            self._paused()

    @override
    def resume_reading(self) -> None:
        """Go on."""
        if self.read_paused:
            super().resume_reading()
            self._resumed()


def _tell_nobody() -> None:
    pass
