"""Limits on peers: what they may make a server hold, and how long it waits for them."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

log = logging.getLogger(__name__)

# Request line and headers: four times what web servers allow one header line (8 KiB), so that none before us allows more.
MAX_HEAD_BYTES: Final = 32 * 1024
# Requests that wait on one connection for the answers before them.
MAX_PIPELINED_REQUESTS: Final = 16
# What is discarded of a body that is not read any more: far more than anybody sends by mistake.
MAX_LINGER_BYTES: Final = 64 * 1024 * 1024
# Far more than a proxy serves at once; each idle one costs some 10 KiB.
DEFAULT_MAX_CONNECTIONS: Final = 16_384
# Refused connections that are kept open for a moment, beyond the cap: a quarter of the open files is left for them and others.
MAX_HELD_REFUSED: Final = 64


@dataclass(frozen=True, slots=True)
class PeerTimeouts:
    """How long a peer is waited for; seconds."""

    head: float = 10.0
    """From the first byte of a head to its last."""
    body: float = 60.0
    """From the end of a head to the end of its body, while we read; the request's own deadline is mostly earlier."""
    linger: float = 30.0
    """How long the rest of a body is discarded after its answer, as nginx does."""
    linger_idle: float = 5.0
    """How long of that time nothing may come."""
    linger_refused: float = 1.0
    """How long the request on a refused connection is discarded after its answer."""


DEFAULT_PEER_TIMEOUTS: Final = PeerTimeouts()


@dataclass(slots=True)
class ConnectionLimiter:
    """Cap on the connections of all of a process's sockets. Mutable state: how many are open, and the idle ones, oldest first."""

    max_connections: int = DEFAULT_MAX_CONNECTIONS
    timeouts: PeerTimeouts = DEFAULT_PEER_TIMEOUTS
    open_count: int = 0
    idle: dict[asyncio.Transport, None] = field(default_factory=dict["asyncio.Transport", None])
    refused: set[asyncio.Transport] = field(default_factory=set["asyncio.Transport"])
    _is_refusing: bool = False

    def admit(self) -> bool:
        """Count one more; say whether it may stay, if need be in the place of the longest idle one."""
        self.open_count += 1
        if self.open_count <= self.max_connections:
            self._is_refusing = False
            return True
        if self.idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.abort()  # to close would wait for a peer that has not read its last answer
            return True
        if not self._is_refusing:  # a line for each would help who wants to fill the disk
            log.warning("connections refused", extra={"connections": self.max_connections})
        self._is_refusing = True
        return False

    def hold_refused(self, transport: asyncio.Transport) -> bool:
        """Return whether a refused connection may stay for a moment; it is counted apart."""
        self.idle.pop(transport, None)
        if len(self.refused) >= MAX_HELD_REFUSED:
            return False
        self.refused.add(transport)
        self.open_count -= 1
        return True

    def release(self, transport: asyncio.Transport) -> None:
        """Count one less."""
        self.idle.pop(transport, None)
        if transport in self.refused:
            self.refused.remove(transport)
        else:
            self.open_count -= 1
