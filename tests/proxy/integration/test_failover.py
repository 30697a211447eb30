"""When replicas fail, are full, drain or leave: the others answer, and what cannot be served says so."""

from __future__ import annotations

import asyncio
import time
from collections import Counter

import pytest

from proxy.forwarding.hedging import HEDGE_BURST
from shared.languages import LanguagePair
from tests.conftest import RedisServer
from tests.proxy.proxies import all_at_once, fleet_of, proxy
from tests.support.fake_replica import FakeReplica, Fault, Script, replicas
from tests.support.waiting import wait_until

PATIENT = 5.0  # a sweep interval in which nothing learnt by probing can help


@pytest.mark.parametrize("fault", ["reset", "reset-mid-body", "close"])
async def test_broken_off_answer_fails_over(fault: Fault) -> None:
    bad, good = FakeReplica("en>de", name="bad"), FakeReplica("en>de", name="good")
    bad.translate.fault = fault
    async with replicas(bad, good), proxy([bad, good]) as running:
        broken = f'pairway_proxy_attempts_total{{outcome="broken-answer",replica="{bad.url}"}}'

        async def retried() -> bool:  # where the machine pauses, a hedge is on its way before the fault is there
            assert set(await all_at_once(running, 20)) == {200}
            metrics = (await running.client.get("/metrics")).text
            return broken in metrics and 'pairway_proxy_retries_total{pair="en-de"}' in metrics

        await wait_until(retried, 10, "the faulty one is asked, and another instead")
        assert bad.requests


@pytest.mark.parametrize(
    "problem", [(500, "internal"), (503, "overloaded"), (503, "pair-unavailable"), (404, "unknown-pair")]
)
async def test_refused_request_fails_over(problem: tuple[int, str]) -> None:
    bad, good = FakeReplica("en>de", name="bad"), FakeReplica("en>de", name="good")
    bad.translate.problem = problem
    async with replicas(bad, good), proxy([bad, good]) as running:
        assert set(await all_at_once(running, 20)) == {200}
        assert bad.requests


async def test_unreachable_replica_is_passed_over() -> None:
    bad, good = FakeReplica("en>de", name="bad"), FakeReplica("en>de", name="good")
    async with replicas(bad, good), proxy([bad, good], probe_interval=PATIENT) as running:
        await bad.stop()
        label = f'attempts_total{{outcome="unreachable",replica="{bad.url}"}}'

        async def is_counted() -> bool:  # which of two equals is asked first is decided by chance
            assert set(await all_at_once(running, 5)) == {200}
            return label in (await running.client.get("/metrics")).text

        await wait_until(is_counted, 5, "it is asked")
        before = _value(label, (await running.client.get("/metrics")).text)
        began = time.monotonic()
        assert set(await all_at_once(running, 20)) == {200}
        now = _value(label, (await running.client.get("/metrics")).text)
        trials = 1 + int(time.monotonic() - began)
        assert now <= before + trials, "not but for a trial a second; of 20, half would be asked of it"


def _value(start: str, metrics: str, default: float | None = None) -> float:
    lines = (line for line in metrics.splitlines() if start in line and not line.startswith("#"))
    line = next(lines, f" {default}")
    return float(line.rsplit(" ", 1)[1])


async def test_only_replica_gone_is_503_before_and_after_probe() -> None:
    async with fleet_of("en>de", name="only", probe_interval=1.0) as (running, only):
        await only.stop()
        for _ in range(2):
            status, problem, headers = await running.translate("Hello")
            assert (status, problem["code"]) == (503, "pair-unavailable")
            assert int(headers["retry-after"]) >= 1
        await running.sees(only, "down")
        status, problem, headers = await running.translate("Hello")
        assert (status, problem["code"], headers["retry-after"]) == (503, "pair-unavailable", "5")
        assert "1 down" in problem["detail"]


async def test_only_replica_dying_fails_its_requests_at_once() -> None:
    only = FakeReplica("en>de", name="only")
    only.translate.fault = "hang"
    async with replicas(only), proxy([only]) as running:
        answers = asyncio.create_task(all_at_once(running, 5))
        await wait_until(lambda: len(only.requests) == 5, 3, "all are there")
        await only.stop()
        await wait_until(answers.done, 5, "all are answered")
        assert set(answers.result()) == {502}


async def test_full_fleet_is_503_with_replicas_retry_after() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    for fake in (one, two):
        fake.translate = Script(problem=(503, "overloaded"), retry_after=7)
    async with replicas(one, two), proxy([one, two]) as running:
        status, problem, headers = await running.translate("Hello")
        assert (status, problem["code"], headers["retry-after"]) == (503, "overloaded", "7")
        assert (len(one.requests), len(two.requests)) == (1, 1), "each is asked once"


@pytest.mark.parametrize("other", ["gone", "failing"])
async def test_one_full_and_one_failing_replica_is_overloaded(other: str) -> None:
    full, bad = FakeReplica("en>de", name="full"), FakeReplica("en>de", name="bad")
    full.translate.problem = (503, "overloaded")
    bad.translate.problem = (500, "internal")
    for _ in range(4):
        async with replicas(full, bad), proxy([full, bad], probe_interval=PATIENT) as running:
            if other == "gone":
                await bad.stop()
            status, problem, _ = await running.translate("Hello")
            assert (status, problem["code"]) == (503, "overloaded")


async def test_attempts_are_limited_by_setting() -> None:
    fakes = [FakeReplica("en>de", name=f"fake {n}") for n in range(4)]
    for fake in fakes:
        fake.translate.problem = (500, "internal")
    async with replicas(*fakes):
        for allowed in (1, 3):
            async with proxy(fakes, max_attempts=allowed) as running:
                for fake in fakes:
                    fake.requests.clear()
                status, problem, _ = await running.translate("Hello")
                assert (status, problem["code"]) == (502, "replica-failed")
                assert sum(len(fake.requests) for fake in fakes) == allowed


async def test_pair_is_remembered_after_its_replica_left() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    addresses = {"fleet": ["127.0.0.1", "127.0.0.2"]}

    async def resolver(host: str) -> list[str]:
        return addresses[host]

    async with replicas(one):
        two.host, two.port = "127.0.0.2", one.port
        async with replicas(two), proxy([f"http://fleet:{one.port}"], resolver=resolver) as running:
            assert (await running.translate("Hello", "en", "fr"))[0] == 200
            addresses["fleet"] = ["127.0.0.1"]
            await wait_until(lambda: two.url not in running.context.fleet.registry.snapshot.replicas, 3, "two left")
            status, problem, _ = await running.translate("Hello", "en", "fr")
            assert (status, problem["code"]) == (503, "pair-unavailable")
            assert (await running.health())["pairs"]["en-fr"] == {"ready": 0, "failing": 0, "total": 0}
            assert (await running.translate("Hello", "en", "ja"))[0] == 404
            assert (await running.translate("Hello"))[0] == 200
            addresses["fleet"] = ["127.0.0.1", "127.0.0.2"]
            await running.sees(two, "ready")
            assert (await running.translate("Hello", "en", "fr"))[0] == 200


async def test_unresolvable_name_keeps_last_addresses() -> None:
    one = FakeReplica("en>de", name="one")
    known = True

    async def resolver(host: str) -> list[str]:
        if not known:
            raise OSError(f"{host} is not known")
        return ["127.0.0.1"]

    async with replicas(one), proxy([f"http://fleet:{one.port}"], resolver=resolver) as running:
        known = False
        await running.sweeps(3)
        assert (await running.translate("Hello"))[0] == 200


async def test_draining_replica_gets_no_requests() -> None:
    leaving, staying = FakeReplica("en>de", name="leaving"), FakeReplica("en>de", name="staying")
    async with replicas(leaving, staying), proxy([leaving, staying]) as running:
        leaving.state = "draining"
        await running.sees(leaving, "draining")
        assert set(await all_at_once(running, 10)) == {200}
        assert leaving.requests == []


async def test_unready_pair_is_503_while_others_are_served() -> None:
    one = FakeReplica("en>de", "en>fr", name="one")
    one.pairs["en>fr"] = False
    async with replicas(one), proxy([one]) as running:
        assert (await running.translate("Hello"))[0] == 200
        status, problem, _ = await running.translate("Hello", "en", "fr")
        assert (status, problem["code"]) == (503, "pair-unavailable")
        one.pairs["en>fr"] = True
        await running.sweeps(2)
        assert (await running.translate("Hello", "en", "fr"))[0] == 200


async def test_second_lost_report_marks_replica_down() -> None:
    async with fleet_of("en>de", name="busy") as (running, busy):
        busy.report.fault = "close"
        await running.sees(busy, "down")
        replica = running.context.fleet.registry.snapshot.replicas[busy.url]
        assert replica.missed >= 2
        busy.report.fault = None
        await running.sees(busy, "ready")


@pytest.mark.parametrize("fault", ["hang", "drip"])
async def test_endless_report_delays_no_other_probe(fault: Fault) -> None:
    slow, good = FakeReplica("en>de", name="slow"), FakeReplica("en>de", name="good")
    async with replicas(slow, good), proxy([slow, good], probe_timeout=0.4) as running:
        slow.report.fault = fault
        await running.sees(slow, "down", within=4)
        await good.stop()
        await running.sees(good, "down", within=5)


@pytest.mark.parametrize("raw", [(200, b"{}"), (200, b"\xff"), (500, b"{}"), (404, b""), (301, b"")])
async def test_server_without_report_is_down_with_reason(raw: tuple[int, bytes]) -> None:
    stranger, good = FakeReplica("en>de", name="stranger"), FakeReplica("en>de", name="good")
    stranger.report.raw = raw
    async with replicas(stranger, good), proxy([stranger, good]) as running:
        await running.sees(stranger, "down")
        why = {each["url"]: each["why"] for each in (await running.health())["replicas"]}[stranger.url]
        assert "/report" in why
        assert (await running.translate("Hello"))[0] == 200


async def test_least_loaded_replica_gets_work() -> None:
    slow, fast = FakeReplica("en>de", name="slow"), FakeReplica("en>de", name="fast")
    slow.translate.delay = 0.8
    fast.translate.delay = 0.02
    async with replicas(slow, fast), proxy([slow, fast], probe_interval=PATIENT) as running:

        async def client() -> Counter[str]:
            models: Counter[str] = Counter()
            for _ in range(12):
                _, answer, _ = await running.translate("Hello")
                models[answer["model"]] += 1
            return models

        found = sum(await asyncio.gather(*(client() for _ in range(4))), Counter[str]())
        assert found["model-fast"] > 2 * found["model-slow"]


async def test_load_of_other_proxies_counts() -> None:
    busy, idle = FakeReplica("en>de", name="busy"), FakeReplica("en>de", name="idle")
    busy.foreign_load = 50
    async with replicas(busy, idle), proxy([busy, idle]) as running:
        await all_at_once(running, 20)
        # Where the machine pauses, a hedge or a retry may go to the busy one; without its load it would get half.
        metrics = (await running.client.get("/metrics")).text
        others = sum(_value(f"pairway_proxy_{name}_total", metrics, 0.0) for name in ("hedges", "retries"))
        assert len(busy.requests) <= 2 + others


async def test_load_counts_texts_not_requests() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    released = asyncio.Event()  # the list is there until all single texts are
    one.translate.released = two.translate.released = released
    async with replicas(one, two), proxy([one, two], probe_interval=PATIENT) as running:
        for fake in (one, two):
            await running.sees(fake, "ready")
        latency = running.context.local_stats.pair_stats(LanguagePair("en", "de")).latencies[0]
        latency.hedge_debt = 2 * HEDGE_BURST  # a hedge goes where nobody would
        big = asyncio.create_task(running.translate(["text"] * 50))
        taken = await wait_until(lambda: [fake for fake in (one, two) if fake.requests], 3, "the big one is there")
        singles = asyncio.create_task(all_at_once(running, 10))
        await wait_until(lambda: len(one.requests) + len(two.requests) >= 11, 3, "all are there")
        assert len(taken[0].requests) == 1, "ten single texts weigh less than one list of fifty"
        released.set()
        assert (await big)[0] == 200
        await singles


async def test_half_dead_fleet_is_probed_in_one_timeout(redis: RedisServer) -> None:
    good = FakeReplica("en>de", name="good")
    dead = [f"http://127.0.0.1:{port}" for port in range(2, 100)]
    async with replicas(good), proxy([*dead, good], redis.url) as running:
        status, _, _ = await running.translate("Hello")
        assert status == 200
        health = await running.health()
        assert Counter(each["state"] for each in health["replicas"]) == {"down": 98, "ready": 1}
        assert health["status"] == "degraded"


async def test_request_at_only_replica_is_not_abandoned() -> None:
    only = FakeReplica("en>de", name="only")
    only.translate.delay = 3.0
    async with replicas(only), proxy([only], probe_timeout=0.5) as running:
        answers = asyncio.create_task(running.translate("Hello"))
        await wait_until(lambda: len(only.requests) == 1, 3, "it is there")
        only.report.fault = "hang"
        await running.sees(only, "down")
        status, _, _ = await answers
        assert status == 200


async def test_unreachable_fleet_is_tried_all_the_same() -> None:
    async with fleet_of("en>de", name="only", probe_interval=PATIENT) as (running, only):
        await only.stop()
        assert (await running.translate("Hello"))[0] == 503
        await only.start()
        assert (await running.translate("Hello"))[0] == 200, "no sweep has cleared it meanwhile"
