"""What the designs note of their engines."""

from __future__ import annotations

from benchmarks.origin.designs.serving import EngineRecord, EngineWork, Step


def test_record_counts_on_and_has_each_step_once() -> None:
    record = EngineRecord()
    with record.request():
        record.step(Step(1.0, 3))
    first = EngineWork(**record.look())
    record.add(0.5, [Step(2.0, 4)])
    second = EngineWork(**record.look())
    assert (first.requests, first.steps, first.tokens, first.timeline) == (1, 1, 3, [(1.0, 3)])
    assert second.since(first) == (1, 0.5, 1, 4, [(2.0, 4)])
