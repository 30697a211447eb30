"""An answer that takes longer than DeepL's own client waits: it asks again, and the text is translated once."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Final

import pytest

from tests.clients.conftest import ClientFleet
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

# The client waits 10 s for an answer.
SLOW_SECONDS: Final = 12.0
WITHIN: Final = 120.0
TEXT: Final = "My grandmother bought 47 apples."
_SERVED: Final = re.compile(r'^pairway_apiserver_requests_total\{[^}]*pair="en-de"[^}]*\} ([0-9.]+)$', re.MULTILINE)
_SEGMENTS: Final = re.compile(r'^pairway_apiserver_segments_total\{[^}]*pair="en-de"[^}]*\} ([0-9.]+)$', re.MULTILINE)


async def counted(fleet: ClientFleet, pattern: re.Pattern[str]) -> float:
    """Return what the API server counted for en-de."""
    metrics = (await fleet.http.get(f"{fleet.api_server_url}/metrics")).text
    return sum(map(float, pattern.findall(metrics)))


async def test_slow_text_is_translated_once(fleet: ClientFleet) -> None:
    """The engine stands still for 12 s, which is when the client has given up once and asked again."""
    served, segments = await counted(fleet, _SERVED), await counted(fleet, _SEGMENTS)
    engines = fleet.engines()
    assert engines
    for engine in engines:
        engine.suspend()
    began = time.monotonic()
    try:
        program = asyncio.create_task(fleet.run("deepl_slow_client.py", text=TEXT))
        await wait_until(
            lambda: time.monotonic() - began > SLOW_SECONDS or program.done(), WITHIN, "12 s have passed", pause=0.1
        )
    finally:
        for engine in engines:
            engine.resume()
    found = (await program).value("slow")
    assert "47" in found["text"]
    assert found["asked"] == 2
    # Later: a second translation of it may still be under way.
    await fleet.http.post(
        "/translate",
        json={"text": "It is cold.", "source_lang": "en", "target_lang": "de"},
        headers={"Authorization": f"Bearer {fleet.keys['good']}"},
    )
    assert await counted(fleet, _SEGMENTS) - segments == 2, "the slow text and the one after it, once each"
    assert await counted(fleet, _SERVED) - served == 2
