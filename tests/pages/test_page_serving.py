"""How both pages are served: below a prefix, turned off, in every language, and without findings of axe-core."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.conftest import NO_AUTHORITIES, RedisServer
from tests.pages.tabs import Chromium, Tab
from tests.pages.test_translate_page import OUTPUT, TEXT, begin
from tests.proxy.integration.keyed_proxies import guarded_fleet
from tests.proxy.proxies import fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import ROOT

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

LANGUAGES: Final = ("en", "de", "fr", "es", "ja", "zh", "ko")
PAGES: Final = {"translate": "/", "status": "/status"}
NARROW: Final = {"width": 320, "height": 640}
# A text that is missing is shown as its name, such as `key.title`.
NAME: Final = re.compile(r"(?:^|\s)[a-z]+(?:\.[a-z_-]+)+(?:\s|$)")


def strings(page: str, language: str) -> dict[str, str]:
    """Return a page's texts in a language."""
    path: Path = ROOT / "web" / page / "strings" / f"{language}.json"
    return json.loads(path.read_text())


async def test_pages_work_below_a_prefix(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en", root_path="/mt") as (running, _):
        await begin(tab, f"{running.url}/mt")
        await tab.type(TEXT, "Hello")
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.open(f"{running.url}/mt/status")
        await tab.sees("#connection.live")
        assert [url for _, url in tab.requests if not url.startswith(f"{running.url}/mt/")] == []


async def test_pages_can_be_turned_off() -> None:
    fake = FakeReplica("en>de")
    async with (
        replicas(fake),
        proxy([fake], pages="off") as running,
        httpx.AsyncClient(base_url=running.url, verify=NO_AUTHORITIES, trust_env=False) as client,
    ):
        assert [(await client.get(path)).status_code for path in (*PAGES.values(), "/assets/x/translate/page.js")] == [
            404
        ] * 3
        assert (await client.get("/health")).status_code == 200


@pytest.mark.parametrize("page", PAGES)
async def test_interface_is_in_seven_languages(tab: Tab, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.open(running.url + PAGES[page])
        for language in LANGUAGES:
            await tab.choose("#interface-language", language)
            await tab.until(f'document.documentElement.lang == "{language}"')
            texts = strings(page, language)
            await tab.until(f"document.title.includes({json.dumps(texts['page.title'])})")
            shown = await tab.text("body")
            assert texts["footer"].partition("·")[2].strip() in shown
            assert not NAME.search(shown.replace("127.0.0.1", "")), NAME.search(shown)
        await tab.reload()
        await tab.until(f'document.documentElement.lang == "{LANGUAGES[-1]}"')


@pytest.mark.parametrize("page", PAGES)
async def test_browsers_language_is_the_first_choice(browser: Chromium, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(locale="ja-JP") as tab:
        await tab.open(running.url + PAGES[page])
        await tab.until('document.documentElement.lang == "ja"')
        await tab.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_on_the_translate_page(browser: Chromium, theme: str) -> None:
    async with (
        fleet_of("en>de", "de>en", "de>fr", "en>ar") as (running, fake),
        browser.person(color_scheme=theme) as tab,
    ):
        await begin(tab, running.url, "auto", "en")
        assert await tab.axe() == []
        await tab.type(TEXT, "Guten Morgen, mein lieber Freund")
        await tab.sees("#detected", "German")
        await tab.click("#terms-button")
        await tab.click("#terms-panel button:has-text('Add a term')")
        assert await tab.axe() == []
        await tab.click("#history-button")
        await tab.click("#keep-history")
        assert await tab.axe() == []
        await tab.click('label:has(input[name="format"][value="html"])')
        await tab.sees("#translation-preview")
        assert await tab.axe() == []
        await tab.click("#preview")
        await fake.stop()
        await running.sees(fake, "down", 60)
        await tab.type(TEXT, ", wie geht es dir?")
        await tab.sees("#failure")
        assert await tab.axe() == []
        await tab.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_on_the_key_dialog(browser: Chromium, redis: RedisServer, theme: str) -> None:
    async with guarded_fleet(redis.url, "en>de", "de>en") as (running, _), browser.person(color_scheme=theme) as tab:
        await begin(tab, running.url)
        await tab.sees("#key-dialog")
        assert await tab.axe() == []
        await tab.fill("#key", "wrong")
        await tab.click("#use-key")
        await tab.sees("#key-dialog", "The server did not accept this key")
        assert await tab.axe() == []
        await tab.check()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_on_the_status_page(browser: Chromium, theme: str) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", "en>fr", name="two")
    async with (
        replicas(one, two),
        proxy([one, two], operator_token="an-operator-token-of-tests") as running,
        browser.person(color_scheme=theme) as tab,
    ):
        for _ in range(3):
            await running.translate("Hello")
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection.live")
        assert await tab.axe() == []
        await one.stop()
        await running.sees(one, "down", 60)
        await tab.sees(".issues", "is down")
        await tab.click(".opener")
        await tab.sees(".details")
        assert await tab.axe() == []
        await tab.click(".details .drain")
        await tab.sees("#token-dialog")
        assert await tab.axe() == []
        await tab.check()


@pytest.mark.parametrize("page", PAGES)
async def test_narrow_screens_need_no_sideways_scrolling(browser: Chromium, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(viewport=NARROW) as tab:
        await tab.open(running.url + PAGES[page])
        for language in LANGUAGES:
            await tab.choose("#interface-language", language)
            await tab.until(f'document.documentElement.lang == "{language}"')
            wide: int = await tab.run("document.documentElement.scrollWidth")
            assert wide <= NARROW["width"], (language, wide)
        await tab.check()


async def test_whole_translation_needs_the_keyboard_alone(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        reached: set[str] = set()
        await tab.run("document.body.focus()")
        for _ in range(40):
            await tab.press("Tab")
            name: str = await tab.run("document.activeElement.id || document.activeElement.name || ''")
            reached.add(name)
            if name == "source-text":
                await tab.page.keyboard.type("Hello")
                await tab.sees(OUTPUT, "by fake] Hello")
        wanted = {"interface-language", "source-language", "target-language", "source-text", "clear", "translation"}
        wanted |= {"copy", "copy-link", "copy-curl", "format", "terms-button", "history-button", "api-link"}
        assert wanted - reached == set()
