"""The status page in a real browser: what a person on call sees, and what operators can do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from proxy.api.pages.pages import WEB_FOLDER
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.browser import Browser, browser
from tests.support.fake_replica import FakeReplica, replicas

NOBODY = "http://127.0.0.1:1"
TOKEN = "an-operator-token-of-tests"
STRINGS = sorted((WEB_FOLDER / "status/strings").glob("*.json"))


@pytest.fixture(scope="module")
async def page() -> AsyncGenerator[Browser]:
    async with browser() as one:
        yield one


@asynccontextmanager
async def opened(page: Browser, running: RunningProxy) -> AsyncGenerator[None]:
    """Show the page; it is left before its proxy ends, which would cut its stream."""
    await page.open(f"{running.url}/status")
    await page.until("document.querySelector('main h1') != null")
    yield
    await page.open("about:blank")


async def until_shown(page: Browser, words: str, within: str = "main") -> None:
    await page.until(f"document.querySelector({json.dumps(within)})?.textContent.includes({json.dumps(words)})")


async def give_token(page: Browser, token: str) -> None:
    await page.until("document.querySelector('#token-dialog[open] #token') != null")
    await page.run(f"document.querySelector('#token').value = {json.dumps(token)}")
    await page.click("#use-token")


async def no_complaints(page: Browser, running: RunningProxy) -> None:
    assert page.complaints == []
    assert await page.violations() == []
    assert [url for url in page.loaded if not url.startswith(running.url)] == []


async def test_dead_replica_and_its_return_are_shown(page: Browser) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="two")
    async with replicas(one, two), proxy([one, two]) as running, opened(page, running):
        await page.until("document.querySelectorAll('.replicas .row.ok').length == 2")
        await two.stop()
        await until_shown(page, f"{two.url} is down", ".issues")
        await until_shown(page, "No replica is ready for en-fr", ".issues")
        await until_shown(page, f"{two.url} went down", ".events")
        await page.click(".issues .runbook")
        await until_shown(page, "A pair is unavailable", "#runbook-dialog article")
        await page.click("#close-runbook")
        await two.start()
        await until_shown(page, f"{two.url} came back", ".events")
        await page.until("document.querySelectorAll('.replicas .row.ok').length == 2")
        await no_complaints(page, running)


async def test_operator_drains_and_resumes_a_replica(page: Browser) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], operator_token=TOKEN) as running, opened(page, running):
        await page.click(".replicas .opener")
        await until_shown(page, "model-", ".details")
        await page.click(".button.drain")
        await give_token(page, "not-the-token-of-this-fleet")
        await page.click("#confirm-change")
        await until_shown(page, "refused", "#token-dialog[open]")
        assert await running.state_of(fake) == "ready"
        await give_token(page, TOKEN)
        await page.click("#confirm-change")
        await until_shown(page, f"{fake.url} is drained.", ".changed")
        await until_shown(page, "drained by an operator", ".replicas")
        await page.click(".button.resume")
        await page.click("#confirm-change")
        await until_shown(page, f"{fake.url} is resumed.", ".changed")
        await running.sees(fake, "ready")
        kept = await page.run("JSON.stringify([{...localStorage}, {...sessionStorage}, location.href])")
        assert TOKEN not in kept


async def test_page_asks_for_a_key_where_keys_are_on(page: Browser) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], keys="on", operator_token=TOKEN) as running, opened(page, running):
        await give_token(page, "not-the-token-of-this-fleet")
        await until_shown(page, "refused", "#token-dialog[open]")
        await give_token(page, TOKEN)
        await page.until("document.querySelectorAll('.replicas .row.ok').length == 1")
        assert all(TOKEN not in url for url in page.loaded)


async def test_lost_connection_is_shown(page: Browser) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake]) as running, opened(page, running):
        await page.until("document.querySelector('#connection.live') != null")
        running.context.process.draining.set()  # as a signal does
        await running.serving.stop()
        await page.until("document.querySelector('#connection.lost') != null")
        assert await page.run("document.querySelectorAll('.replicas .row').length") == 1, "the last status stays"


async def test_page_speaks_each_language(page: Browser) -> None:
    async with proxy([NOBODY]) as running, opened(page, running):
        for strings in STRINGS:
            texts = json.loads(strings.read_text())
            select = "document.querySelector('#interface-language')"
            change = "dispatchEvent(new Event('change', {bubbles: true}))"
            await page.run(f"{select}.value = '{strings.stem}'; {select}.{change}")
            await until_shown(page, texts["replicas.title"])
            await until_shown(page, texts["issue.down"].format(subject=NOBODY), ".issues")
            assert await page.run("document.documentElement.lang") == strings.stem
        await no_complaints(page, running)
