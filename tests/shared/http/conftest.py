"""Fixtures of the HTTP helpers' tests: the sample app on a real socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.shared.http.sample_app import SampleHandlers, create_sample_app
from tests.support.serving import Serving, serving


@pytest.fixture(scope="module")
def handlers() -> SampleHandlers:
    return SampleHandlers()


@pytest.fixture(scope="module")
async def served(handlers: SampleHandlers) -> AsyncGenerator[Serving]:
    async with serving(create_sample_app(handlers)) as server:
        yield server


@pytest.fixture(scope="module")
async def client(served: Serving) -> AsyncGenerator[httpx.AsyncClient]:
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=served.url, trust_env=False, timeout=10, headers=headers) as one:
        yield one


@pytest.fixture(autouse=True)
def reset_handlers(handlers: SampleHandlers) -> None:
    handlers.work_started.clear()
    handlers.work_ended.clear()
