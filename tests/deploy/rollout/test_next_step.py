"""The decisions of a roll: the next step, whether a container serves, what forbids a step, and whether one more fits."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from deploy.rollout.containers import Container, Service, parse_container, parse_service
from deploy.rollout.next_step import (
    MAX_RESTARTS,
    Step,
    next_step,
    why_failed,
    why_forbidden,
    why_no_capacity,
    why_not_serving,
)
from tests.deploy.rollout.fake_docker import container, service

FREE = "MemTotal: 9 kB\nMemAvailable:    2097152 kB\n"


def wanted(replicas: int = 1, name: str = "proxy", **more: Any) -> Service:
    return parse_service(name, service(name, replicas=replicas, **more), "h1", "sha256:new", lambda _: 0.0)


def one(number: int, image: str = "new", name: str = "proxy", **more: str) -> Container:
    return parse_container(container(f"{name}-{number}", image=image, **more))


SERVER = one(1, name="apiserver-de")
PROXY = one(1)


def sees(*ready: str, host_name: str = SERVER.host_name, **more: Any) -> dict[str, Any]:
    """Return the health of a proxy with one API server."""
    pairs = {pair: {"ready": True, "why": None} for pair in ready}
    line = {"replica_id": f"{host_name}-01", "state": "ready", "why": None, "pairs": pairs}
    return {"replicas": [line], "accepts": True, **more}


@pytest.mark.parametrize("in_place", [False, True])
def test_every_roll_ends_and_keeps_its_capacity(*, in_place: bool) -> None:
    """From any number of fresh and stale containers to any scale."""
    for counts in itertools.product(range(4), range(4), range(4)):
        check_roll(*counts, in_place=in_place)


def check_roll(fresh_count: int, stale_count: int, replicas: int, *, in_place: bool) -> None:
    fresh = [one(number) for number in range(1, fresh_count + 1)]
    stale = [one(number, "old") for number in range(10, 10 + stale_count)]
    least = min(fresh_count + stale_count, replicas) - (1 if in_place else 0)
    ready = {each.id for each in fresh}
    for number in range(100, 150):
        action, chosen = next_step(
            wanted(replicas), fresh + stale, fresh_ids={each.id for each in fresh}, ready_ids=ready, in_place=in_place
        )
        if action == "done":
            break
        if chosen is None:
            fresh.append(one(number))
        elif action == "wait":
            assert chosen.id not in ready
            ready.add(chosen.id)
        else:
            (fresh if chosen in fresh else stale).remove(chosen)
        assert len(fresh) + len(stale) <= max(replicas + 1, fresh_count + stale_count)
        assert len([each for each in fresh if each.id in ready]) + len(stale) >= least
    assert (len(fresh), stale, {each.id for each in fresh} <= ready) == (replicas, [], True)


def test_unhealthy_old_ones_end_first() -> None:
    sick = one(2, "old", health="unhealthy")
    step = next_step(wanted(), [one(1, "old"), sick], fresh_ids=(), ready_ids=(), in_place=False)
    assert step == ("stop", sick)


def test_ended_containers_go_first() -> None:
    """docker compose up would start them again."""
    ended = one(3, state="exited")
    step = next_step(wanted(), [one(1, "old"), ended], fresh_ids={ended.id}, ready_ids=(), in_place=False)
    assert step == ("stop", ended)


def failed(inspected: dict[str, Any], waited: float) -> str | None:
    return why_failed(parse_container(inspected), waited=waited, timeout=60)


def test_why_failed_gives_up_what_cannot_start() -> None:
    inspected = container("proxy-1", state="restarting")
    assert failed(inspected, 1) is None, "it may be back"
    inspected["State"]["ExitCode"] = 78
    assert "exit code 78" in str(failed(inspected, 1))
    inspected["State"] |= {"Status": "running", "ExitCode": 0}
    assert failed(inspected, 1) is None
    assert failed(inspected, 61) == "it was not ready after 60 s"
    inspected["RestartCount"] = MAX_RESTARTS
    assert failed(inspected, 1) == "it ended 3 times"
    assert failed(container("proxy-1", state="exited"), 1) == "it ended with exit code 0"


def server_waits(healths: dict[str, Any], each: Container = SERVER) -> str | None:
    return why_not_serving(each, "apiserver", healths, pairs_before=(), has_proxies=True)


def test_server_waits_for_docker_and_every_proxy() -> None:
    assert server_waits({"p-1": sees("en-de")}) is None
    assert server_waits({}) == "no proxy answers"
    unseen: dict[str, dict[str, Any]] = {"p-1": sees("en-de"), "p-2": {"replicas": []}}
    assert server_waits(unseen) == "p-2 sees: it is not among the servers that answer"
    starting = one(1, name="apiserver-de", health="starting")
    assert server_waits({"p-1": sees("en-de")}, starting) == "Docker finds it starting"
    assert server_waits(unseen, starting) == f"Docker finds it starting; {server_waits(unseen)}"
    assert server_waits({}, one(1, state="exited")) == "it is exited"
    assert why_not_serving(SERVER, "apiserver", {}, pairs_before=(), has_proxies=False) is None


def proxy_waits(own: dict[str, Any] | None, *others: dict[str, Any], before: tuple[str, ...] = ()) -> str | None:
    answers = {f"p-{number}": each for number, each in enumerate(others)}
    healths = answers if own is None else {**answers, PROXY.name: own}
    return why_not_serving(PROXY, "proxy", healths, pairs_before=before, has_proxies=True)


def test_proxy_waits_for_what_the_others_see_or_saw() -> None:
    assert proxy_waits(None) == "it does not answer"
    assert proxy_waits(sees(accepts=False)) == "its /readyz is not 200"
    assert proxy_waits(sees()) is None, "the first proxy"
    missing = "it does not see en-de ready, as the old proxies did"
    assert proxy_waits(sees(), sees("en-de")) == missing
    assert proxy_waits(sees(), before=("en-de",)) == missing
    assert proxy_waits(sees(), sees(), before=("en-de",)) is None, "a server broke meanwhile, and the old one sees it"
    assert proxy_waits(sees("en-de"), sees("en-de"), before=("en-de",)) is None


def test_only_server_of_a_pair_does_not_end() -> None:
    servers = wanted(name="apiserver-de")
    alone = {"p-1": sees("en-de", "de-en")}
    for action in ("stop", "replace"):
        why = why_forbidden((action, SERVER), servers, alone, has_proxies=True)
        assert "pairway-apiserver-de-1 is the only server of de-en, en-de; --allow-outage" in str(why)
        assert "no proxy answers" in str(why_forbidden((action, SERVER), servers, {}, has_proxies=True))
        assert why_forbidden((action, SERVER), servers, {}, has_proxies=False) is None
        assert why_forbidden((action, PROXY), wanted(), alone, has_proxies=True) is None
    assert why_forbidden(("start", None), servers, alone, has_proxies=True) is None
    ended = one(1, name="apiserver-de", state="exited")
    assert why_forbidden(("stop", ended), servers, {}, has_proxies=True) is None


def test_no_proxy_with_keys_starts_without_redis() -> None:
    away = {"p-1": sees(redis={"up": False, "error": "connection refused"})}
    keys = wanted(environment={"PROXY_KEYS": "on"})
    steps: tuple[Step, ...] = (("start", None), ("replace", PROXY))
    for step in steps:
        assert "Redis is away (connection refused)" in str(why_forbidden(step, keys, away, has_proxies=True))
        assert why_forbidden(step, wanted(), away, has_proxies=True) is None
        assert why_forbidden(step, keys, {"p-1": sees(redis={"up": True})}, has_proxies=True) is None


def test_one_more_needs_a_gpu_a_port_and_memory() -> None:
    gpu = {"resources": {"reservations": {"devices": [{"driver": "nvidia"}]}}, "replicas": 1}
    config = service("apiserver-de") | {"deploy": gpu}
    assert "its GPU" in str(why_no_capacity(parse_service("apiserver-de", config, "", None, lambda _: 0.0), "", ""))
    for published, replicas, fits in (("8000", 1, False), ("8000-8001", 1, True), ("8000-8001", 2, False)):
        proxies = wanted(replicas, ports=[{"published": published}])
        assert (why_no_capacity(proxies, "", "") is None) is fits
    servers = wanted(name="apiserver-de")
    assert why_no_capacity(servers, FREE, "512MiB / 4GiB\n2GiB / 4GiB\n--  / --\n") is None
    assert why_no_capacity(servers, FREE, "512MiB / 4GiB\n3.5GiB / 4GiB\n") == (
        "2.0 GiB of memory are free, and one uses 3.5 GiB"
    )


@pytest.mark.parametrize(("meminfo", "stats"), [("", "9GiB / 9GiB"), (FREE, ""), (FREE, "0 / 4parsecs")])
def test_memory_is_not_short_unless_measured(meminfo: str, stats: str) -> None:
    assert why_no_capacity(wanted(name="apiserver-de"), meminfo, stats) is None
