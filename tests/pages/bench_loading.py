"""What loading a page costs a person and the network, and what a key costs in a long text: for the benchmark of the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any, Final

from tests.pages.tabs import Chromium, Tab
from tests.pages.test_loading import NOTE_SHIFTS, USABLE

SECOND_MS: Final = 1000.0
# A far server: what it sends is fast, but each answer takes its time.
FAR: Final = {"offline": False, "latency": 300, "downloadThroughput": 1_000_000, "uploadThroughput": 1_000_000}
# Long, but within the limit of one request.
LONG_CHARS: Final = 100_000
LONG_TEXT: Final = ("The old house stands beside the river near the green forest. " * LONG_CHARS)[:LONG_CHARS]
KEYS: Final = 10
# A text field with the style of the page's, and nothing else.
BARE_PAGE: Final = """<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="{style}">
<main><div class="card"><div class="panes"><div class="pane"><textarea id="source-text" spellcheck="true"></textarea></div></div></div></main>"""
FRAME_SHOWN: Final = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


async def transferred(browser: Chromium, url: str, page: str) -> tuple[int, int]:
    """Return requests and bytes on the wire of a page that the browser has not seen; streams count as far as they came."""
    total = 0

    def count(event: dict[str, Any]) -> None:
        nonlocal total
        total += int(event["encodedDataLength"])

    async with browser.person() as tab:
        session = await tab.page.context.new_cdp_session(tab.page)
        session.on("Network.loadingFinished", count)
        await session.send("Network.enable")
        await tab.open(url)
        await tab.page.wait_for_load_state("load")
        await tab.until(USABLE[page])
        return len(tab.requests), total


async def usable_ms(browser: Chromium, url: str, page: str) -> float:
    """Return the milliseconds until a far page that the browser has not seen can be used."""
    async with browser.person() as tab:
        session = await tab.page.context.new_cdp_session(tab.page)
        await session.send("Network.enable")
        await session.send("Network.emulateNetworkConditions", FAR)
        await tab.page.goto(url, wait_until="commit")
        await tab.run(f"async () => {{ while (!({USABLE[page]})) await new Promise(requestAnimationFrame); }}")
        return await tab.run("performance.now()")


async def layout_shift(browser: Chromium, url: str, page: str) -> float:
    """Return how far what was there moved while a page loaded, as browsers count it."""
    async with browser.person() as tab:
        await tab.page.add_init_script(NOTE_SHIFTS)
        await tab.open(url)
        await tab.until(USABLE[page])
        await tab.run(FRAME_SHOWN)
        return await tab.run("window.shifts.reduce((sum, [value]) => sum + value, 0)")


async def key_ms(browser: Chromium, url: str) -> tuple[float, float]:
    """Return the processor time of a key in a long text: on the page, and in a bare text field."""

    async def open_page(tab: Tab) -> None:
        await tab.open(url)
        await tab.until(USABLE["translate"])

    async def open_bare(tab: Tab) -> None:
        await tab.open(url)
        style = await tab.run("document.querySelector('link[rel=stylesheet]').href")
        await tab.open("about:blank")
        await tab.page.set_content(BARE_PAGE.format(style=style))

    return await _key_ms(browser, open_page), await _key_ms(browser, open_bare)


async def _key_ms(browser: Chromium, go: Callable[[Tab], Awaitable[None]]) -> float:
    async with browser.person() as tab:
        await go(tab)
        session = await tab.page.context.new_cdp_session(tab.page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})

        async def seconds() -> float:
            metrics = (await session.send("Performance.getMetrics"))["metrics"]
            return next(each["value"] for each in metrics if each["name"] == "TaskDuration")

        # No answer comes meanwhile: it would count as well.
        await tab.hold("**/translate")
        await tab.fill("#source-text", LONG_TEXT)
        await tab.page.locator("#source-text").focus()
        await tab.press("End")
        used: list[float] = []
        for _ in range(KEYS):
            before = await seconds()
            await tab.press("x")
            await tab.run(FRAME_SHOWN)
            used.append(SECOND_MS * (await seconds() - before))
        return median(used)
