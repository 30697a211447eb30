"""A refusal before the body was read reaches ordinary clients as an answer, not as a reset connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.proxy.proxies import JSON, RunningProxy, proxy
from tests.support.upload_clients import UPLOADS


@pytest.fixture(scope="module")
async def running() -> AsyncGenerator[RunningProxy]:
    async with proxy(["http://127.0.0.1:1"], ready=False) as one:
        yield one


@pytest.fixture(scope="module")
async def keyed() -> AsyncGenerator[RunningProxy]:
    async with proxy(["http://127.0.0.1:1"], ready=False, keys="on") as one:
        yield one


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("client", UPLOADS)
async def test_too_large_body_is_an_answer(running: RunningProxy, client: str, chunked: bool, tmp_path: Path) -> None:
    url = f"{running.url}/translate"
    assert await asyncio.to_thread(UPLOADS[client], url, JSON, chunked, tmp_path) == (413, "too-large")


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("client", UPLOADS)
async def test_missing_key_is_an_answer(keyed: RunningProxy, client: str, chunked: bool, tmp_path: Path) -> None:
    url = f"{keyed.url}/translate"
    assert await asyncio.to_thread(UPLOADS[client], url, JSON, chunked, tmp_path) == (401, "key-required")
