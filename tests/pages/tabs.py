"""Tabs of headless Chromium, driven by Playwright: what a person does in one, and what one asked for and complained of."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from tests.pages.install import axe_file, playwright_folder
from tests.support.browser_install import CHROMIUM, LIBRARIES
from tests.support.waiting import wait_until

# Milliseconds; generous, because a machine with other work is slow and pauses.
WAIT_MS: Final = 60_000
_FLAGS: Final = (
    "--no-sandbox",  # it opens our own pages alone, and CI's user may be root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a machine without the internet
)
_WATCH_VIOLATIONS: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`));
"""
# The browser's own note of an answer that is no success; such answers are in `statuses` already.
_FAILED_LOAD: Final = "Failed to load resource:"
# Frames are left out: that of translated HTML runs no scripts, so axe could only wait for it.
_AXE_RUN: Final = """async () => (await axe.run(document, {resultTypes: ["violations"], iframes: false})).violations.map(each =>
  `${each.id}: ${each.help}: ${each.nodes.map(node => node.html + " " + node.any.map(one => one.message)).join(" | ")}`)"""


class Tab:
    """One tab: what a person does and sees in it, what it asked for, and what it complained of."""

    # Any: Playwright is in an environment of its own, which type checkers do not see.
    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.statuses: list[tuple[str, int]] = []
        self.complaints: list[str] = []
        page.set_default_timeout(WAIT_MS)
        page.on("request", self._note_request)
        page.on("response", self._note_answer)
        page.on("pageerror", self._note_error)
        page.on("console", self._note_console)

    def _note_request(self, request: Any) -> None:
        self.requests.append((request.method, request.url))
        if request.method == "POST" and request.post_data:
            self.bodies.append(json.loads(request.post_data))

    def _note_answer(self, answer: Any) -> None:
        self.statuses.append((urlsplit(str(answer.url)).path, answer.status))

    def _note_error(self, error: Any) -> None:
        self.complaints.append(str(error))

    def _note_console(self, message: Any) -> None:
        if message.type in {"warning", "error", "assert"} and not message.text.startswith(_FAILED_LOAD):
            self.complaints.append(message.text)

    async def open(self, url: str) -> None:
        """Go to a page."""
        await self.page.goto(url)

    async def reload(self) -> None:
        """Load the page again."""
        await self.page.reload()

    async def type(self, selector: str, text: str, *, pause_ms: float = 0) -> None:
        """Press the keys of a text, after what is there."""
        await self.page.locator(selector).press_sequentially(text, delay=pause_ms)

    async def fill(self, selector: str, text: str) -> None:
        """Put a text in place of what is there."""
        await self.page.locator(selector).fill(text)

    async def press(self, keys: str) -> None:
        """Press keys where the focus is."""
        await self.page.keyboard.press(keys)

    async def click(self, selector: str) -> None:
        """Click on what this finds, once it is there and can be clicked."""
        await self.page.locator(selector).first.click()

    async def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        await self.page.locator(selector).select_option(value)

    async def text(self, selector: str) -> str:
        """Return what the first of these shows, once it is there."""
        return await self.page.locator(selector).first.inner_text()

    async def value(self, selector: str) -> str:
        """Return what is in a field."""
        return await self.page.locator(selector).input_value()

    async def attribute(self, selector: str, name: str) -> str | None:
        """Return an attribute of the first of these, once it is there."""
        return await self.page.locator(selector).first.get_attribute(name)

    async def sees(self, selector: str, text: str = "") -> None:
        """Wait until one of these is visible with this text in it."""
        found = self.page.locator(selector)
        await (found.filter(has_text=text) if text else found).first.wait_for(state="visible")

    async def gone(self, selector: str) -> None:
        """Wait until none of these is visible."""
        await self.page.locator(selector).first.wait_for(state="hidden")

    async def run(self, script: str, argument: object = None) -> Any:
        """Return an expression's value in the page, or what a function of one argument returns there."""
        return await self.page.evaluate(script, argument)

    async def until(self, script: str) -> None:
        """Wait until an expression is true in the page."""
        await wait_until(lambda: self.run(script), WAIT_MS / 1000, script)

    async def paste(self, text: str, html: str | None = None) -> None:
        """Put a text, and perhaps its HTML, on the clipboard, and press the keys for its insertion."""
        kinds = {"text/plain": text} if html is None else {"text/plain": text, "text/html": html}
        await self.run(
            """kinds => navigator.clipboard.write([new ClipboardItem(Object.fromEntries(
            Object.entries(kinds).map(([kind, text]) => [kind, new Blob([text], {type: kind})])))])""",
            kinds,
        )
        await self.press("Control+v")

    async def take_clock(self) -> None:
        """Let pages opened from now on have a clock that ``pass_seconds`` sets forward; it runs on its own too."""
        await self.page.clock.install()

    async def pass_seconds(self, seconds: float) -> None:
        """Set the page's clock forward: what was due until then happens once."""
        await self.page.clock.fast_forward(int(seconds * 1000))

    async def offline(self, is_offline: bool) -> None:
        """Cut the network of this tab and those beside it, or mend it."""
        await self.page.context.set_offline(is_offline)

    async def hold(self, address: str) -> None:
        """Never answer requests for a pattern of addresses."""

        async def wait(_: Any) -> None:
            """Leave the request as it is."""

        await self.page.route(address, wait)

    async def answer(self, address: str, status: int | None) -> None:
        """Answer requests for a pattern of addresses with this status, or cut their connections (None)."""

        async def fulfill(route: Any) -> None:
            await (route.abort() if status is None else route.fulfill(status=status, body=""))

        await self.page.route(address, fulfill)

    async def stream(self, address: str, events: str) -> None:
        """Answer the first request for a pattern of addresses with these events; the others wait."""
        waiting: list[Any] = []

        async def fulfill(route: Any) -> None:
            if not waiting:
                await route.fulfill(status=200, content_type="text/event-stream", body=events)
            waiting.append(route)

        await self.page.route(address, fulfill)

    async def beside(self) -> Tab:
        """Return a second tab of the same browser, with the same storage."""
        return await new_tab(self.page.context)

    async def violations(self) -> list[str]:
        """Return what the Content-Security-Policy has kept the page from."""
        return await self.run("window.violations")

    async def axe(self) -> list[str]:
        """Return what axe-core finds wrong with the page as it is now, in words."""
        await self.run(axe_file().read_text())
        return await self.run(_AXE_RUN)

    async def check(self) -> None:
        """Fail for a complaint, a violation, or a request to another host."""
        assert not self.complaints, self.complaints
        assert await self.violations() == []
        hosts = {urlsplit(url).netloc for _, url in self.requests if not url.startswith(("data:", "blob:"))}
        assert len(hosts) == 1, hosts
        assert self.page.url.startswith(f"http://{hosts.pop()}/")


async def new_tab(context: Any) -> Tab:
    """Return a new tab of a context, which watches from its start."""
    tab = Tab(await context.new_page())
    await tab.page.add_init_script(_WATCH_VIOLATIONS)
    return tab


class Chromium:
    """The browser: a person's profile is one of its contexts."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @asynccontextmanager
    async def person(self, **options: Any) -> AsyncGenerator[Tab]:
        """Return a tab of a new profile; with the block all tabs of it close. Options: ``color_scheme``, ``locale``…"""
        usual = {"locale": "en-US", "permissions": ["clipboard-read", "clipboard-write"]}
        context = await self._browser.new_context(**{**usual, **options})
        try:
            yield await new_tab(context)
        finally:
            await context.close()


@asynccontextmanager
async def chromium(**environment: str) -> AsyncGenerator[Chromium]:
    """Start the browser with these variables too; it ends with the block."""
    folder = str(playwright_folder())
    if folder not in sys.path:
        sys.path.append(folder)  # at the end: nothing of it comes before what the product runs with
    driver: Any = importlib.import_module("playwright.async_api")
    async with driver.async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=_FLAGS,
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES), **environment},
        )
        try:
            yield Chromium(browser)
        finally:
            await browser.close()
