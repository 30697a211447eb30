"""Usage recorder: batches, Redis away, answers that were lost, and its bound."""

from __future__ import annotations

from collections import Counter

import pytest

from proxy.keys import usage_recorder
from proxy.keys.usage_recorder import BATCH, UsageRecorder
from proxy.keys.usage_store import UsageBatch
from proxy.storage.connection import StoreUnavailableError
from tests.support.clock import HandClock

NOON = 1_801_396_800.0
DAY, DAY_BEFORE = "2027-01-31", "2027-01-30"


class FakeStore:
    """A store that counts each number once, and may be away, or lose its answer."""

    def __init__(self) -> None:
        self.is_away = self.loses_answer = False
        self.batches: list[UsageBatch] = []
        self.calls = 0

    async def add(self, proxy: str, batch: UsageBatch) -> None:
        """Add a batch, unless its number was."""
        assert proxy == "p"
        self.calls += 1
        if not self.is_away and batch.number not in [each.number for each in self.batches]:
            self.batches.append(batch)
        if self.is_away or self.loses_answer:
            raise StoreUnavailableError

    @property
    def chars(self) -> dict[tuple[str, str], int]:
        found: Counter[tuple[str, str]] = Counter()
        for batch in self.batches:
            found.update({entry: used.characters for entry, used in batch.amounts.items()})
        return dict(found)


class Recorded:
    """A recorder with its store and clocks."""

    def __init__(self) -> None:
        self.store, self.clock, self.monotonic = FakeStore(), HandClock(), HandClock()
        self.clock.now = NOON
        self.recorder = UsageRecorder(self.store, "p", self.clock, self.monotonic)  # pyright: ignore[reportArgumentType] - a fake

    async def flush_later(self) -> None:
        self.monotonic.now += 1.0
        await self.recorder.flush()


async def test_many_requests_are_one_batch() -> None:
    one = Recorded()
    for _ in range(1000):
        one.recorder.add("a", requests=1)
        one.recorder.add("a", chars=10)
    await one.recorder.flush()
    await one.recorder.flush()
    (batch,) = one.store.batches
    assert dict(batch.amounts) == {(DAY, "a"): (1000, 10_000)}
    assert one.store.calls == 1, "nothing pending asks nothing"


async def test_refund_counts_for_the_day_of_its_charge() -> None:
    one = Recorded()
    day = one.recorder.add("a", chars=10)
    await one.recorder.flush()
    one.clock.now += 86_400
    one.recorder.add("a", chars=-10, day=day)
    one.recorder.add("a", chars=3)
    await one.recorder.flush()
    assert one.store.chars == {(DAY, "a"): 0, ("2027-02-01", "a"): 3}


async def test_usage_without_redis_is_written_after() -> None:
    one = Recorded()
    one.store.is_away = True
    for number in range(BATCH + 5):
        one.recorder.add(f"key {number}", chars=1)
        await one.recorder.flush()
    assert one.store.calls == 1, "a pause after a failure"
    await one.flush_later()
    assert one.store.calls == 2
    one.store.is_away = False
    await one.flush_later()
    assert one.store.chars == {(DAY, f"key {number}"): 1 for number in range(BATCH + 5)}


async def test_batch_whose_answer_was_lost_is_repeated_unchanged() -> None:
    one = Recorded()
    one.store.loses_answer = True
    one.recorder.add("a", chars=10)
    await one.recorder.flush()
    one.recorder.add("a", chars=5)
    one.store.loses_answer = False
    await one.flush_later()
    assert one.store.chars == {(DAY, "a"): 15}
    assert [(each.number, *each.amounts.values()) for each in one.store.batches] == [(1, (0, 10)), (2, (0, 5))]


async def test_usage_beyond_the_bound_is_lost_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_recorder, "MAX_PENDING", 2)
    one = Recorded()
    for key_id in ("a", "b", "c", "a"):
        one.recorder.add(key_id, chars=1)
    one.recorder.add("d", chars=1, day=DAY_BEFORE)
    await one.recorder.flush()
    one.recorder.add("c", chars=1)
    await one.recorder.flush()
    assert one.store.chars == {(DAY, "a"): 2, (DAY, "b"): 1, (DAY, "c"): 1}
    assert [each.incomplete for each in one.store.batches] == [{DAY, DAY_BEFORE}, set()]
    for number in range(100):
        for key_id in ("a", "b", "c"):
            one.recorder.add(key_id, chars=1, day=f"day {number}")
    await one.recorder.flush()
    assert len(one.store.batches[-1].incomplete) == usage_recorder.DAYS


async def test_end_writes_the_rest_or_says_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    one = Recorded()
    one.store.is_away = True
    one.recorder.add("a", requests=1, chars=10)
    await one.recorder.flush()
    one.recorder.add("a", requests=1, chars=5)
    await one.recorder.close()
    (lost,) = [each for each in caplog.records if each.levelname == "ERROR"]
    assert (lost.__dict__["requests"], lost.__dict__["chars"]) == (2, 15)
    one.store.is_away = False
    caplog.clear()
    await one.recorder.close()
    assert one.store.chars == {(DAY, "a"): 15}
    await one.recorder.close()
    assert "ERROR" not in [each.levelname for each in caplog.records]
