"""An API server with a token answers only proxies that have it; probes need none."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest

from tests.apiserver.conftest import Served, SettingsFor, serving
from tests.support.scripted_engine import ScriptedFactory

TOKEN = "a-token-that-is-long-enough"
KEY = {"Authorization": f"Bearer {TOKEN}"}
CALLS = [("POST", "/translate"), ("GET", "/report"), ("GET", "/metrics")]


@pytest.fixture
async def closed(settings_for: SettingsFor) -> AsyncGenerator[Served]:
    async with serving(ScriptedFactory(), settings_for(token=TOKEN)) as running:
        yield running


async def asked(served: Served, method: str, path: str, headers: dict[str, str]) -> httpx.Response:
    body = b'{"text": "Hello", "source_lang": "en", "target_lang": "de"}' if method == "POST" else None
    return await served.client.request(method, path, content=body, headers=headers)


@pytest.mark.parametrize(
    ("shown", "status", "code"),
    [
        (None, 401, "key-required"),
        ("", 401, "key-required"),
        (TOKEN, 401, "key-required"),
        (f"Basic {TOKEN}", 401, "key-required"),
        ("Bearer", 401, "key-required"),
        (f"Bearer {TOKEN}x", 403, "key-refused"),
        (f"Bearer {TOKEN[:-1]}", 403, "key-refused"),
        ("Bearer é", 403, "key-refused"),
    ],
)
async def test_request_without_the_token_is_refused(closed: Served, shown: str | None, status: int, code: str) -> None:
    for method, path in CALLS:
        headers = [] if shown is None else [(b"Authorization", shown.encode("latin-1"))]
        answer = await closed.client.request(method, path, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert TOKEN not in answer.text
        assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_request_with_the_token_is_answered(closed: Served) -> None:
    closed.client.headers.update(KEY)
    await closed.until_ready()
    for method, path in CALLS:
        assert (await asked(closed, method, path, KEY)).status_code == 200
        assert (await asked(closed, method, path, {"Authorization": f"bearer  {TOKEN}"})).status_code == 200


async def test_previous_token_is_accepted_beside_the_new_one(settings_for: SettingsFor) -> None:
    new = "the-token-that-replaces-it"
    async with serving(ScriptedFactory(), settings_for(token=new, token_previous=TOKEN)) as running:
        for token, status in ((TOKEN, 200), (new, 200), (f"{TOKEN}x", 403), ("x", 403)):
            assert (await asked(running, "GET", "/report", {"Authorization": f"Bearer {token}"})).status_code == status


async def test_server_without_a_token_ignores_one(settings_for: SettingsFor) -> None:
    async with serving(ScriptedFactory(), settings_for()) as running:
        assert (await asked(running, "GET", "/report", KEY)).status_code == 200


async def test_probes_need_no_token(closed: Served) -> None:
    assert (await closed.client.get("/livez")).status_code == 200
    assert (await closed.client.get("/readyz")).status_code in {200, 503}
