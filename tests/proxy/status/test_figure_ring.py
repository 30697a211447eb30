"""The ring of figures: slots by Unix time, a bound, and clocks that jump."""

from __future__ import annotations

from proxy.status.figure_ring import SLOTS, FigureRing, slot_at
from proxy.status.figures import SLOT_SECONDS, Totals

START = 1_000_000.0


class Counters:
    """Counters that grow by hand."""

    def __init__(self) -> None:
        self.ok = 0

    def __call__(self) -> Totals:
        return Totals({"ok": self.ok}, [self.ok, *[0] * 14])


def oks(ring: FigureRing) -> list[tuple[int, int]]:
    return [(each.slot - slot_at(START), each.classes.get("ok", 0)) for each in ring.slots]


def test_slot_closes_when_its_time_is_over() -> None:
    counters = Counters()
    counters.ok = 100  # before the ring
    ring = FigureRing(counters, START)
    counters.ok += 3
    assert not ring.close_slot(START + 9.9)
    assert oks(ring) == []
    assert ring.close_slot(START + 10.1)
    counters.ok += 1
    assert not ring.close_slot(START + 12)
    assert ring.close_slot(START + 20)
    assert oks(ring) == [(0, 3), (1, 1)]


def test_pause_leaves_slots_out() -> None:
    counters = Counters()
    ring = FigureRing(counters, START)
    counters.ok += 3
    assert ring.close_slot(START + 55)
    assert ring.close_slot(START + 60)
    assert oks(ring) == [(0, 3), (5, 0)]


def test_ring_keeps_15_minutes() -> None:
    ring = FigureRing(Counters(), START)
    for slot in range(1, 3 * SLOTS):
        ring.close_slot(START + slot * SLOT_SECONDS)
    assert len(ring.slots) == SLOTS
    assert (ring.slots[-1].slot - ring.slots[0].slot + 1) * SLOT_SECONDS == 900
    ring.close_slot(START + 100_000)
    assert len(ring.slots) == 0, "all are too old"


def test_clock_set_back_replaces_slots() -> None:
    counters = Counters()
    ring = FigureRing(counters, START)
    for slot in range(1, 6):
        counters.ok += 1
        ring.close_slot(START + slot * SLOT_SECONDS)
    counters.ok += 7
    assert ring.close_slot(START + 21)
    assert ring.close_slot(START + 31)
    assert oks(ring) == [(0, 1), (1, 7), (2, 0)]
