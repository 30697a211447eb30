"""Responses of /livez and /metrics."""

from __future__ import annotations

import asyncio
import json
from random import Random
from threading import Event

from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from shared.http.probes import livez_response, metrics_response
from shared.runtime.background import STALE_FLOOR_SECONDS, Loop
from tests.support.clock import HandClock


async def _tick() -> None:
    pass


def test_livez_names_the_stale_loops() -> None:
    clock, other = HandClock(0.0), HandClock(0.0)
    rng = Random(1)  # noqa: S311 - jitter, no secret
    loops = [Loop("probe", 1.0, _tick, clock, rng), Loop("flush", 1.0, _tick, other, rng)]
    assert livez_response(loops).status_code == 200
    clock.now = STALE_FLOOR_SECONDS + 1
    response = livez_response(loops)
    assert response.status_code == 503
    assert json.loads(bytes(response.body)) == {"alive": False, "stale_loops": ["probe"]}


async def test_metrics_response_is_the_text_format() -> None:
    registry = CollectorRegistry()
    Counter("requests", "Requests.", registry=registry).inc()
    response = await metrics_response(registry)
    assert b"requests_total 1.0" in bytes(response.body)
    assert response.headers["content-type"].startswith("text/plain; version=")


class _WaitingCollector(Collector):
    """Has its metrics when another thread says so."""

    def __init__(self) -> None:
        self.collecting, self.go_on = Event(), Event()

    @override
    def collect(self) -> list[Metric]:
        self.collecting.set()
        assert self.go_on.wait(60)
        return []


async def test_metrics_of_many_series_let_the_event_loop_run() -> None:
    collector = _WaitingCollector()
    scrape = asyncio.create_task(metrics_response(collector))
    await asyncio.to_thread(collector.collecting.wait, 60)
    collector.go_on.set()  # by the loop, which a rendering on it would have stopped
    assert (await scrape).status_code == 200
