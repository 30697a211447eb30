"""Hosts of one server: created, running, serving."""

from __future__ import annotations

from dataclasses import replace

from apiserver.hosting.server_hosts import Routing, RunningHosts
from apiserver.metrics import ApiServerMetrics
from shared.languages import LanguagePair
from tests.apiserver.changes.samples import builder_of, entry_of, host_of
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


EN_DE, EN_FR = LanguagePair("en", "de"), LanguagePair("en", "fr")


def test_hosts_serve_in_their_order() -> None:
    first, second = host_of(entry_of("a", "en-de")), host_of(entry_of("b", "en-de", "en-fr"))
    routing = Routing.of([first, second])
    assert routing.by_pair == {EN_DE: (first, second), EN_FR: (second,)}
    assert list(routing.serving(LanguagePair("en", "de-AT"))) == [EN_DE]


def test_replacement_takes_the_place_and_the_old_one_drains() -> None:
    first, second, new = (host_of(entry_of(name, "en-de")) for name in "abc")
    routing = Routing.of([first, second])
    replaced = routing.switched([new, second], [first])
    assert (replaced.hosts, replaced.draining) == ((new, second), (first,))
    assert replaced.by_pair[EN_DE] == (new, second)
    assert replaced.without(first).draining == ()
    assert routing.hosts == (first, second), "a routing never changes"


def test_pairs_of_a_replacement_are_served() -> None:
    old, new = host_of(entry_of("a", "en-de")), host_of(entry_of("b", "en-de", "en-fr"))
    assert not Routing.of([old]).serving(EN_FR)
    assert list(Routing.of([old]).switched([new], [old]).serving(EN_FR)) == [EN_FR]
