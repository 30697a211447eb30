"""MemoryCache: a bounded store that evicts the least recently used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

# What one entry takes beside the bytes of its key and value, after a million of all sizes came and went
# (docs/decisions/0016-coalescing-and-cache.md).
OVERHEAD_BYTES: Final = 560


class MemoryCache:
    """Entries in memory, bounded in bytes. Not thread-safe: one event loop.

    Mutable state: the entries, least recently used first, how many were evicted, and their ``size`` with keys, values
    and overhead, which never passes ``limit``.
    """

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._entries: OrderedDict[bytes, tuple[float, bytes]] = OrderedDict()
        self._clock = clock
        self.limit = limit
        self.size = 0
        self._evicted = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: bytes) -> bytes | None:
        """Return the value; None where there is none or it expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def put(self, key: bytes, value: bytes, expires: float) -> None:
        """Keep the value until that Unix time, or until it is evicted; one above the limit is not kept."""
        if key in self._entries:
            self._drop(key)
        size = _size(key, value)
        if size > self.limit:
            return
        while self.size + size > self.limit:
            self._drop(next(iter(self._entries)))
            self._evicted += 1
        self._entries[key] = (expires, value)
        self.size += size

    def take_evicted(self) -> int:
        """Return how many entries were evicted since this was called last."""
        evicted, self._evicted = self._evicted, 0
        return evicted

    def _drop(self, key: bytes) -> None:
        _, value = self._entries.pop(key)
        self.size -= _size(key, value)


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + OVERHEAD_BYTES
