"""libretranslate-aio 0.1.3, both of its clients: form bodies, a list as repeated q, typed errors."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

from libretranslate_aio import AsyncLibreTranslate, LibreTranslate
from observe import configuration, observe, until_refused

given = configuration()
url = given["url"] + "/libretranslate"
good = LibreTranslate(url, api_key=given["good"])
TEXTS = ["Where is the station?", "I have 12 books.", "It is cold."]


async def at_once() -> list[Any]:
    async with AsyncLibreTranslate(url, api_key=given["good"]) as client:
        found = await asyncio.gather(*(client.translate(text, "en", "de") for text in TEXTS))
    return [each.translated_text for each in found]


def keyed(key: str) -> Any:
    return lambda: LibreTranslate(url, api_key=key).translate(TEXTS[0], "en", "de").translated_text


observe(
    {
        "translate": lambda: asdict(good.translate(TEXTS[0], "en", "de")),
        "auto": lambda: asdict(good.translate("Wo ist der Bahnhof?", "auto", "en")),
        "list": lambda: asdict(good.translate(TEXTS, "en", "de")),
        "list auto": lambda: asdict(good.translate(["Wo ist der Bahnhof?", "Où est la gare ?"], "auto", "en")),
        "html": lambda: asdict(good.translate("<p>Where is the <b>station</b>?</p>", "en", "de", format="html")),
        "alternatives": lambda: asdict(good.translate(TEXTS[0], "en", "de", alternatives=3)),
        "asynchronous": lambda: asyncio.run(at_once()),
        "detect": lambda: [asdict(each) for each in good.detect("Wo ist der Bahnhof?")],
        "languages": lambda: [asdict(each) for each in good.languages()],
        "settings": lambda: asdict(good.frontend_settings()),
        "health": good.health,
        "suggest": lambda: good.suggest("Hello", "Hallo", "en", "de"),
        "file": lambda: good.translate_file(Path(__file__), "en", "de").translated_file_url,
        "no key": keyed(""),
        "wrong key": keyed("nonsense"),
        "revoked key": keyed(given["revoked"]),
        "rate": until_refused(keyed(given["rate"])),
        "quota": until_refused(keyed(given["quota"])),
        "no such target": lambda: good.translate(TEXTS[0], "en", "zz"),
        "no such format": lambda: good.translate(TEXTS[0], "en", "de", format="xml"),
        "too many alternatives": lambda: good.translate(TEXTS[0], "en", "de", alternatives=4),
        "no text": lambda: good.translate("", "en", "de"),
        "other pair": lambda: LibreTranslate(url, api_key=given["en-de only"]).translate(TEXTS[0], "en", "fr"),
    }
)
