"""A refusal before the body was read reaches ordinary clients as an answer, not as a reset connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from tests.apiserver.conftest import JSON, Served, SettingsFor, serving
from tests.support.scripted_engine import ScriptedFactory
from tests.support.upload_clients import UPLOADS

TOKEN = "the-token-of-this-fleet"
ANSWERS: Mapping[str, tuple[int, str]] = {
    "": (401, "key-required"),
    "Bearer another-token-than-that": (403, "key-refused"),
    f"Bearer {TOKEN}": (413, "too-large"),
}


@pytest.fixture
async def closed(factory: ScriptedFactory, settings_for: SettingsFor) -> AsyncGenerator[Served]:
    async with serving(factory, settings_for(token=TOKEN)) as one:
        yield one


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("client", UPLOADS)
async def test_early_refusal_is_an_answer(closed: Served, client: str, chunked: bool, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed.port}/translate"
    for authorization, expected in ANSWERS.items():
        headers = {**JSON, **({"Authorization": authorization} if authorization else {})}
        assert await asyncio.to_thread(UPLOADS[client], url, headers, chunked, tmp_path) == expected
