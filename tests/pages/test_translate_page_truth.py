"""What the page / shows is what was asked, and nothing typed is lost."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from tests.pages.tabs import Chromium, Tab
from tests.pages.test_translate_page import OUTPUT, TEXT, begin
from tests.proxy.proxies import fleet_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

SLOW_MS: Final = 3000
UNAVAILABLE: Final[dict[str, Any]] = {
    "status": 503,
    "headers": {"Retry-After": "200", "Content-Type": "application/problem+json"},
    "body": '{"code": "pair-unavailable", "status": 503}',
}
ADDRESS: Final = "location.pathname + location.search + location.hash"


async def test_old_translation_cannot_pass_for_the_new_one(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello")
        await tab.sees("#copy:enabled")
        await tab.gone(f"{OUTPUT}.stale")
        fake.translate.released = asyncio.Event()
        await tab.type(TEXT, " you")
        await tab.sees(f"{OUTPUT}.stale", "by fake] Hello")
        await tab.sees("#copy:disabled")
        await tab.sees("#status", "Translating…")
        await tab.page.locator("#swap").click(force=True)
        assert await tab.value(TEXT) == "Hello you"
        assert await tab.value("#source-language") == "en"
        fake.translate.released.set()
        await tab.sees("#copy:enabled")
        await tab.sees(OUTPUT, "by fake] Hello you")
        await tab.sees("#swap[aria-disabled=false]")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_slow_translation_says_so_and_can_be_cancelled(browser: Chromium, theme: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake), browser.person(color_scheme=theme) as tab:
        await begin(tab, running.url)
        await tab.page.clock.install()
        fake.translate.released = asyncio.Event()
        await tab.fill(TEXT, "Hello")
        await wait_until(lambda: fake.requests, 60, "the request")
        await tab.page.clock.fast_forward(SLOW_MS)
        await tab.sees("#slow", "Takes longer than usual")
        assert await tab.axe() == []
        await tab.page.locator("#cancel").focus()
        await tab.press("Enter")
        await wait_until(lambda: fake.aborts == len(fake.requests), 60, "the request was cancelled")
        await tab.sees("#failure", "You have cancelled the translation.")
        assert await tab.run("document.activeElement.id") == "source-text"
        assert await tab.axe() == []
        fake.translate.released.set()
        await tab.click("#try-again")
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.gone("#failure")
        await tab.check()


async def test_translation_goes_on_as_soon_as_its_pair_is_back(tab: Tab) -> None:
    """The server asks for a wait of 200 s, which nobody waits here."""
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        fake.pairs["en>de"] = False

        async def refuse(route: Any) -> None:
            await route.fulfill(**UNAVAILABLE)

        await tab.page.route("**/translate", refuse)
        await tab.fill(TEXT, "Hello")
        await tab.sees("#countdown")
        await tab.until(
            """document.querySelector('#target-language option[value="de"]').text.includes("not available")"""
        )
        await tab.page.unroute("**/translate")
        fake.pairs["en>de"] = True
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.gone("#failure")


async def test_words_of_a_failure_stay_while_it_is_tried_again(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        await tab.page.clock.install()
        fake.translate.problem = (503, "overloaded")
        fake.translate.retry_after = 30
        await tab.fill(TEXT, "Hello")
        await tab.sees("#failure", "The servers are busy.")
        fake.translate.problem = None
        fake.translate.released = asyncio.Event()
        asked = len(fake.requests)
        await tab.page.clock.run_for(31_000)
        await wait_until(lambda: len(fake.requests) > asked, 60, "the next try")
        await tab.sees("#status", "Translating…")
        await tab.sees("#failure", "The servers are busy.")
        fake.translate.released.set()
        await tab.gone("#failure")
        await tab.sees(OUTPUT, "by fake] Hello")


async def test_list_of_languages_that_fails_says_why_and_comes_back(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.answer("**/languages", 502)
        await tab.open(f"{running.url}/")
        await tab.sees("#no-languages", "The list of languages cannot be loaded.")
        await tab.type(TEXT, "Hello")
        assert tab.bodies == []
        await tab.page.unroute("**/languages")
        await tab.gone("#no-languages")
        await tab.sees(OUTPUT, "by fake] Hello")


async def test_reload_and_back_keep_the_text(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello\nyou")
        await tab.reload()
        assert await tab.value(TEXT) == "Hello\nyou"
        await tab.sees(OUTPUT, "[en>de by fake] Hello")
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection")
        await tab.page.go_back()
        await tab.sees(OUTPUT, "[en>de by fake] Hello")
        assert await tab.value(TEXT) == "Hello\nyou"
        await tab.click("#clear")
        await tab.reload()
        assert await tab.value(TEXT) == ""


async def test_reload_keeps_what_was_typed_into_a_links_text(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        link = f"{running.url}/#{urlencode({'source': 'en', 'target': 'de', 'text': 'Hello'})}"
        await tab.open(link)
        await tab.type(TEXT, " you")
        await tab.reload()
        await tab.sees(OUTPUT, "by fake] Hello you")
        await tab.run("link => location.assign(link)", link.replace("Hello", "Other"))
        await tab.sees(OUTPUT, "by fake] Other")
        await tab.page.locator(TEXT).focus()
        await tab.press("Control+z")
        await tab.sees(OUTPUT, "by fake] Hello you")


@pytest.mark.parametrize("link", ["#source=de&target=en&text=Anderes", "?source=de&target=en&q=Anderes"])
async def test_link_opened_over_a_draft_is_taken_back_by_ctrl_z(tab: Tab, link: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello")
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection")
        await tab.open(f"{running.url}/{link}")
        await tab.sees(OUTPUT, "[de>en by fake] Anderes")
        await tab.press("Control+z")
        await tab.sees(OUTPUT, "[en>de by fake] Hello")
        assert await tab.value(TEXT) == "Hello"
        assert await tab.value("#source-language") == "en"


async def test_cleared_text_comes_back_by_ctrl_z(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello")
        await tab.click("#clear")
        assert await tab.value(TEXT) == ""
        await tab.press("Control+z")
        assert await tab.value(TEXT) == "Hello"
        await tab.page.keyboard.type(" you")
        assert await tab.value(TEXT) == "Hello you", "the next key does not take it away again"
        await tab.sees(OUTPUT, "[en>de by fake] Hello you")


async def test_swap_is_taken_back_by_ctrl_z_with_its_languages(tab: Tab) -> None:
    """The text looks like HTML, and has lines and spaces that HTML would lose."""
    text = "<b>Hello</b>  &amp;\n\n you "
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.fill(TEXT, text)
        await tab.sees("#swap[aria-disabled=false]")
        await tab.click("#swap")
        await tab.sees(OUTPUT, "[de>en by fake] [en>de by fake] <b>Hello</b>")
        assert await tab.value(TEXT) == f"[en>de by fake] {text}"
        assert await tab.run("document.activeElement.id") == "swap"
        await tab.press("Control+z")
        await tab.sees(OUTPUT, "[en>de by fake] <b>Hello</b>")
        assert await tab.value(TEXT) == text
        assert (await tab.value("#source-language"), await tab.value("#target-language")) == ("en", "de")
        await tab.press("Control+Shift+z")
        await tab.until('document.querySelector("#source-language").value == "de"')
        assert await tab.value(TEXT) == f"[en>de by fake] {text}"


@pytest.mark.parametrize("tag", ["xx", "not a tag"])
async def test_target_of_a_link_that_is_not_served_is_said(tab: Tab, tag: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.open(f"{running.url}/#{urlencode({'source': 'en', 'target': tag, 'text': 'Hello'})}")
        await tab.sees("#failure", "This server does not translate between these two languages.")
        shown = "document.querySelector('#target-language').selectedOptions[0].text.trim()"
        await tab.until(f"{shown} == 'xx (not available now)'")
        await tab.choose("#target-language", "de")
        await tab.sees(OUTPUT, "[en>de by fake] Hello")


async def test_panes_show_the_same_part_of_a_long_text(tab: Tab) -> None:
    share = "(({scrollTop, scrollHeight, clientHeight}) => scrollTop / (scrollHeight - clientHeight))(document.querySelector('%s'))"
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.click(TEXT)
        await tab.paste("\n".join(f"Line {number}" for number in range(300)))
        await tab.sees("#copy:enabled")
        for leader, follower, at in ((TEXT, OUTPUT, 0), (OUTPUT, TEXT, 0.5), (TEXT, OUTPUT, 1)):
            assert abs(await tab.run(share % TEXT) - await tab.run(share % OUTPUT)) < 0.01, (leader, at)
            scroll = "([leader, at]) => { const pane = document.querySelector(leader); pane.scrollTop = at * (pane.scrollHeight - pane.clientHeight); }"
            await tab.run(scroll, [leader, at])
            await tab.until(f"Math.abs({share % follower} - {at}) < 0.01")


async def test_histories_of_two_tabs_are_one(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        other = await tab.beside()
        await begin(other, running.url)
        await tab.click("#history-button")
        await tab.click("#keep-history")
        await other.click("#history-button")
        await other.until('document.querySelector("#keep-history").checked')
        await tab.type(TEXT, "One tab")
        await tab.sees("#history-entries", "by fake] One tab")
        await other.type(TEXT, "Another")
        for each in (tab, other):
            await each.sees("#history-entries", "by fake] One tab")
            await each.sees("#history-entries", "by fake] Another")
        await tab.click("#keep-history")
        await other.gone("#history-entries")
        await other.type(TEXT, " text")
        await other.sees(OUTPUT, "by fake] Another text")
        assert await other.run("localStorage.getItem('pairway.history')") is None
        await other.check()


async def test_links_of_libretranslate_move_behind_the_hash(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.open(f"{running.url}/?{urlencode({'source': 'en', 'target': 'de', 'q': 'Hello & you'})}")
        await tab.sees(OUTPUT, "[en>de by fake] Hello & you")
        assert await tab.run(ADDRESS) == "/#source=en&target=de&text=Hello+%26+you"
        await tab.type(TEXT, "!")
        await tab.reload()
        await tab.sees(OUTPUT, "by fake] Hello & you!")
