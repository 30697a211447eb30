"""The reader of a proxy's health: what is ready, what is served alone, and the monitor of a launch."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from deploy import readiness
from deploy.readiness import ReadinessMonitor
from proxy.fleet.replica import DRAINED
from tests.support.waiting import wait_until

ONE, OTHER = "a" * 12, "b" * 12


def line(host_name: str, *ready: str, state: str = "ready", waiting: tuple[str, ...] = ()) -> dict[str, Any]:
    pairs = {pair: {"ready": pair in ready, "why": None} for pair in (*ready, *waiting)}
    return {"url": f"http://{host_name}", "replica_id": f"{host_name}-01", "state": state, "why": None, "pairs": pairs}


def test_ready_is_ready_with_all_pairs() -> None:
    assert readiness.why_not_ready(line(ONE, "en-de")) is None
    stopping = line(ONE, "en-de", state="draining") | {"why": "the server is stopping"}
    assert readiness.why_not_ready(stopping) == "draining: the server is stopping"
    assert readiness.why_not_ready(line(ONE, "en-de", waiting=("de-en",))) == "de-en: None"


def test_drained_server_is_as_its_operator_wants_it() -> None:
    drained = line(ONE, waiting=("en-de",), state="draining") | {"why": DRAINED}
    assert readiness.why_not_ready(drained) is None
    assert readiness.ready_pairs({"replicas": [drained]}) == frozenset()


def test_pairs_served_alone_are_those_no_other_is_ready_for() -> None:
    replicas = [
        line(ONE, "en-de", "de-en", "en-fr", waiting=("fr-en",)),
        line(OTHER, "en-de", waiting=("de-en",)),
        line("c" * 12, "en-fr", state="draining"),
    ]
    assert readiness.pairs_served_alone({"replicas": replicas}, ONE) == ["de-en", "en-fr"]
    assert readiness.pairs_served_alone({"replicas": replicas}, OTHER) == []
    assert readiness.pairs_served_alone({"replicas": replicas}, "d" * 12) == []


async def test_monitor_returns_the_pairs_and_says_each_change_once() -> None:
    health: dict[str, Any] = {}
    lines: list[tuple[str, str]] = []

    async def read_health() -> dict[str, Any] | None:
        return health or None

    monitor = ReadinessMonitor({"a": f"http://{ONE}"}, read_health, lambda name, words: lines.append((name, words)))
    waiting = asyncio.create_task(monitor.wait())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * readiness.POLL_SECONDS):
            await asyncio.shield(waiting)
    assert monitor.missing == {"proxy": "does not answer yet", "a": "does not answer yet"}
    health["replicas"] = [line(ONE, state="down") | {"replica_id": None}]
    await wait_until(lambda: monitor.missing == {"a": "does not answer yet"}, 10)
    health["replicas"] = [line(ONE, waiting=("en-de",))]
    await wait_until(lambda: monitor.missing == {"a": "en-de: None"}, 10)
    health["replicas"] = [line(ONE, "en-de")]
    async with asyncio.timeout(10):
        assert await waiting == ["en-de"]
    assert lines == [("proxy", "answers"), ("a", "not ready: en-de: None"), ("a", "ready: en-de")]
