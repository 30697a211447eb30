"""An answer that takes longer than DeepL's own clients wait: they ask again, and each text is translated once."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Final

import pytest

from tests.clients.conftest import ClientFleet
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

# The one for Python waits 10 s for an answer, the one for Node.js 5 s.
SLOW_SECONDS: Final = 12.0
WITHIN: Final = 120.0
TEXTS: Final = ("My grandmother bought 47 apples.", "My grandfather sold 58 apples.")
# A proxy's own canaries, which it sends while the engine stands still, have ids that say so.
_RECEIVED: Final = re.compile(r"request method=POST path=/translate (?!.*request_id=canary-)")


def received(fleet: ClientFleet) -> int:
    """Return how many translations the API server was asked for, those that were cancelled included."""
    return len(_RECEIVED.findall(fleet.api_server.log.read_text()))


async def test_slow_texts_are_translated_once(fleet: ClientFleet) -> None:
    """The engines stand still for 12 s; by then both clients have given up at least once, and asked again."""
    before = received(fleet)
    engines = fleet.engines()
    assert engines
    for engine in engines:
        engine.suspend()
    asked = fleet.folder / "asked"
    asked.touch()
    began = time.monotonic()
    try:
        scripts = zip(("deepl_slow_client.py", "deepl_slow_client.mjs"), TEXTS, strict=True)
        runs = [fleet.run(script, text=text, asked=str(asked)) for script, text in scripts]
        programs = asyncio.gather(*runs)

        def asked_again() -> bool:
            late = time.monotonic() - began > SLOW_SECONDS
            return programs.done() or (late and len(asked.read_text().splitlines()) > 1)

        await wait_until(asked_again, WITHIN, "12 s have passed, and the client asked again", pause=0.1)
    finally:
        for engine in engines:
            engine.resume()
    python, node = [outcomes.value("slow") for outcomes in await programs]
    assert "47" in python
    assert "58" in node
    assert len(asked.read_text().splitlines()) > 1
    # Later: a second translation of either may still be under way.
    await fleet.http.post(
        "/translate",
        json={"text": "It is cold.", "source_lang": "en", "target_lang": "de"},
        headers={"Authorization": f"Bearer {fleet.keys['good']}"},
    )
    # The line is written when the answer is out already.
    await wait_until(lambda: received(fleet) - before >= 3, WITHIN, "all are in the log")
    assert received(fleet) - before == 3, "both slow texts and the one after them, once each"
