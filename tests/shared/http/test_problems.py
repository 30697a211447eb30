"""Problems, and the request that they name."""

from __future__ import annotations

import logging

import httpx
import pytest
from fastapi import Response
from starlette.exceptions import HTTPException

from shared.http.problems import JsonBytesResponse
from shared.protocol import errors
from shared.runtime.logging import request_id
from tests.shared.http.sample_app import SampleHandlers
from tests.shared.protocol.error_samples import every_error
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
