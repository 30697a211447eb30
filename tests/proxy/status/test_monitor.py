"""The monitor: events and figures of several proxies over one Redis, and without it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from random import Random

from proxy.balancing.local_stats import LocalStats
from proxy.metrics import ProxyMetrics
from proxy.status.diagnosis import IssueCode
from proxy.status.event_detector import EventDetector
from proxy.status.feed import StatusFeed
from proxy.status.figure_ring import FigureRing, Totals
from proxy.status.monitor import StatusMonitor, open_breakers
from proxy.status.summary_store import SummaryStore
from shared.runtime.metrics import RequestSample
from tests.conftest import PREFIX, RedisServer
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import pair, replica
from tests.support.clock import HandClock

SWEEP_SECONDS = 2.0


class Watched:
    """One proxy's monitor and what it observes."""

    def __init__(self, name: str, url: str, parts: ProxyParts, clock: HandClock) -> None:
        self.parts, self.metrics = parts, ProxyMetrics()
        self.local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
        self.store = SummaryStore(url, PREFIX, 5.0)
        self.detector = EventDetector(name, clock)
        self.feed = StatusFeed(clock)
        self.monitor = StatusMonitor(
            name,
            self.store,
            parts.registry,
            self.local_stats,
            FigureRing(lambda: Totals.of(self.metrics.requests, self.metrics.seconds), clock()),
            self.detector,
            self.feed,
            is_draining=lambda: False,
            sweep_seconds=SWEEP_SECONDS,
            clock=clock,
        )

    def translate(self, outcome: str = "ok") -> None:
        self.metrics.count_request(RequestSample("en-de", "en-de"), outcome, 0.1)

    @property
    def events(self) -> list[str]:
        return [each.kind.value for each in self.detector.events]


@asynccontextmanager
async def watched(name: str, url: str, clock: HandClock) -> AsyncGenerator[Watched]:
    async with proxy_at(url, name) as parts:
        one = Watched(name, url, parts, clock)
        try:
            yield one
        finally:
            await one.store.close()


async def test_each_proxy_reads_the_others_figures(redis: RedisServer) -> None:
    clock = HandClock()
    async with watched("one", redis.url, clock) as one, watched("two", redis.url, clock) as two:
        one.translate()
        two.translate("overloaded")
        for second in range(15):
            clock.now = 1000.0 + second
            await one.monitor.tick()
            await two.monitor.tick()
        for mine, other in ((one, two), (two, one)):
            assert mine.monitor.last_slot == 100
            (read,) = mine.monitor.others
            assert read.slots == other.monitor.summary().slots[-1:]
        assert two.monitor.others[0].slots[0].classes == {"ok": 1}
        assert one.monitor.others[0].slots[0].codes == {"overloaded": 1}


async def test_event_is_shared_at_once(redis: RedisServer) -> None:
    clock = HandClock()
    async with watched("one", redis.url, clock) as one:
        await one.monitor.tick()
        assert one.events == ["leader-changed"]
        (written,) = await one.store.read()
        assert [each.kind.value for each in written.events] == one.events
        assert (written.name, written.leader) == ("one", True)


async def test_redis_away_is_an_event_and_no_error() -> None:
    clock = HandClock()
    async with watched("one", nowhere(), clock) as one:
        await one.monitor.tick()
        assert one.events == [], "nothing is known before the first sweep"
        one.parts.adopt(replica(A, "en>de"))
        one.detector.observe_snapshot(one.parts.registry.snapshot)
        one.parts.registry.swept.set()
        one.translate()
        for _ in range(13):
            clock.now += 1
            await one.monitor.tick()
        assert one.events == ["redis-away"]
        assert one.monitor.others == []
        assert one.monitor.summary().slots[-1].classes == {"ok": 1}
        assert one.monitor.last_slot == 100


async def test_codes_are_those_of_the_issues() -> None:
    async with watched("one", nowhere(), HandClock()) as one:
        for url in (A, B):
            one.parts.adopt(replica(url, starting=("en>de",), state="starting"))
        found = one.monitor.codes()
        assert found.keys() == set(IssueCode)
        ones = {code for code, count in found.items() if count}
        assert ones == {each.issue.code for each in one.monitor.issues(one.parts.registry.snapshot)}
        assert ones == {IssueCode.REDIS_AWAY, IssueCode.REPLICA_STARTING, IssueCode.PAIR_UNAVAILABLE}
        assert set(found.values()) == {0, 1}


async def test_open_breaker_is_an_event(redis: RedisServer) -> None:
    clock = HandClock()
    async with watched("one", redis.url, clock) as one:
        one.parts.adopt(replica(A, "en>de"))
        one.detector.observe_snapshot(one.parts.registry.snapshot)
        await one.monitor.tick()
        stats = one.local_stats.pair_replica_stats(A, pair("en>de"))
        stats.record_failure(stats.breaker.acquire(), "unknown-pair", at_once=True)
        one.local_stats.pairs[pair("en>de")].update_outlier(A, stats)
        assert open_breakers(one.local_stats)[A].why == "unknown-pair"
        clock.now += 1
        await one.monitor.tick()
        assert one.events[-1] == "breaker-opened"
        one.local_stats.pairs[pair("en>de")].outliers.clear()
        await one.monitor.tick()
        assert one.events[-1] == "breaker-closed"


async def test_sweep_holds_until_the_next_is_due(redis: RedisServer) -> None:
    clock = HandClock()
    async with watched("one", redis.url, clock) as one:
        one.parts.registry.swept_at = clock.now = 1100.0
        await one.monitor.tick()
        clock.now += SWEEP_SECONDS / 2
        assert one.monitor.known_at == clock.now
        clock.now += 20
        assert one.monitor.known_at == 1100 + SWEEP_SECONDS


async def test_failed_reads_make_what_is_known_older(own_redis: RedisServer) -> None:
    clock = HandClock()
    async with watched("one", own_redis.url, clock) as one:

        async def pass_seconds(count: int) -> None:
            for _ in range(count):
                clock.now += 1
                one.parts.registry.swept_at = clock.now
                await one.monitor.tick()

        await one.parts.registry.sync_changes()
        await one.monitor.tick()
        await one.store.close()
        own_redis.server.kill()
        await pass_seconds(30)
        assert one.parts.registry.redis_error is None
        assert one.monitor.known_at == 1000, "the others' figures, of which nobody says that they are old"
        await one.parts.registry.sync_changes()
        assert one.parts.registry.redis_error is not None
        assert one.monitor.known_at == clock.now, "it is said that Redis is away"
        await pass_seconds(100)
        own_redis.start()
        await one.parts.registry.sync_changes()
        assert one.parts.registry.redis_error is None
        assert one.monitor.known_at == clock.now, "it was said until now"
