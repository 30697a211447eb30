"""Hosts that serve at once, and candidates."""

from __future__ import annotations

from dataclasses import replace

from apiserver.hosting.running_hosts import RunningHosts
from apiserver.metrics import ApiServerMetrics
from tests.apiserver.changes.samples import builder_of, entry_of
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until


async def test_candidate_is_in_no_ready_metric_until_it_serves(factory: ScriptedFactory) -> None:
    metrics, entry = ApiServerMetrics(), entry_of("a")
    candidate = builder_of(factory, metrics).candidate(entry, dict.fromkeys(entry.all_pairs, 0), beside=True)
    labels = {"pair": "en-de", "model": "a"}
    async with RunningHosts([candidate], metrics):
        await wait_until(lambda: not candidate.issues, 10)
        assert metrics.registry.get_sample_value("pairway_apiserver_pair_ready", labels) is None
        candidate.serve()
        assert metrics.registry.get_sample_value("pairway_apiserver_pair_ready", labels) == 1


async def test_engine_beside_others_has_its_own_factory(factory: ScriptedFactory) -> None:
    metrics, entry, beside = ApiServerMetrics(), entry_of("a"), ScriptedFactory()
    builder = replace(builder_of(factory, metrics), factory_beside=beside)
    ranks = dict.fromkeys(entry.all_pairs, 0)
    hosts = [builder.candidate(entry, ranks, beside=True), builder.candidate(entry, ranks, beside=False)]
    async with RunningHosts(hosts, metrics):
        await wait_until(lambda: not hosts[0].issues and not hosts[1].issues, 10)
    assert (beside.starts, factory.starts) == (["a"], ["a"])
