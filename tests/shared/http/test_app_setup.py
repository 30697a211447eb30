"""The app around endpoints: its paths, probes and metrics."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest
from fastapi import FastAPI, Request, Response

from shared.http.app_setup import configure_app
from shared.protocol.errors import OverloadedError
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
