"""Copies of records for use while Redis is away, and what an outage costs."""

from __future__ import annotations

import pytest

from proxy.storage.recent_copies import AWAY_SECONDS, KNOWN_SECONDS, Outage, RecentCopies
from tests.support.clock import HandClock

FRESH = 2.0


class Source:
    """What is read; ``away``: nothing can be."""

    def __init__(self) -> None:
        self.record: str | None = "first"
        self.away = False
        self.known: list[str | None] = []

    async def check(self, known: str | None) -> str | None:
        self.known.append(known)
        if self.away:
            raise ConnectionError
        return self.record


def copies(clock: HandClock, most: int = 10, *, serves: bool = True) -> RecentCopies[str, str]:
    return RecentCopies(clock, FRESH, most, ConnectionError, size=len, serves_without_redis=serves)


async def test_copy_is_used_unchecked_while_it_is_fresh() -> None:
    clock, source = HandClock(), Source()
    recent = copies(clock)
    assert await recent.get("a", source.check) == "first"
    source.record = "second"
    assert await recent.get("a", source.check) == recent.fresh("a") == "first"
    clock.now += FRESH
    assert recent.fresh("a") is None
    assert await recent.get("a", source.check) == "second"
    assert source.known == [None, "first"]
    source.record = None
    clock.now += FRESH
    assert await recent.get("a", source.check) is None
    assert recent.size == 0


async def test_known_copy_serves_for_an_hour_while_redis_is_away() -> None:
    clock, source = HandClock(), Source()
    opened, closed = copies(clock), copies(clock, serves=False)
    for recent in (opened, closed):
        await recent.get("a", source.check)
    source.away = True
    clock.now += KNOWN_SECONDS - 1
    assert await opened.get("a", source.check) == "first"
    with pytest.raises(ConnectionError):
        await closed.get("a", source.check)
    with pytest.raises(ConnectionError):
        await opened.get("b", source.check)
    clock.now += 1
    with pytest.raises(ConnectionError):
        await opened.get("a", source.check)


async def test_copies_are_bounded_by_their_size() -> None:
    clock, source = HandClock(), Source()
    recent = copies(clock, most=10)
    for key in ("a", "b", "c"):
        await recent.get(key, source.check)
    assert [key for key in "abc" if recent.fresh(key)] == ["b", "c"], "first is 5 letters long"
    assert recent.size == 10
    source.record = "longer than that"
    assert await recent.get("d", source.check) == source.record
    assert recent.size == 0
    recent.forget("d")


def test_one_call_asks_again_while_redis_is_away(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock = HandClock()
    outage = Outage(clock, "it begins", "it ends", field=1)
    assert outage.start_call()
    assert outage.start_call()
    outage.begin(ConnectionError("gone"))
    assert not outage.start_call()
    clock.now += AWAY_SECONDS
    assert [outage.start_call() for _ in range(3)] == [True, False, False]
    outage.begin(ConnectionError("gone"))
    clock.now += AWAY_SECONDS
    assert outage.start_call()
    outage.end()
    assert [outage.start_call() for _ in range(3)] == [True, True, True]
    assert [each.message for each in caplog.records] == ["it begins", "it ends"]
    assert vars(caplog.records[0])["error"] == "gone"
