"""Which requests are shadowed: none against its caller's will, and none under load."""

from __future__ import annotations

import pytest

from apiserver.scheduling.work_item import WorkItem
from apiserver.shadowing.shadow_policy import MAX_CHARS, MAX_IN_FLIGHT, MAX_LOAD, DropReason, drop_reason
from tests.apiserver.work_items import work_of


def private_work(text: str = "word") -> WorkItem:
    work = work_of(text)
    work.no_store = True
    return work


def test_short_request_of_an_idle_server_is_shadowed() -> None:
    assert drop_reason(work_of("x" * MAX_CHARS), MAX_LOAD, MAX_IN_FLIGHT - 1, is_paused=False) is None


@pytest.mark.parametrize(
    ("work", "load", "in_flight", "is_paused", "reason"),
    [
        (private_work(), 0.0, 0, False, DropReason.OPTED_OUT),
        (private_work("x" * (MAX_CHARS + 1)), 9.0, 99, True, DropReason.OPTED_OUT),
        (work_of("x" * (MAX_CHARS + 1)), 0.0, 0, False, DropReason.TOO_LONG),
        (work_of(["x" * MAX_CHARS, "x"]), 0.0, 0, False, DropReason.TOO_LONG),
        (work_of(), MAX_LOAD + 0.01, 0, False, DropReason.BUSY),
        (work_of(), 0.0, 0, True, DropReason.PAUSED),
        (work_of(), 0.0, MAX_IN_FLIGHT, False, DropReason.FULL),
    ],
)
def test_request_is_dropped_with_its_reason(
    work: WorkItem, load: float, in_flight: int, is_paused: bool, reason: DropReason
) -> None:
    assert drop_reason(work, load, in_flight, is_paused=is_paused) is reason
