"""The loops of hosts that come and go."""

from __future__ import annotations

from apiserver.hosting.running_hosts import RunningHosts
from apiserver.metrics import ApiServerMetrics
from tests.apiserver.changes.samples import builder_of, entry_of
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until


async def test_hosts_start_and_stop_with_the_block(factory: ScriptedFactory) -> None:
    metrics = ApiServerMetrics()
    host = builder_of(factory, metrics).host(entry_of("a"), dict.fromkeys(entry_of("a").all_pairs, 0))
    hosts = RunningHosts([host], metrics)
    assert [loop.name for loop in hosts.loops] == ["host:a"]
    async with hosts:
        await wait_until(lambda: not host.issues, 10)
    assert factory.engine("a").stopped == 1


async def test_further_host_comes_and_goes(factory: ScriptedFactory) -> None:
    metrics = ApiServerMetrics()
    builder = builder_of(factory, metrics)
    entry = entry_of("b")
    async with RunningHosts([], metrics) as hosts:
        further = builder.candidate(entry, dict.fromkeys(entry.all_pairs, 0), beside=True)
        hosts.start(further)
        await wait_until(lambda: not further.issues, 10)
        assert list(hosts) == [further]
        await hosts.stop(further)
        assert not hosts.loops
        assert factory.engine("b").stopped == 1


async def test_metrics_of_a_name_end_with_its_last_host(factory: ScriptedFactory) -> None:
    metrics = ApiServerMetrics()
    builder = builder_of(factory, metrics)
    entry = entry_of("a")
    ranks = dict.fromkeys(entry.all_pairs, 0)
    async with RunningHosts([], metrics) as hosts:
        old, new = builder.host(entry, ranks), builder.host(entry, ranks)
        for host in (old, new):
            hosts.start(host)
        await wait_until(lambda: not old.issues and not new.issues, 10)
        await hosts.stop(old)
        hosts.forget("a")
        assert metrics.registry.get_sample_value("pairway_apiserver_pair_ready", {"pair": "en-de", "model": "a"}) == 1
        await hosts.stop(new)
        hosts.forget("a")
        assert (
            metrics.registry.get_sample_value("pairway_apiserver_pair_ready", {"pair": "en-de", "model": "a"}) is None
        )
