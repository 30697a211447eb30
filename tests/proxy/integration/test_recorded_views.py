"""What the proxy says of a fleet in every state: /health, /fleet, /status/data, its stream and /metrics, as recorded.

A file that is missing is written, and fails its test once: look at what it says before you commit it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from shared.languages import LanguagePair
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import free_port
from tests.support.waiting import wait_until

FOLDER = Path(__file__).parent / "recorded"
TOKEN = "an-operator-token-of-tests"
KEY = {"Authorization": f"Bearer {TOKEN}"}
# Fields that differ in each run.
TIMES = {
    "age_s",
    "report_age_s",
    "uptime_s",
    "at",
    "now",
    "known_at",
    "started_at",
    "start_at",
    "silent_since",
    "since",
}
OTHERS = {"version", "latency_s", "score", "at_least"}
# An event that the next tick notices, if the machine is slow.
TICKED = {"breaker-opened"}
OTHER_METRICS = re.compile(
    r"^(?:# \w+ )?(?:process_|python_)|_created\b|_bucket\b|_canaries_total\{|^\w+_container_memory"
)
VOLATILE_METRICS = re.compile(r"_seconds_sum\b|sweep_seconds|loop_age|lag_seconds|build_info")


class Fleet:
    """Fakes in every state, and a proxy of them."""

    def __init__(self) -> None:
        self.ready = FakeReplica("en>de", "en>fr", name="ready")
        self.ready.foreign_load = 3
        self.ready.models = {"second": {**_idle(), "running": 2, "kv_used": 0.256, "steps": 7, "revision": None}}
        self.ready.runs_by = "compose:apiserver-de"
        self.partly = FakeReplica("en>de", "de>en", name="partly")
        self.partly.pairs["de>en"] = False
        self.partly.ranks["en>de"] = 1
        self.starting = FakeReplica("de>fr", name="starting")
        self.starting.state, self.starting.pairs = "starting", {"de>fr": False}
        self.stopping = FakeReplica("en>de", name="stopping")
        self.stopping.state = "draining"
        self.dead = FakeReplica("en>de", "fr>en", name="dead")
        self.drained = FakeReplica("en>de", name="drained")
        self.failing = FakeReplica("en>de", name="failing")
        self.failing.canary, self.failing.translate.problem = "Hello", (500, "internal")
        self.added = FakeReplica("en>de", name="added")
        self.added.weight = 0.5
        self.gone = FakeReplica("en>de", name="gone")
        self.nobody = f"http://127.0.0.1:{free_port()}"

    @property
    def fakes(self) -> tuple[FakeReplica, ...]:
        named = (self.ready, self.partly, self.starting, self.stopping, self.dead)
        return (*named, self.drained, self.failing, self.added, self.gone)

    @property
    def service(self) -> str:
        return f"http://de:{self.ready.port}"

    def urls(self) -> list[str]:
        listed = (self.partly, self.starting, self.stopping, self.dead, self.drained, self.failing, self.gone)
        return [self.service, "http://fr:8001", self.nobody, *(fake.url for fake in listed)]

    def named(self, text: str) -> str:
        """Return a text with names in the places of ports."""
        text = text.replace(self.nobody, "http://nobody").replace(self.service, "http://de:8001")
        for fake in self.fakes:
            text = text.replace(fake.url, f"http://{fake.name}")
        return text

    def sort(self, lines: list[dict[str, str]], field: str = "url") -> None:
        lines.sort(key=lambda line: self.named(line[field]))

    def sort_issues(self, issues: list[dict[str, Any]]) -> None:
        """Let each pair be an issue, since those lost at one time are one, and sort them."""
        pairs = [each | {"subject": label} for each in issues for label in each["subject"].split(", ")]
        issues[:] = sorted(pairs, key=lambda each: (each["code"], self.named(each["subject"])))


def _idle() -> dict[str, Any]:
    return {"running": 0, "waiting": 0, "limit": 64, "steps": 0, "step_age_s": None, "kv_used": 0.0}


async def resolver(host: str) -> list[str]:
    if host == "fr":
        return []
    return ["127.0.0.1"]


@pytest.fixture
async def shown() -> AsyncGenerator[tuple[Fleet, RunningProxy]]:
    """Yield a fleet in every state, as its proxy sees it."""
    fleet = Fleet()
    async with replicas(*fleet.fakes), proxy(fleet.urls(), resolver=resolver, operator_token=TOKEN) as running:
        for path, body in (
            ("replicas", {"url": fleet.added.url, "weight": 2.0}),
            ("replicas/drain", {"url": fleet.drained.url}),
        ):
            assert (await running.client.post(f"/fleet/{path}", json=body, headers=KEY)).status_code == 200
        await running.sees(fleet.added, "ready")
        await fleet.dead.stop()
        await running.sees(fleet.dead, "down")
        assert (
            await running.client.delete("/fleet/replicas", params={"url": fleet.gone.url}, headers=KEY)
        ).status_code == 200
        await running.client.put("/fleet/expected", json={"de": 3, "fr": 0}, headers=KEY)
        for source, target, status in (("en", "fr", 200), ("en", "fr", 200), ("en", "xx", 404), ("de", "fr", 503)):
            assert (await running.translate("Hello", source, target))[0] == status
        stats = running.context.local_stats.pair_replica_stats(fleet.failing.url, LanguagePair("en", "de"))
        stats.record_failure(stats.breaker.acquire(), "timed out", at_once=True)
        pair_stats = running.context.local_stats.pairs[LanguagePair("en", "de")]
        pair_stats.update_outlier(fleet.failing.url, stats)
        pair_stats.suspects[fleet.failing.url] = stats  # canaries go on, so that it fails whenever one looks
        await running.sweeps()
        registry, local_stats = running.context.fleet.registry, running.context.local_stats
        # A report may count this proxy's last request, which is no other's load.
        await wait_until(lambda: local_stats.load(fleet.ready.url, registry.snapshot) == fleet.ready.foreign_load, 10)
        yield fleet, running


def plain(value: Any) -> Any:
    """Return what stays the same from run to run."""
    match value:
        case dict():
            members = cast("dict[str, Any]", value)
            return {name: _without_times(name, each) for name, each in members.items()}
        case list():
            return [plain(each) for each in cast("list[Any]", value)]
        case _:
            return value


def _without_times(name: str, value: Any) -> Any:
    if name in {"reported_at", "since", "started_at", "after_s"}:
        return f"<{name}, if there is one>"
    if name in TIMES | OTHERS and value is not None:
        return f"<{name}>"
    if name == "breaker" and value not in {None, "closed"}:
        return "<open>"  # a trial may be due
    if name in {"requests", "failed", "outcomes", "classes", "p50_s", "p95_s"}:
        return f"<{name}>"
    return plain(value)


def check(name: str, found: str) -> None:
    path = FOLDER / name
    is_new = not path.exists()
    if is_new:
        path.write_text(found)
    assert not is_new, f"{path} was missing; it is written now"
    assert found == path.read_text()


def as_text(fleet: Fleet, running: RunningProxy, found: Any) -> str:
    text = fleet.named(json.dumps(plain(found), indent=1) + "\n")
    text = text.replace(running.context.status.monitor.summary().name, "this-proxy")
    return re.sub(r"the breaker of en-de is [a-z-]+", "the breaker of en-de is <open>", text)


async def test_health_is_as_recorded(shown: tuple[Fleet, RunningProxy]) -> None:
    fleet, running = shown
    response = await running.client.get("/health")
    assert response.status_code == 200
    found = response.json()
    fleet.sort_issues(found["issues"])
    check("health.json", as_text(fleet, running, found))


async def test_fleet_is_as_recorded(shown: tuple[Fleet, RunningProxy]) -> None:
    fleet, running = shown
    found = (await running.client.get("/fleet")).json()
    fleet.sort(found["changes"])
    check("fleet.json", as_text(fleet, running, found))


async def test_status_is_as_recorded(shown: tuple[Fleet, RunningProxy]) -> None:
    fleet, running = shown

    def ordered(found: dict[str, Any]) -> dict[str, Any]:
        fleet.sort_issues(found["issues"])
        fleet.sort(found["replicas"])  # their order has tests of its own
        found["events"] = [each for each in found["events"] if each["kind"] not in TICKED]
        fleet.sort(found["events"], "text")
        return found

    async def knows_of_redis() -> bool:  # which is found out up to a second after the first sweep
        data = (await running.client.get("/status/data")).json()
        return any(event["kind"] == "redis-away" for event in data["events"])

    await wait_until(knows_of_redis, 60, "the loss of Redis among the events")
    data = (await running.client.get("/status/data")).json()
    check("status.json", as_text(fleet, running, ordered(data)))
    async with running.client.stream("GET", "/status/stream") as stream:
        message = await asyncio.wait_for(_first_message(stream), 20)
    assert as_text(fleet, running, ordered(message)) == as_text(fleet, running, data)


async def _first_message(stream: httpx.Response) -> dict[str, Any]:
    async for line in stream.aiter_lines():
        if line.startswith("data: "):
            return json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")


async def test_metrics_are_as_recorded(shown: tuple[Fleet, RunningProxy]) -> None:
    fleet, running = shown

    async def exported() -> str:
        return fleet.named((await running.client.get("/metrics")).text)

    async def has_ended() -> bool:
        return "pairway_proxy_requests_in_flight 0.0" in await exported()

    await wait_until(has_ended, 5)
    kept = [line for line in (await exported()).splitlines() if not OTHER_METRICS.search(line)]
    check("metrics.txt", "\n".join(sorted(map(_without_value, kept))) + "\n")


def _without_value(line: str) -> str:
    if line.startswith("#") or not VOLATILE_METRICS.search(line):
        return line
    return line.rpartition(" ")[0].partition("{python=")[0]
