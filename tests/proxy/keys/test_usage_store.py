"""Usage in Redis: periods, batches that are counted once, and what is incomplete."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from proxy.keys.store import KeyStore
from proxy.keys.usage_store import (
    DAYS,
    MONTHS,
    KeyUsage,
    PeriodUsage,
    UsageBatch,
    UsageStore,
    last_days,
    last_months,
)
from tests.conftest import PREFIX, RedisServer
from tests.support.clock import HandClock

# 2027-01-31 12:00 UTC.
NOON = 1_801_396_800.0
DAY, MONTH = "2027-01-31", "2027-01"
ALICE, BOB = "a" * 12, "b" * 12


@pytest.fixture
def clock() -> HandClock:
    clock = HandClock()
    clock.now = NOON
    return clock


@pytest.fixture
async def store(redis: RedisServer, clock: HandClock) -> AsyncGenerator[UsageStore]:
    one = KeyStore(redis.url, PREFIX, 5.0, clock)
    yield one.usage
    await one.close()


def test_periods_end_with_the_present_one() -> None:
    assert last_days(NOON, 3) == ["2027-01-31", "2027-01-30", "2027-01-29"]
    assert last_months(NOON, 3) == ["2027-01", "2026-12", "2026-11"]
    assert (len(set(last_days(NOON, DAYS))), last_months(NOON, MONTHS)[-1]) == (DAYS, "2026-01")


async def test_batches_add_up_by_day_and_month(store: UsageStore, redis: RedisServer) -> None:
    await store.add("p1", UsageBatch(1, {(DAY, ALICE): KeyUsage(1, 50), ("2027-01-30", ALICE): KeyUsage(1, 7)}))
    await store.add("p2", UsageBatch(1, {(DAY, ALICE): KeyUsage(2, 5), (DAY, BOB): KeyUsage(1, 0)}))
    await store.add("p1", UsageBatch(2, {(DAY, ALICE): KeyUsage(0, -50)}))
    used = [PeriodUsage(DAY, {ALICE: KeyUsage(3, 5), BOB: KeyUsage(1, 0)})]
    assert await store.read([DAY]) == used
    assert await store.read([MONTH], ALICE) == [PeriodUsage(MONTH, {ALICE: KeyUsage(4, 12)})]
    assert await store.read(["2027-01-29"], ALICE) == [PeriodUsage("2027-01-29", {})]
    assert [each.period for each in await store.read_all()] == [DAY, "2027-01-30", MONTH]
    assert redis.client.ttl(f"{PREFIX}usage:{DAY}") == pytest.approx((DAYS + 0.5) * 86_400, abs=60)
    assert redis.client.ttl(f"{PREFIX}usage:{MONTH}") == pytest.approx((365 + 1.5) * 86_400, abs=60)


async def test_repeated_batch_is_counted_once(store: UsageStore) -> None:
    batch = UsageBatch(7, {(DAY, ALICE): KeyUsage(1, 50)})
    for each in (batch, batch, UsageBatch(6, {(DAY, ALICE): KeyUsage(1, 1)})):
        await store.add("p1", each)
    await store.add("p2", batch)
    assert await store.read([DAY]) == [PeriodUsage(DAY, {ALICE: KeyUsage(2, 100)})]


async def test_day_and_month_say_that_some_was_lost(store: UsageStore) -> None:
    await store.add("p1", UsageBatch(1, {}, {"2027-01-30"}))
    await store.add("p1", UsageBatch(2, {("2027-01-30", ALICE): KeyUsage(1, 1)}))
    for key_id in (None, ALICE):
        found = await store.read([DAY, "2027-01-30", MONTH, "2026-12"], key_id)
        assert [each.is_incomplete for each in found] == [False, True, True, False]


async def test_refund_without_its_charge_is_not_below_zero(store: UsageStore) -> None:
    await store.add("p1", UsageBatch(1, {(DAY, ALICE): KeyUsage(0, -50)}))
    assert await store.read([DAY]) == [PeriodUsage(DAY, {ALICE: KeyUsage(0, 0)})]


async def test_thousands_of_keys_are_read_in_pages(store: UsageStore) -> None:
    ids = [f"{number:012x}" for number in range(2000)]
    await store.add("p1", UsageBatch(1, {(DAY, each): KeyUsage(1, 10**12) for each in ids}))
    (found,) = await store.read([DAY])
    assert found.by_key == dict.fromkeys(ids, KeyUsage(1, 10**12))


async def test_usage_is_raised_only_and_only_while_kept(store: UsageStore, clock: HandClock) -> None:
    many = {f"{number:012x}": KeyUsage(1, number) for number in range(200)}
    saved = [
        PeriodUsage(DAY, {ALICE: KeyUsage(5, 5), **many}, is_incomplete=True),
        PeriodUsage("2026-12-01", {ALICE: KeyUsage(1, 1)}),
        PeriodUsage("2020-01", {ALICE: KeyUsage(1, 1)}, is_incomplete=True),
    ]
    await store.add("p1", UsageBatch(1, {(DAY, ALICE): KeyUsage(9, 2)}))
    for _ in range(2):
        await store.raise_to(saved)
        (found,) = await store.read([DAY])
        assert (found.by_key, found.is_incomplete) == ({ALICE: KeyUsage(9, 5), **many}, True)
        assert [each.period for each in await store.read_all()] == [DAY, MONTH]
    clock.now += 40 * 86_400
    assert [each.period for each in await store.read_all()] == [MONTH]
