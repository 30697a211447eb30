"""A refusal before the body was read reaches ordinary clients as an answer, not as a reset connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.apiserver.conftest import JSON, Served, server_fixtures
from tests.support.upload_clients import UPLOADS

TOKEN = "the-token-of-this-fleet"
ANSWERS: Mapping[str, tuple[int, str]] = {
    "": (401, "key-required"),
    "Bearer another-token-than-that": (403, "key-refused"),
    f"Bearer {TOKEN}": (413, "too-large"),
}


lasting, factory, served = server_fixtures(token=TOKEN)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("client", UPLOADS)
async def test_early_refusal_is_an_answer(served: Served, client: str, chunked: bool, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{served.port}/translate"
    for authorization, expected in ANSWERS.items():
        headers = {**JSON, **({"Authorization": authorization} if authorization else {})}
        assert await asyncio.to_thread(UPLOADS[client], url, headers, chunked, tmp_path) == expected
