"""The record of one proxy: bounded, and read with suspicion."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from proxy.status.figure_ring import SLOTS
from proxy.status.figures import SlotFigures
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent, FleetEventKind
from proxy.status.proxy_summary import MAX_NAME_CHARS, MAX_SUMMARY_BYTES, ProxySummary, encode
from tests.proxy.status.summaries import summary

parse = ProxySummary.model_validate_json
BUSY = {"classes": {"ok": 10**9, "failed": 10**9}, "buckets": dict.fromkeys(range(15), 10**9)}


def busy(slot: int) -> SlotFigures:
    return SlotFigures(slot=slot, codes={f"a-rather-long-code-{n}": 10**9 for n in range(9)}, **BUSY)  # pyright: ignore[reportArgumentType] - BUSY has fields of several types


def event(at: float, letter: str = "x") -> FleetEvent:
    return FleetEvent.of(FleetEventKind.REPLICA_DOWN, at, letter * 1000, letter * 1000)


def test_record_is_read_as_written() -> None:
    full = summary(slots=[SlotFigures(slot=3, classes={"ok": 1}, buckets={4: 1})], events=[event(1.0)], leader=True)
    assert parse(encode(full)) == full


def test_fullest_summary_is_small_enough_whole() -> None:
    full = summary(
        "n" * MAX_NAME_CHARS, slots=[busy(n) for n in range(SLOTS)], events=[event(n) for n in range(MAX_EVENTS)]
    )
    record = encode(full)
    assert len(record) <= MAX_SUMMARY_BYTES
    assert parse(record) == full


def test_larger_summary_loses_its_oldest_parts() -> None:
    events = [event(n, "\u4e2d") for n in range(MAX_EVENTS)]
    huge = [SlotFigures(slot=n, codes={str(k) + "\u4e2d" * 60: 1 for k in range(9)}) for n in range(SLOTS)]
    record = encode(summary(slots=huge, events=events))
    assert len(record.encode()) <= MAX_SUMMARY_BYTES
    kept = parse(record)
    assert kept.slots[-1:] == huge[-1:]
    assert kept.events == []


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        '{"name": "from the future"}',
        encode(summary())[:-1],
        encode(summary("p" * 10)).replace("p" * 10, "p" * 1000),
        encode(summary()).replace("1000.0", "NaN"),
        encode(summary(slots=[SlotFigures(slot=1, buckets={3: 1})])).replace('"3":1', '"99":1'),
        encode(summary(slots=[SlotFigures(slot=1, buckets={3: 1})])).replace('"3":1', '"3":-1'),
    ],
)
def test_foreign_record_is_refused(record: str) -> None:
    with pytest.raises(ValidationError):
        parse(record)
