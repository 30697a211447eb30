"""The app around endpoints: its paths, probes and metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from random import Random
from threading import Event

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from shared.http.app_setup import configure_app
from shared.http.probes import livez_response, metrics_response
from shared.protocol.errors import OverloadedError
from shared.runtime.background import STALE_FLOOR_SECONDS, Loop
from tests.support.clock import HandClock
from tests.support.serving import serving

ORIGIN = "https://page.example"


@pytest.fixture(scope="module")
async def translate_client() -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI()

    async def translate(request: Request) -> Response:
        if "fail" in request.query_params:
            raise OverloadedError("full", retry_after=2)
        return Response("slow" if "route" in request.scope else "fast")

    app.add_api_route("/translate", translate, methods=["POST"])
    configure_app(app, fast_handlers={"/translate": translate})
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
        yield client


async def test_post_translate_takes_the_fast_path(translate_client: httpx.AsyncClient) -> None:
    assert (await translate_client.post("/translate")).text == "fast"


@pytest.mark.parametrize("name", ["Origin", "Sec-Fetch-Site"])
async def test_request_of_a_browser_takes_the_route(translate_client: httpx.AsyncClient, name: str) -> None:
    assert (await translate_client.post("/translate", headers={name: "https://page.example"})).text == "slow"


@pytest.mark.parametrize("headers", [{}, {"Origin": "https://page.example"}])
async def test_errors_are_problems_on_both_paths(translate_client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    response = await translate_client.post("/translate?fail=1", headers={**headers, "X-Request-Id": "id-1"})
    assert (response.status_code, response.json()["code"], response.headers["retry-after"]) == (503, "overloaded", "2")
    assert response.headers["x-request-id"] == response.json()["request_id"] == "id-1"


async def test_other_methods_and_paths_are_passed_on(translate_client: httpx.AsyncClient) -> None:
    assert (await translate_client.get("/translate")).status_code == 405
    assert (await translate_client.post("/nothing")).status_code == 404


async def test_app_without_policy_serves_all_origins_without_cors() -> None:
    app = FastAPI()
    configure_app(app)
    app.add_api_route("/plain", lambda: Response("plain"))
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
        response = await client.get("/plain", headers={"Origin": ORIGIN})
        assert response.status_code == 200
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("root_path", ["", "/mt"])
async def test_openapi_document_is_rendered_once(root_path: str) -> None:
    app = FastAPI(root_path=root_path)
    configure_app(app)
    app.add_api_route("/plain", lambda: Response("plain"))
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
        response = await client.get("/openapi.json")
        document = response.json()
        assert response.headers["content-type"] == "application/json"
        assert list(document["paths"]) == ["/plain"]
        assert document.get("servers") == ([{"url": root_path}] if root_path else None)
        app.openapi_schema = None
        app.add_api_route("/late", lambda: Response("late"))
        assert (await client.get("/openapi.json")).json() == document


async def test_app_without_openapi_document_has_none() -> None:
    app = FastAPI(openapi_url=None)
    configure_app(app)
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
        assert (await client.get("/openapi.json")).status_code == 404


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
