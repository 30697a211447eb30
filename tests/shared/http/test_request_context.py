"""Request ids, security headers, and the one log line of a request."""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from starlette.types import Receive, Scope, Send

from shared.http.app_setup import configure_app
from shared.http.request_context import REQUEST_SECONDS, SECURITY_HEADERS, RequestContext, request_header
from shared.protocol import errors
from shared.runtime.turns import TURN_SECONDS
from tests.shared.http.sample_app import SampleHandlers
from tests.support.serving import serving
from tests.support.waiting import wait_until


async def test_polled_paths_are_logged_only_at_500(
    client: httpx.AsyncClient, handlers: SampleHandlers, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        handlers.error = errors.OverloadedError("x")
        await client.get("/health")
        assert [record for record in caplog.records if record.getMessage() == "request"] == []
        handlers.error = RuntimeError()
        await client.get("/health")
        await wait_until(lambda: [record for record in caplog.records if record.getMessage() == "request"], 3)


async def test_missing_request_ids_are_generated(client: httpx.AsyncClient) -> None:
    ids = {(await client.get("/nothing")).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


async def test_long_path_is_cut_in_the_log(client: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        await client.get("/" + "x" * 5000)
        lines = await wait_until(lambda: [each for each in caplog.records if each.getMessage() == "request"], 3)
    assert len(vars(lines[0])["path"]) == 128


async def test_first_header_of_a_name_counts_and_lists_are_joined() -> None:
    app = FastAPI()

    async def show(request: Request) -> dict[str, str | None]:
        return {name: request_header(request, name) for name in ("X-Timeout-Ms", "Accept", "Content-Encoding", "X-No")}

    app.add_api_route("/show", show)
    configure_app(app)
    lines = [("X-TIMEOUT-MS", "5"), ("x-timeout-ms", "7"), ("Accept", "text/html"), ("accept", "a/b;q=0.5")]
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as one:
        shown = (await one.get("/show", headers=[*lines, ("Content-Encoding", "identity")])).json()
    assert shown == {
        "X-Timeout-Ms": "5",
        "Accept": "text/html, a/b;q=0.5",
        "Content-Encoding": "identity",
        "X-No": None,
    }


async def test_every_response_has_one_policy(client: httpx.AsyncClient) -> None:
    policy = dict(SECURITY_HEADERS)[b"content-security-policy"].decode()
    for path in ("/docs", "/openapi.json", "/nowhere", "/fail"):
        answer = await client.get(path)
        assert answer.headers.get_list("content-security-policy") == [policy], path
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"], path


async def test_requests_at_once_begin_in_several_turns() -> None:
    begun = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal begun
        del scope, receive, send
        begun += 1

    async def unused(*_: Any) -> Any:
        """Neither receive nor send."""

    serve = RequestContext(app, {})
    scopes: list[Scope] = [{"type": "http", "method": "GET", "path": "/", "headers": []} for _ in range(64)]
    requests = [asyncio.create_task(serve(scope, unused, unused)) for scope in scopes]
    counts = [0]
    while begun < len(requests):
        await asyncio.sleep(0)
        counts.append(begun)
    await asyncio.gather(*requests)
    # What looks and what begins take turns, so between two looks at most two turns began.
    assert max(later - one for one, later in itertools.pairwise(counts)) <= 2 * TURN_SECONDS / REQUEST_SECONDS
    assert len(set(counts)) > 2
