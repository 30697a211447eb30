"""The prober against replicas on real sockets, with Redis away."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from proxy.fleet.discovery import Discovery
from proxy.fleet.prober import Prober
from proxy.fleet.replica import ReplicaState
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from shared.languages import LanguagePair
from tests.proxy.fleet.registries import ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.support.fake_replica import FakeReplica, replicas

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
