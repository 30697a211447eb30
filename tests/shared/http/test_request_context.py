"""Request ids, and the one log line of a request."""

from __future__ import annotations

import logging

import httpx
import pytest

from shared.protocol import errors
from tests.shared.http.sample_app import SampleHandlers
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
    lines = [record for record in caplog.records if record.getMessage() == "request"]
    assert len(vars(lines[0])["path"]) == 128
