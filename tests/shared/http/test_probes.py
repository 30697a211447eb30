"""Responses of /livez and /metrics."""

from __future__ import annotations

import json
from random import Random

from prometheus_client import CollectorRegistry, Counter

from shared.http.probes import livez_response, metrics_response
from shared.runtime.background import STALE_FLOOR_SECONDS, Loop


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def _tick() -> None:
    pass


def test_livez_names_the_stale_loops() -> None:
    clock, other = _Clock(), _Clock()
    rng = Random(1)  # noqa: S311 - jitter, no secret
    loops = [Loop("probe", 1.0, _tick, clock, rng), Loop("flush", 1.0, _tick, other, rng)]
    assert livez_response(loops).status_code == 200
    clock.now = STALE_FLOOR_SECONDS + 1
    response = livez_response(loops)
    assert response.status_code == 503
    assert json.loads(bytes(response.body)) == {"alive": False, "stale_loops": ["probe"]}


def test_metrics_response_is_the_text_format() -> None:
    registry = CollectorRegistry()
    Counter("requests", "Requests.", registry=registry).inc()
    response = metrics_response(registry)
    assert b"requests_total 1.0" in bytes(response.body)
    assert response.headers["content-type"].startswith("text/plain; version=")
