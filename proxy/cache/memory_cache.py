"""Memory cache: bounded, evicts the least recently used entries."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

# Per entry, without key and value; measured (docs/decisions/0016-coalescing-and-cache.md).
OVERHEAD_BYTES: Final = 560


class MemoryCache:
    """Entries in memory, at most ``limit`` bytes. Not thread-safe.

    ``size`` counts keys, values and overhead.
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
        """Return the value; None if it is missing or expired."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return entry[1]

    def put(self, key: bytes, value: bytes, expires: float) -> None:
        """Store the value until a Unix time, unless it exceeds the limit."""
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
        """Return the number of entries evicted since the last call."""
        evicted, self._evicted = self._evicted, 0
        return evicted

    def _drop(self, key: bytes) -> None:
        _, value = self._entries.pop(key)
        self.size -= _size(key, value)


def _size(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + OVERHEAD_BYTES
