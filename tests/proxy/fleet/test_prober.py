"""How replicas are found by their names, and probed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from proxy.fleet.discovery import MAX_ADDRESSES, RESOLVE_SECONDS, Discovery, system_resolver
from proxy.fleet.prober import Prober
from proxy.fleet.replica import ReplicaState
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from shared.languages import LanguagePair
from tests.proxy.fleet.registries import ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import Awake


class FakeResolver:
    """A resolver that a test programs."""

    def __init__(self, **names: list[str] | Exception) -> None:
        self.names = names
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        found = self.names.get(host, OSError("not known"))
        if isinstance(found, Exception):
            raise found
        return found


async def test_name_expands_to_distinct_addresses_in_order() -> None:
    names = FakeResolver(fleet=["10.0.0.1", "10.0.0.2", "10.0.0.1", "fd00::1"], other=["10.0.0.2"])
    assert await Discovery(names).expand(["http://fleet:8001", "http://other:8002", "http://other"]) == {
        "http://fleet:8001": ("http://10.0.0.1:8001", "http://10.0.0.2:8001", "http://[fd00::1]:8001"),
        "http://other:8002": ("http://10.0.0.2:8002",),
        "http://other": ("http://10.0.0.2",),
    }


async def test_addresses_and_https_are_not_resolved() -> None:
    names = FakeResolver()
    urls = ["http://127.0.0.1:1", "http://[::1]:2", "https://api.example"]
    assert await Discovery(names).expand(urls) == {url: (url,) for url in urls}
    assert names.asked == []


async def test_unresolved_name_stands_for_itself() -> None:
    assert await Discovery(FakeResolver()).expand(["http://nobody:1"]) == {"http://nobody:1": ("http://nobody:1",)}


async def test_last_addresses_hold_while_the_resolver_fails() -> None:
    names = FakeResolver(fleet=["10.0.0.1", "10.0.0.2"])
    discovery, url = Discovery(names), "http://fleet:1"
    await discovery.expand([url])
    names.names["fleet"] = OSError("again later")
    assert await discovery.expand([url]) == {url: ("http://10.0.0.1:1", "http://10.0.0.2:1")}
    assert discovery.unresolved == {url}
    await discovery.expand(["http://127.0.0.1:1"])
    assert discovery.unresolved == {url}, "nobody asked for it again"
    names.names["fleet"] = ["10.0.0.3"]
    assert await discovery.expand([url]) == {url: ("http://10.0.0.3:1",)}
    assert discovery.unresolved == set()


async def test_hanging_resolver_is_given_up() -> None:
    async def hanging(host: str) -> list[str]:
        await asyncio.Event().wait()
        return [host]

    urls = ["http://a:1", "http://b:1"]
    with Awake() as awake:
        assert await Discovery(hanging).expand(urls) == {url: (url,) for url in urls}
    assert awake.seconds < RESOLVE_SECONDS + 0.5


async def test_address_count_of_a_name_is_bounded() -> None:
    names = FakeResolver(fleet=[f"10.{n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(5000)])
    assert len((await Discovery(names).expand(["http://fleet:1"]))["http://fleet:1"]) == MAX_ADDRESSES


async def test_system_resolver_returns_localhost_once() -> None:
    assert await system_resolver("localhost") == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "nobody.invalid"])
async def test_impossible_name_is_an_os_error(host: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await system_resolver(host)
    url = f"http://{host}:1"
    assert await Discovery().expand([url]) == {url: (url,)}


# A machine with other work to do finds no replica dead.
PATIENT = 10.0


@asynccontextmanager
async def prober_of(
    *urls: str, probe_timeout: float = PATIENT
) -> AsyncGenerator[tuple[Prober, ProxyParts, ProxyMetrics]]:
    metrics = ProxyMetrics()
    async with (
        proxy_at(nowhere(), configured=urls) as parts,
        ReplicaClient.open(connect_timeout=3.0, probe_timeout=probe_timeout) as client,
    ):
        prober = Prober(parts.registry, Discovery(), client, metrics, time.time)
        yield prober, parts, metrics
        await prober.close()


async def test_probe_all_learns_the_state_of_every_replica() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    two.state = "draining"
    async with replicas(one, two), prober_of(one.url, two.url) as (prober, parts, metrics):
        await prober.probe_all()
        assert (parts.state(one.url), parts.state(two.url)) == (ReplicaState.READY, ReplicaState.DRAINING)
        assert parts.registry.swept.is_set()
        assert metrics.registry.get_sample_value("pairway_proxy_texts_total", {"pair": "en-de"}) == 0


async def test_unchanged_pairs_are_asked_for_once() -> None:
    one = FakeReplica("en>de")
    async with replicas(one), prober_of(one.url) as (prober, parts, _):
        await prober.probe_all()
        await prober.probe_all()
        assert (one.probes, one.pairs_sent) == (2, 1)
        assert parts.registry.snapshot.total == {LanguagePair("en", "de"): 1}
        one.pairs["en>de"] = False
        await prober.probe_all()
        assert parts.registry.snapshot.ready == {LanguagePair("en", "de"): ()}


async def test_unreachable_replica_is_down_after_one_probe() -> None:
    one = FakeReplica("en>de")
    async with replicas(one), prober_of(one.url) as (prober, parts, _):
        await prober.probe_all()
        await one.stop()
        await prober.probe_all()
        assert parts.state(one.url) is ReplicaState.DOWN


async def test_broken_report_is_down_after_two_probes() -> None:
    one = FakeReplica("en>de")
    async with replicas(one), prober_of(one.url) as (prober, parts, _):
        await prober.probe_all()
        one.report.fault = "reset-mid-body"
        await prober.probe_all()
        assert parts.state(one.url) is ReplicaState.READY
        await prober.probe_all()
        assert parts.state(one.url) is ReplicaState.DOWN


async def test_probe_unhealthy_asks_only_replicas_that_are_not_well() -> None:
    well, starting = FakeReplica("en>de", name="well"), FakeReplica("en>de", name="starting")
    starting.state = "starting"
    async with replicas(well, starting), prober_of(well.url, starting.url) as (prober, parts, _):
        await prober.probe_all()
        starting.state = "ready"
        probes = well.probes
        await prober.probe_unhealthy()
        await prober.probe_unhealthy()  # publishes what came back late
        assert parts.state(starting.url) is ReplicaState.READY
        assert well.probes == probes
