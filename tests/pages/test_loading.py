"""How both pages load: in few requests, without a jump, and what they say of files that do not come."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from tests.pages.tabs import Chromium, Tab
from tests.pages.test_page_serving import PAGES, strings
from tests.pages.test_translate_page import TEXT, begin
from tests.proxy.proxies import fleet_of

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

USABLE: Final = {
    "translate": 'document.querySelectorAll("#target-language option").length > 0',
    "status": 'document.querySelector("#connection.live") !== null && document.querySelector("table.replicas") !== null',
}
# With the page itself, and the first data.
MAX_REQUESTS: Final = 8
# Sums up how far what was there moves by itself, as browsers count it.
NOTE_SHIFTS: Final = """
window.shifts = [];
new PerformanceObserver(list => {
  for (const {value, hadRecentInput, sources} of list.getEntries()) {
    const moved = sources.map(({node}) => node?.id || node?.className || node?.nodeName);
    if (!hadRecentInput) shifts.push([value, ...moved]);
  }
}).observe({type: "layout-shift", buffered: true});
"""
# Of a person with good eyes: whole pixels, of a header that grows by a word.
MAX_SHIFT: Final = 0.01


async def cut(tab: Tab, address: str, times: int) -> None:
    """Cut the first requests for a pattern of addresses; the later ones go through."""
    count = 0

    async def answer(route: Any) -> None:
        nonlocal count
        count += 1
        await (route.abort() if count <= times else route.continue_())

    await tab.page.route(address, answer)


# A key in a long text: how often the page reads the field's text, which it does for the key and for each rendering.
PRESS_KEY: Final = """async () => {
  const area = document.querySelector("#source-text");
  const {get, set} = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
  let reads = 0;
  Object.defineProperty(area, "value", {get() { reads += 1; return get.call(this); }, set, configurable: true});
  area.setRangeText("x", area.textLength, area.textLength, "end");
  area.dispatchEvent(new InputEvent("input", {inputType: "insertText", data: "x", bubbles: true}));
  await new Promise(done => setTimeout(done));
  delete area.value;
  return reads;
}"""
LONG_TEXT: Final = "The old house stands beside the river near the green forest. " * 1600


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
async def test_page_is_loaded_in_few_requests(browser: Chromium, page: str, locale: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(locale=locale) as tab:
        await tab.open(running.url + PAGES[page])
        await tab.until(USABLE[page])
        assert len(tab.requests) <= MAX_REQUESTS, tab.requests
        assert [each for each in tab.statuses if each[1] != 200] == []
        await tab.check()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [1280, 400])
async def test_nothing_jumps_while_a_page_loads(browser: Chromium, page: str, width: int) -> None:
    async with (
        fleet_of("en>de", "de>en") as (running, _),
        browser.person(viewport={"width": width, "height": 800}) as tab,
    ):
        await tab.page.add_init_script(NOTE_SHIFTS)
        await tab.open(running.url + PAGES[page])
        await tab.until(USABLE[page])
        await tab.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shifts: list[list[Any]] = await tab.run("window.shifts")
        assert sum(each[0] for each in shifts) <= MAX_SHIFT, shifts
        await tab.check()


@pytest.mark.parametrize(("page", "name"), [("translate", "page.js"), ("status", "page.js"), ("status", "page.css")])
async def test_lost_file_is_tried_again_and_said(tab: Tab, page: str, name: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await cut(tab, f"**/{page}/{name}*", 2)
        await tab.open(running.url + PAGES[page])
        await tab.sees("#lost-files", "A part of this page has not arrived. Trying again")
        await tab.until(USABLE[page])
        await tab.gone("#lost-files")


@pytest.mark.parametrize("page", PAGES)
async def test_file_that_never_comes_is_said_in_words(browser: Chromium, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(locale="de-AT") as tab:
        await tab.answer(f"**/{page}/page.js*", 404)
        await tab.open(running.url + PAGES[page])
        await tab.sees("#lost-files", "Ein Teil dieser Seite ist nicht angekommen")
        await tab.page.unroute_all()
        await tab.click("#lost-files button")
        await tab.until(USABLE[page])
        await tab.check()


@pytest.mark.parametrize("page", PAGES)
async def test_file_that_is_held_back_is_said_in_words(tab: Tab, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.hold(f"**/{page}/page.js")
        await tab.page.goto(running.url + PAGES[page], wait_until="commit")
        await tab.sees(".loading", "please reload")


@pytest.mark.parametrize("page", PAGES)
async def test_page_needs_no_loader(tab: Tab, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.answer("**/loader.js", 404)
        await tab.open(running.url + PAGES[page])
        await tab.until(USABLE[page])


async def test_page_of_an_older_version_is_replaced(tab: Tab) -> None:
    """While proxies are rolled, one gives the page and another, of another version, is asked for its files."""
    async with fleet_of("en>de", "de>en") as (running, _):
        given: list[Any] = []

        async def answer(route: Any) -> None:
            given.append(route)
            response = await route.fetch()
            text: str = await response.text()
            older = text.replace("/translate/page.js", "/translate/older.js")
            await route.fulfill(response=response, body=older if len(given) == 1 else text)

        await tab.page.route(f"{running.url}/", answer)
        await tab.open(f"{running.url}/")
        await tab.sees("#source-text")
        assert len(given) == 3, "opened, looked at, loaded again"


@pytest.mark.parametrize("page", PAGES)
async def test_lost_language_is_said_and_the_list_does_not_lie(tab: Tab, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await tab.open(running.url + PAGES[page])
        await tab.until(USABLE[page])
        await tab.answer("**/strings/de.json", 502)
        await tab.choose("#interface-language", "de")
        await tab.sees("#lost-language", "The texts in Deutsch could not be loaded.")
        assert await tab.value("#interface-language") == "en"
        assert await tab.run("document.documentElement.lang") == "en"
        assert await tab.axe() == []
        await tab.page.unroute_all()
        await tab.click("#lost-language button")
        await tab.until('document.documentElement.lang == "de"')
        assert await tab.value("#interface-language") == "de"
        await tab.gone("#lost-language")


@pytest.mark.parametrize("page", PAGES)
async def test_page_whose_first_language_is_lost_is_english(browser: Chromium, page: str) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(locale="ja-JP") as tab:
        await tab.answer("**/strings/ja.json", 404)
        await tab.open(running.url + PAGES[page])
        await tab.sees("#lost-language", "The texts in 日本語 could not be loaded.")
        await tab.until(f"document.title.includes({json.dumps(strings(page, 'en')['page.title'])})")
        await tab.check()


async def test_language_that_is_lost_once_is_tried_again(browser: Chromium) -> None:
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(locale="ja-JP") as tab:
        await cut(tab, "**/strings/ja.json", 1)
        await tab.open(f"{running.url}/")
        await tab.until('document.documentElement.lang == "ja"')
        await tab.check()


@pytest.mark.parametrize("page", PAGES)
async def test_browser_without_scripts_sees_one_sentence(browser: Chromium, page: str) -> None:
    async with fleet_of("en>de") as (running, _), browser.person(java_script_enabled=False) as tab:
        await tab.open(running.url + PAGES[page])
        await tab.sees("noscript")
        assert not await tab.page.locator(".loading").is_visible()


async def test_key_in_a_long_text_renders_once_and_is_sent_once(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.fill(TEXT, LONG_TEXT)
        await tab.until('document.querySelector("#copy:enabled") !== null')
        sent = len(tab.bodies)
        assert await tab.run(PRESS_KEY) == 2, "one for the key, one for its rendering"
        await tab.until('document.querySelector("#copy:disabled") === null')
        assert [each["text"] for each in tab.bodies[sent:]] == [LONG_TEXT + "x"]
