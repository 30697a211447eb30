"""Takes the pictures of the pages for the README and docs/page.md; ``make screenshots`` runs it.

The proxy and its answers are real, and so are the translations: the demo models' own, from the README's table, which a fake replica
repeats. The traffic of fifteen minutes is made up, because nobody waits for it.
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx
from typing_extensions import override

from benchmarks.harness.processes import running as processes
from shared.version import VERSION
from tests.pages.install import font_folder
from tests.pages.tabs import Chromium, Tab, chromium
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT, free_port, redis_server

FOLDER: Final = ROOT / "docs/images"
SIZE: Final = {"width": 1120, "height": 580}
STATUS_SIZE: Final = {"width": 1240, "height": 1240}
READY_SECONDS: Final = 30.0
# So that every replica has a latency.
REQUESTS: Final = 10
THEMES: Final = ("light", "dark")
FRENCH: Final = "Pourriez-vous m'apporter un verre d'eau, s'il vous plaît ?"
ENGLISH: Final = "My name is Anna and I live in Rotterdam."
ANSWERS: Final = {
    FRENCH: "Could you please bring me a glass of water?",
    ENGLISH: "Mein Name ist Anna und ich wohne in Rotterdam.",
}
_FONTS: Final = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>{folder}</dir><dir>/usr/share/fonts</dir><cachedir>{cache}</cachedir>
{aliases}</fontconfig>"""
_ALIAS: Final = "<alias binding='same'><family>{name}</family><prefer><family>Inter</family></prefer></alias>"
_ALIASES: Final = "".join(_ALIAS.format(name=name) for name in ("system-ui", "sans-serif", "Arial"))


class DemoReplica(FakeReplica):
    """Answers what the demo models answer."""

    @override
    def _translation(self, asked: dict[str, Any]) -> dict[str, Any]:
        good = super()._translation(asked)
        return good | {"translation": ANSWERS.get(str(asked["text"]), "…")}

    @override
    def _report(self, query: str) -> dict[str, Any]:
        return super()._report(query) | {"version": VERSION}


async def main() -> int:
    """Take all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "fonts.conf"
        config.write_text(_FONTS.format(folder=font_folder(), cache=folder, aliases=_ALIASES))
        async with chromium(FONTCONFIG_FILE=str(config)) as browser:
            await take_translate_page(browser)
            await take_status_page(browser, Path(folder))
    return 0


async def take_translate_page(browser: Chromium) -> None:
    """Take the page / in both themes."""
    fake = DemoReplica("en>de", "de>en", "en>fr", "fr>en")
    async with replicas(fake), proxy([fake]) as running:
        for theme, text, target in zip(THEMES, (FRENCH, ENGLISH), ("en", "de"), strict=True):
            async with browser.person(color_scheme=theme, viewport=SIZE) as tab:
                await tab.open(f"{running.url}/")
                await tab.until('document.querySelectorAll("#target-language option").length > 0')
                await tab.choose("#target-language", target)
                await tab.type("#source-text", text)
                await tab.sees("#translation", ANSWERS[text])
                await tab.sees("#detected")
                await take(tab, f"translate-{theme}")


async def take_status_page(browser: Chromium, folder: Path) -> None:
    """Take the page /status in both themes: a replica is dead, and another one starts."""
    port = free_port()
    redis = redis_server(port, folder)
    redis_url = f"redis://127.0.0.1:{port}/0"
    german = [DemoReplica("en>de", "de>en", name=f"de-{number}") for number in range(3)]
    french = [DemoReplica("en>fr", "fr>en", name=f"fr-{number}") for number in range(2)]
    fakes = (*german, *french)
    async with (
        processes([redis], lambda: listens(port), READY_SECONDS),
        replicas(*fakes),
        proxy(fakes, redis_url) as running,
    ):
        for fake in fakes:
            await running.sees(fake, "ready")
            fake.translate.delay = 0.1
        for number in range(REQUESTS):
            for target in ("de", "fr"):
                await running.translate(f"Text {number}", target=target)
        await german[1].stop()
        await running.sees(german[1], "down")
        french[1].state = "starting"
        french[1].pairs = dict.fromkeys(french[1].pairs, False)
        await running.sees(french[1], "starting")
        for theme in THEMES:
            async with browser.person(color_scheme=theme, viewport=STATUS_SIZE) as tab:
                await answer_with_traffic(tab, running)
                await tab.open(f"{running.url}/status")
                await tab.sees("#chart-requests canvas")
                await tab.sees(".issues", "is down")
                await take(tab, f"status-{theme}")


def listens(port: int) -> bool:
    """Say whether a server has the port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def answer_with_traffic(tab: Tab, running: RunningProxy) -> None:
    """Answer the page's stream with the proxy's status, and with traffic that never was."""
    async with httpx.AsyncClient(trust_env=False) as client:
        text = (await client.get(f"{running.url}/status/data")).text
    status: dict[str, Any] = json.loads(text.replace(socket.gethostname(), "proxy-1"))
    status["traffic"] |= sample_traffic(status["traffic"])
    await tab.stream("**/status/stream", f"event: status\ndata: {json.dumps(status)}\n\n")


def sample_traffic(real: dict[str, Any]) -> dict[str, Any]:
    """Return figures with a peak and a few refusals, of as many slots as the real ones."""
    slots = len(real["p50_s"])
    chance = Random(17)  # noqa: S311 - no secret
    busy = [180 + 60 * math.sin(slot / 14) + chance.gauss(0, 9) for slot in range(slots)]
    peak = [max(0.0, 1 - abs(slot - 0.72 * slots) / (0.06 * slots)) for slot in range(slots)]
    refused = [round(90 * each) for each in peak]
    zeros = [0] * slots
    return {
        "requests": real["requests"]
        | {"ok": [round(each) for each in busy], "refused": refused, "failed": zeros, "client": zeros},
        "outcomes": {"overloaded": refused, "rate-limited": [round(20 * each) for each in peak]},
        "classes": {"overloaded": "refused", "rate-limited": "refused"},
        "p50_s": [0.11 + 0.1 * each + chance.gauss(0, 0.006) for each in peak],
        "p95_s": [0.34 + 0.6 * each + chance.gauss(0, 0.02) for each in peak],
    }


async def take(tab: Tab, name: str) -> None:
    """Write the picture of the tab."""
    path = FOLDER / f"{name}.png"
    await tab.run("document.activeElement.blur()")
    await tab.page.screenshot(path=path)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
