"""FigureRing: this proxy's figures of the last 15 minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from proxy.status.figures import SLOT_SECONDS, SlotFigures, Totals

# 15 minutes.
SLOTS: Final = 90


class FigureRing:
    """Figures of the last ``SLOTS`` slots; ``totals`` reads the counters.

    Slots begin at whole multiples of ten seconds of Unix time, so those of several proxies can be added.
    """

    def __init__(self, totals: Callable[[], Totals], now: float) -> None:
        self._totals = totals
        self._slot = slot_at(now)
        self._before = totals()
        self.slots: deque[SlotFigures] = deque(maxlen=SLOTS)

    def close_slot(self, now: float) -> bool:
        """Close the open slot if its time is over; return whether.

        All that was counted since the slot before belongs to it, also after a pause.
        """
        slot = slot_at(now)
        if slot == self._slot:
            return False
        totals = self._totals()
        if slot < self._slot:  # the clock was set back: these slots come again
            self.slots = deque((each for each in self.slots if each.slot < slot - 1), maxlen=SLOTS)
            self._slot = slot - 1
        self.slots.append(totals.since(self._before, self._slot))
        while self.slots and self.slots[0].slot <= slot - 1 - SLOTS:
            self.slots.popleft()
        self._slot, self._before = slot, totals
        return True


def slot_at(now: float) -> int:
    """Return the number of the slot that contains a Unix time."""
    return int(now // SLOT_SECONDS)
