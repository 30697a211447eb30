"""Problems, and the request that they name."""

from __future__ import annotations

import logging

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException

from shared.http.app_setup import configure_app
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import SECURITY_HEADERS, request_header
from shared.protocol import errors
from shared.runtime.logging import request_id
from tests.shared.http.sample_app import SampleHandlers
from tests.shared.protocol.error_samples import every_error
from tests.support.serving import serving
from tests.support.waiting import wait_until


@pytest.mark.parametrize("error", every_error(), ids=lambda error: type(error).__name__)
async def test_every_error_is_rendered_as_a_problem(
    client: httpx.AsyncClient, handlers: SampleHandlers, error: errors.PairwayError
) -> None:
    handlers.error = error
    response = await client.get("/fail", headers={"X-Request-Id": "id-1"})
    problem = response.json()
    assert response.status_code == problem["status"] == error.http_status
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:pairway:{error.code}"
    assert (problem["code"], problem["title"], problem["detail"]) == (error.code, error.title, error.detail)
    assert problem["request_id"] == response.headers["x-request-id"] == "id-1"
    assert all(problem[name] == value for name, value in error.facts.items())


@pytest.mark.parametrize(("seconds", "header"), [(0.0, "1"), (0.2, "1"), (1.0, "1"), (1.2, "2"), (30.0, "30")])
async def test_retry_after_is_whole_seconds_and_at_least_one(
    client: httpx.AsyncClient, handlers: SampleHandlers, seconds: float, header: str
) -> None:
    handlers.error = errors.OverloadedError("x", retry_after=seconds)
    assert (await client.get("/fail")).headers["retry-after"] == header


async def test_internal_error_hides_details_and_logs_the_id(
    client: httpx.AsyncClient, handlers: SampleHandlers
) -> None:
    seen: list[str | None] = []

    class Note(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if record.exc_info:
                seen.append(request_id.get())
            return True

    note = Note()
    logging.getLogger("uvicorn.error").addFilter(note)
    try:
        handlers.error = RuntimeError("the secret inside")
        response = await client.get("/fail", headers={"X-Request-Id": "id-2"})
        await wait_until(lambda: seen, 3, "the traceback")
    finally:
        logging.getLogger("uvicorn.error").removeFilter(note)
    assert (response.status_code, response.json()["code"]) == (500, "internal")
    assert "secret" not in response.text
    assert response.headers["x-request-id"] == response.json()["request_id"] == "id-2"
    assert seen == ["id-2"]


async def test_foreign_http_exception_is_an_internal_problem(
    client: httpx.AsyncClient, handlers: SampleHandlers
) -> None:
    handlers.error = HTTPException(418, "teapot")
    response = await client.get("/fail")
    assert (response.status_code, response.json()["code"]) == (500, "internal")


def test_json_bytes_response_is_as_starlettes() -> None:
    ours, theirs = JsonBytesResponse(b'{"a": 1}'), Response(b'{"a": 1}', media_type="application/json")
    assert vars(ours).keys() == vars(theirs).keys() - {"media_type"}, "the class has that"
    assert (ours.status_code, ours.body, ours.raw_headers) == (200, theirs.body, theirs.raw_headers)


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
    lines = [record for record in caplog.records if record.getMessage() == "request"]
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
