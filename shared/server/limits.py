"""What peers may make a server hold, and for how long they are waited for."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

log = logging.getLogger(__name__)

# Request line and headers: four times what web servers allow one header line (8 KiB), so that none before us allows more.
MAX_HEAD_BYTES: Final = 32 * 1024
# Browsers send some 20, web servers and meshes add 20 more.
MAX_HEADERS: Final = 100
# Requests that wait on one connection for the answers before them.
MAX_PIPELINED: Final = 16
# Far more than a proxy serves at once; each idle one costs some 10 KiB.
CONNECTIONS: Final = 16_384


@dataclass(frozen=True, slots=True)
class PeerTimeouts:
    """How long a peer is waited for (seconds), and how slow it may be (bytes per second)."""

    head: float = 10.0
    """From the first byte of a head to its last."""
    body: float = 20.0
    """A body has this long, and more for each byte of it that came: whoever keeps the pace is never cut."""
    pace: float = 16 * 1024
    """128 kbit/s, less than the slowest line anybody works on; of an answer, a reader must take as much."""
    stall: float = 30.0
    """How long a reader may take less of an answer than the pace asks."""
    linger: float = 5.0
    """A body that nobody wants any more is read for so long, so that its answer is not lost to a reset."""


PATIENCE: Final = PeerTimeouts()


@dataclass(slots=True)
class ConnectionLimiter:
    """The room for connections that all of a process's sockets share.

    Mutable state: how many are open, and those that wait for a request, which leave for a new one, the longest idle first.
    """

    connections: int = CONNECTIONS
    patience: PeerTimeouts = PATIENCE
    open: int = 0
    idle: dict[asyncio.Transport, None] = field(default_factory=dict["asyncio.Transport", None])
    _refusing: bool = False

    def enter(self) -> bool:
        """Count one more; say whether it may stay, if need be in the place of the longest idle one.

        That one is dropped with what its peer has not taken of the last answer: closing would wait for the peer, and
        meanwhile there would be one too many.
        """
        self.open += 1
        if self.open <= self.connections:
            self._refusing = False
            return True
        if self.idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.abort()
            return True
        if not self._refusing:  # a line for each would help who wants to fill the disk
            log.warning("connections refused", extra={"connections": self.connections})
        self._refusing = True
        return False

    def leave(self, transport: asyncio.Transport) -> None:
        """Count one less."""
        self.open -= 1
        self.idle.pop(transport, None)
