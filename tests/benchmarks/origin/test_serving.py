"""What the designs note of their engines."""

from __future__ import annotations

from benchmarks.origin.designs.serving import EngineRecord, EngineWork


async def test_record_begins_again_with_each_look() -> None:
    record = EngineRecord()
    with record.request():
        record.step((1.0, 3))
    first = await record.look()
    assert (first.requests, first.steps, first.tokens, first.timeline) == (1, 1, 3, [(1.0, 3)])
    record.add(0.5, [(2.0, 4)])
    assert await record.look() == EngineWork(1, 0.5, 1, 4, [(2.0, 4)])
    assert await record.look() == EngineWork()
