"""Abandoned computations that wait for their callers, within limits."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from proxy.cache.shared_computation import SharedComputation
from proxy.keys.caller import Caller

# As many as the requests that a document tool or web page has in flight.
MAX_PER_CALLER: Final = 16
# Twice the largest body.
MAX_BYTES_PER_CALLER: Final = 4 * 1024 * 1024
MAX_IN_ALL: Final = 256
MAX_BYTES_IN_ALL: Final = 32 * 1024 * 1024


class AbandonedComputations:
    """Computations and results that nobody waits for, the oldest first.

    Each counts for its first repeater.
    """

    def __init__(self) -> None:
        self._all: dict[SharedComputation, int] = {}
        self._by_caller: defaultdict[Caller, dict[SharedComputation, None]] = defaultdict(dict)
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, computation: SharedComputation) -> list[SharedComputation]:
        """Add a computation; return those that exceed the limits, which are removed."""
        self.discard(computation)
        size, of_caller = computation.size, self._by_caller[computation.repeaters[0]]
        self._all[computation], of_caller[computation] = size, None
        self._bytes += size
        removed: list[SharedComputation] = []
        while len(of_caller) > MAX_PER_CALLER or sum(self._all[each] for each in of_caller) > MAX_BYTES_PER_CALLER:
            removed.append(self._pop(next(iter(of_caller))))
        while len(self._all) > MAX_IN_ALL or self._bytes > MAX_BYTES_IN_ALL:
            removed.append(self._pop(next(iter(self._all))))
        return removed

    def discard(self, computation: SharedComputation) -> None:
        """Remove a computation; it may be unknown."""
        if computation in self._all:
            self._pop(computation)

    def _pop(self, computation: SharedComputation) -> SharedComputation:
        caller = computation.repeaters[0]
        self._bytes -= self._all.pop(computation)
        of_caller = self._by_caller[caller]
        del of_caller[computation]
        if not of_caller:
            del self._by_caller[caller]
        return computation
