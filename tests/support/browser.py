"""A real browser: headless Chromium, driven through its DevTools protocol."""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.support.browser_install import CHROMIUM, LIBRARIES
from tests.support.waiting import wait_until

# Seconds; a machine that starts many servers at once is slow.
START_SECONDS = 60
ANSWER_SECONDS = 60
_FLAGS = (
    "--headless",
    "--no-sandbox",  # it opens our own pages alone, and CI's user may be root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # a machine without the internet
    "--remote-debugging-port=0",
)
_WATCH_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", event =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`));
"""


class Browser:
    """One page of a browser: what it loaded, and what it complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.loaded: list[str] = []
        self.complaints: list[str] = []

    async def watch(self) -> None:
        """Begin to note what pages load and complain of."""
        for domain in ("Page", "Network", "Log", "Runtime"):
            await self._call(f"{domain}.enable")
        await self._call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH_VIOLATIONS)

    async def open(self, url: str) -> None:
        """Go to a page, with nothing of the one before."""
        self.loaded, self.complaints = [], []
        await self._call("Page.navigate", url=url)

    async def run(self, script: str) -> Any:
        """Return an expression's value in the page, a promise's when it is there."""
        done = await self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def until(self, script: str, within: float = ANSWER_SECONDS) -> Any:
        """Wait until an expression is true in the page."""

        async def holds() -> Any:
            return await self.run(script)

        return await wait_until(holds, within, script)

    async def click(self, selector: str) -> None:
        """Click on the first element that this finds, once it is there."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.until(f"{found} != null")
        await self.run(f"{found}.click()")

    async def violations(self) -> list[str]:
        """Return what the Content-Security-Policy has kept the page from."""
        return await self.run("window.violations")

    async def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": parameters})
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                message = json.loads(await self._socket.receive_str())
                if message.get("id") == self._number:
                    assert "error" not in message, message
                    return message["result"]
                self._note(message.get("method"), message.get("params", {}))

    def _note(self, event: str, found: dict[str, Any]) -> None:
        match event:
            case "Network.requestWillBeSent":
                self.loaded.append(found["request"]["url"])
            case "Log.entryAdded" if found["entry"]["level"] in {"warning", "error"}:
                self.complaints.append(found["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(found["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if found["type"] in {"warning", "error", "assert"}:
                self.complaints.append(json.dumps(found["args"]))
            case _:
                pass


@asynccontextmanager
async def browser() -> AsyncGenerator[Browser]:
    """Start a browser with an empty profile; it ends with the block."""
    assert CHROMIUM.exists(), "there is no browser: make browser"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            CHROMIUM,
            *_FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # Without a language, as in a container, its own is no language tag, and libraries fail that read it.
            env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARIES), "LANG": "en_US.UTF-8"},
        )
        try:
            port = await _devtools_port(process)
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                    (target,) = [each for each in await answer.json() if each["type"] == "page"]
                async with session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    page = Browser(socket)
                    await page.watch()
                    yield page
        finally:
            process.kill()
            await process.communicate()


async def _devtools_port(process: asyncio.subprocess.Process) -> int:
    said: list[str] = []
    assert process.stderr is not None
    async with asyncio.timeout(START_SECONDS):
        while line := (await process.stderr.readline()).decode():
            said.append(line)
            if found := re.search(r"DevTools listening on ws://127\.0\.0\.1:(\d+)/", line):
                return int(found[1])
    raise AssertionError("the browser did not start:\n" + "".join(said))
