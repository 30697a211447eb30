"""Clients that cannot be installed: their requests, byte for byte, and what each needs of the answers."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from tests.clients.conftest import ClientFleet
from tests.clients.replays import browsers, mastodon, platforms, subtitle_edit, weblate, zotero
from tests.clients.replays.exchange import Exchange, mismatch, send

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

TABLES: dict[str, tuple[Exchange, ...]] = {
    "Mastodon": mastodon.MASTODON,
    "Weblate, LibreTranslate": weblate.WEBLATE_LIBRETRANSLATE,
    "Weblate 2026.10, DeepL": weblate.WEBLATE_DEEPL_2026,
    "Weblate 5.14, DeepL": weblate.WEBLATE_DEEPL_5,
    "Zotero PDF Translate": zotero.ZOTERO,
    "Subtitle Edit": subtitle_edit.SUBTITLE_EDIT,
    "Immersive": browsers.IMMERSIVE,
    "Kiss": browsers.KISS,
    "TWP": browsers.TWP,
    "Discourse": platforms.DISCOURSE,
    "Nextcloud": platforms.NEXTCLOUD,
    "wagtail-localize": platforms.WAGTAIL,
    "TranslateYou": platforms.TRANSLATE_YOU,
    "Open WebUI": platforms.OPEN_WEBUI,
    "Pot": platforms.POT,
}


@pytest.mark.parametrize("client", TABLES)
async def test_client_gets_what_it_needs(fleet: ClientFleet, client: str) -> None:
    names = {name.upper().replace("-", "_").replace(" ", "_"): key for name, key in fleet.keys.items()}
    wrong: list[str] = []
    for exchange in TABLES[client]:
        url = fleet.open_url if exchange.open else fleet.url
        answer = await send(urlsplit(url).port or 0, exchange, names)
        if answer.status != exchange.status:
            wrong.append(f"{exchange.about}: status {answer.status}, not {exchange.status}: {answer.text[:500]}")
        elif exchange.needs is not None and (differs := mismatch(exchange.needs, answer.content)):
            wrong.append(f"{exchange.about}: {differs}")
        else:
            names |= {name: answer.content[member] for name, member in exchange.keeps.items()}
    assert not wrong, "\n".join(wrong)


async def test_languages_of_clients_have_codes_and_targets(fleet: ClientFleet) -> None:
    """Mastodon and Weblate read them; one item without targets breaks Mastodon for a week."""
    listed = (await fleet.http.get("/libretranslate/languages")).json()
    assert {each["code"] for each in listed} >= {"en", "de", "fr"}
    for each in listed:
        assert set(each) >= {"code", "name", "targets"}
        assert {"en", "de", "fr"} - {each["code"]} <= set(each["targets"])
