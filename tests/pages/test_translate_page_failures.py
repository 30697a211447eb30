"""The page / where something fails: keys, limits, a fleet without replicas, no network."""

from __future__ import annotations

from typing import Final

import pytest

from tests.conftest import RedisServer
from tests.pages.tabs import Tab
from tests.pages.test_translate_page import OUTPUT, TEXT, begin
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock
from tests.proxy.proxies import fleet_of, proxy
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

# The seconds that the page counts down, as a number.
SECONDS: Final = 'Number(document.querySelector("#countdown").dataset.seconds)'
MINUTE: Final = 60


async def until_fewer_seconds(tab: Tab) -> int:
    """Wait until the countdown has gone on; return what it began with."""
    await tab.sees("#countdown")
    began: int = await tab.run(SECONDS)
    await tab.until(f'!document.querySelector("#countdown") || {SECONDS} < {began}')
    return began


async def test_wrong_key_is_refused_and_the_right_one_works(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "de>en") as (running, _):
        shown, _ = await new_key(running)
        await begin(tab, running.url)
        await tab.sees("#key-dialog", "This server translates for people with a key")
        await tab.fill("#key", "wrong")
        await tab.click("#use-key")
        await tab.sees("#key-dialog", "The server did not accept this key")
        await tab.click("#cancel-key")
        await tab.type(TEXT, "Hello")
        await tab.sees("#failure")
        await tab.click("#enter-key")
        await tab.fill("#key", shown)
        await tab.press("Enter")
        await tab.gone("#key-dialog")
        await tab.sees(OUTPUT, "by fake] Hello")
        assert not [url for _, url in tab.requests if shown in url]


async def test_key_is_kept_for_the_tab_or_if_ticked_for_the_browser(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "de>en") as (running, _):
        shown, _ = await new_key(running)
        await begin(tab, running.url)
        await tab.fill("#key", shown)
        await tab.click("#use-key")
        await tab.until("sessionStorage.getItem('pairway.key') !== null")
        await tab.reload()
        await tab.type(TEXT, "The same tab")
        await tab.sees(OUTPUT, "by fake] The same tab")
        other = await tab.beside()
        await begin(other, running.url)
        await other.fill("#key", shown)
        await other.click("#keep-key")
        await other.click("#use-key")
        await other.type(TEXT, "Another tab")
        await other.sees(OUTPUT, "by fake] Another tab")
        await other.until("localStorage.getItem('pairway.key') !== null")
        third = await tab.beside()
        await begin(third, running.url)
        await third.type(TEXT, "A third tab")
        await third.sees(OUTPUT, "by fake] A third tab")
        await third.click("#key-button")
        await third.click("#forget-key")
        assert shown not in await third.run("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        await other.check()
        await third.check()


async def test_key_that_can_change_the_fleet_is_not_stored(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "de>en") as (running, _):
        shown, _ = await new_key(running, scopes=["translate", "operate"])
        await begin(tab, running.url)
        await tab.fill("#key", shown)
        await tab.click("#keep-key")
        await tab.click("#use-key")
        await wait_until(lambda: ("/usage", 200) in tab.statuses, 30, "the page knows the key's scopes")
        await tab.type(TEXT, "Hello")
        await tab.sees(OUTPUT, "by fake] Hello")
        assert shown not in await tab.run("JSON.stringify([{...localStorage}, {...sessionStorage}])")


async def test_limit_of_a_key_is_counted_down(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "de>en") as (running, _):
        minute = (stop_clock(running) // MINUTE + 1) * MINUTE  # its beginning: a whole one is counted down
        running.context.keys.store.clock = lambda: minute
        shown, _ = await new_key(running, requests_per_minute=1)
        await begin(tab, running.url)
        await tab.fill("#key", shown)
        await tab.click("#use-key")
        await tab.fill(TEXT, "One")  # at once: a slow machine may pause between keys, and a request be sent there
        await tab.sees(OUTPUT, "by fake] One")
        await tab.fill(TEXT, "One and two")
        await tab.sees("#failure", "You have reached the limit of your key.")
        assert ("/translate", 429) in tab.statuses
        assert 1 < await until_fewer_seconds(tab) <= MINUTE
        assert await tab.text(OUTPUT)
        running.context.keys.store.clock = lambda: minute + MINUTE
        await tab.click("#try-again")
        await tab.sees(OUTPUT, "by fake] One and two")
        await tab.gone("#failure")


async def test_missing_replica_is_counted_down_and_tried_again(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        await tab.fill(TEXT, "Before")
        await tab.sees("#copy:enabled")
        await fake.stop()
        await running.sees(fake, "down", 60)
        await tab.fill(TEXT, "Hello")
        await tab.sees("#failure", "These languages are not available at the moment.")
        await tab.sees(f"{OUTPUT}.stale", "by fake] Before")
        await tab.sees("#copy:disabled")
        assert ("/translate", 503) in tab.statuses
        assert await until_fewer_seconds(tab) >= 1
        await fake.start()
        await running.sees(fake, "ready", 60)
        await tab.run("document.querySelector('#try-again')?.click()")
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.gone("#failure")


async def test_passing_failure_is_tried_again_by_itself(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        await tab.page.clock.install()
        fake.translate.problem = (503, "overloaded")
        fake.translate.retry_after = 30
        await tab.run("document.querySelector('#source-text').focus()")
        await tab.fill(TEXT, "Hello")
        await wait_for_request(tab)
        await tab.sees("#failure", "The servers are busy.")
        fake.translate.problem = None
        await tab.page.clock.run_for(31_000)
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.gone("#failure")


async def wait_for_request(tab: Tab) -> None:
    """Let the page's clock run until it has sent the text."""

    async def sent() -> bool:
        await tab.page.clock.run_for(1000)
        return bool(tab.bodies)

    await wait_until(sent, 60, "a request")


async def test_offline_is_said_and_passes(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Before")
        await tab.sees(OUTPUT, "by fake] Before")
        await tab.offline(True)
        await tab.type(TEXT, " and after")
        await tab.sees("#failure", "You are offline.")
        await tab.gone("#countdown")
        await tab.offline(False)
        await tab.sees(OUTPUT, "by fake] Before and after")
        await tab.gone("#failure")


async def test_too_long_text_is_not_sent(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en", max_text_chars=20) as (running, _):
        await begin(tab, running.url)
        await tab.fill(TEXT, "A text of more than twenty characters")
        await tab.sees("#character-count.over", "37 / 20")
        await tab.sees("#too-long", "The text is too long")
        await tab.fill(TEXT, "A short text")
        await tab.sees(OUTPUT, "by fake] A short text")
        assert [body["text"] for body in tab.bodies] == ["A short text"]


async def test_broken_stream_is_said_and_tried_again(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        fake.translate.breaks_after = 1
        await tab.type(TEXT, "Hello")
        await tab.sees("#failure")
        fake.translate.breaks_after = None
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.gone("#failure")


async def test_page_without_any_language_says_so(tab: Tab) -> None:
    async with proxy(["http://127.0.0.1:1"], ready=False) as running:
        await tab.open(f"{running.url}/")
        await tab.sees("#no-languages", "No translation server has answered yet.")
