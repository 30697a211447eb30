"""Limits on peers (docs/decisions/0020-connections.md)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

log = logging.getLogger(__name__)

# Request line and headers: web servers usually allow 8 KiB for one line.
MAX_HEAD_BYTES: Final = 32 * 1024
# Browsers behind two web servers send about 40. Each takes 200 bytes of memory, so the bytes alone are no bound.
MAX_HEADERS: Final = 128
# Requests that wait on one connection for earlier answers.
MAX_PIPELINED_REQUESTS: Final = 16
# Discarded bytes of a refused body.
MAX_LINGER_BYTES: Final = 64 * 1024 * 1024
# Far more than a proxy serves at once; an idle connection takes about 10 KiB.
DEFAULT_MAX_CONNECTIONS: Final = 16_384
# Refused connections that stay open for a moment.
MAX_HELD_REFUSED: Final = 64


@dataclass(frozen=True, slots=True)
class PeerTimeouts:
    """Timeouts for a peer, in seconds."""

    head: float = 10.0
    """From the first byte of a head to its last."""
    body: float = 60.0
    """From the end of a head to the end of its body, while the server reads; the deadline is usually earlier."""
    linger: float = 30.0
    """For discarding the rest of a body after its answer (nginx has the same)."""
    linger_idle: float = 5.0
    """Without a byte, while the rest of a body is discarded."""
    linger_refused: float = 1.0
    """For discarding the request on a refused connection after its answer."""


DEFAULT_PEER_TIMEOUTS: Final = PeerTimeouts()


@dataclass(slots=True)
class ConnectionLimiter:
    """Cap on the connections of all sockets of a process.

    ``idle`` has the longest idle connection first.
    """

    max_connections: int = DEFAULT_MAX_CONNECTIONS
    timeouts: PeerTimeouts = DEFAULT_PEER_TIMEOUTS
    open_count: int = 0
    idle: dict[asyncio.Transport, None] = field(default_factory=dict["asyncio.Transport", None])
    refused: set[asyncio.Transport] = field(default_factory=set["asyncio.Transport"])
    _is_refusing: bool = False

    def admit(self) -> bool:
        """Count a connection; return whether it may stay."""
        self.open_count += 1
        if self.open_count <= self.max_connections:
            self._is_refusing = False
            return True
        if self.idle:
            oldest = next(iter(self.idle))
            del self.idle[oldest]
            oldest.abort()  # a graceful close would wait for the peer to read its answer
            return True
        if not self._is_refusing:  # one line for all, so that attackers cannot fill the disk
            log.warning("connections refused", extra={"connections": self.max_connections})
        self._is_refusing = True
        return False

    def hold_refused(self, transport: asyncio.Transport) -> bool:
        """Return whether a refused connection may stay for a moment."""
        self.idle.pop(transport, None)
        if len(self.refused) >= MAX_HELD_REFUSED:
            return False
        self.refused.add(transport)
        self.open_count -= 1
        return True

    def release(self, transport: asyncio.Transport) -> None:
        """Remove a connection from the count."""
        self.idle.pop(transport, None)
        if transport in self.refused:
            self.refused.remove(transport)
        else:
            self.open_count -= 1
