"""Pages in a real browser: one of another origin gets nothing done, an allowed one and our own are served."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from tests.proxy.proxies import RunningProxy, fleet_of
from tests.support.browser import Browser, browser
from tests.support.serving import serving

# What a page can send: each returns the status it can read, or the error's name.
SEND = """
const send = (path, options) => fetch(PROXY + path, options).then(answer => answer.status, error => error.name);
const native = JSON.stringify({text: "Hello", source_lang: "en", target_lang: "de"});
const libre = new URLSearchParams({q: "Hello", source: "en", target: "de"});
const json = {"Content-Type": "application/json"};
"""
ALL = f"""(async () => {{ {SEND}
  return [
    await send("/translate", {{method: "POST", body: native}}),
    await send("/translate", {{method: "POST", body: libre}}),
    await send("/translate?" + libre, {{method: "POST"}}),
    await send("/libretranslate/translate", {{method: "POST", body: libre}}),
    await send("/translate", {{method: "POST", body: native, headers: json}}),
    await send("/translate", {{method: "POST", body: native, headers: {{...json, "X-Priority": "interactive"}}}}),
    await send("/languages"),
  ];
}})()"""
# The same where the page does not ask to read the answer, and as forms and images do it.
BLIND = f"""(async () => {{ {SEND}
  const blind = {{mode: "no-cors"}};
  await send("/translate", {{...blind, method: "POST", body: libre}});
  await send("/translate", {{...blind, method: "POST", body: native}});
  await send("/languages", blind);
  const frame = Object.assign(document.createElement("iframe"), {{name: "frame"}});
  const form = Object.assign(document.createElement("form"), {{method: "POST", target: "frame"}});
  form.action = PROXY + "/libretranslate/translate";
  for (const [name, value] of libre) form.append(Object.assign(document.createElement("input"), {{name, value}}));
  document.body.append(frame, form);
  const shown = new Promise(resolve => frame.addEventListener("load", resolve));
  form.submit();
  await shown;
  const image = new Image();
  const failed = new Promise(resolve => {{ image.onload = image.onerror = resolve; }});
  image.src = PROXY + "/translate?" + libre;
  await failed;
  return "sent";
}})()"""
READ = f"""(async () => {{ {SEND}
  const answer = await fetch(PROXY + "/translate", {{method: "POST", body: native, headers: json}});
  const wrong = await fetch(PROXY + "/translate", {{method: "POST", body: "{{}}", headers: json}});
  return [(await answer.json()).translation, answer.headers.get("x-request-id").length, (await wrong.json()).code];
}})()"""


@pytest.fixture(scope="module")
async def page() -> AsyncGenerator[Browser]:
    async with browser() as one:
        yield one


@pytest.fixture(scope="module")
async def other_origin() -> AsyncGenerator[str]:
    """A web server of somebody else's, with an empty page; its URL."""
    app = FastAPI()
    app.add_api_route("/", lambda: HTMLResponse("<!doctype html><title>A page</title><link rel=icon href='data:,'>"))
    async with serving(app) as served:
        yield served.url


async def run(page: Browser, running: RunningProxy, script: str) -> Any:
    """Return what the script returns, in the open page."""
    await page.until("document.readyState == 'complete'")
    return await page.run(script.replace("PROXY", f'"{running.url}"'))


async def test_foreign_page_gets_nothing_done(page: Browser, other_origin: str) -> None:
    async with fleet_of("en>de") as (running, fake):
        await page.open(other_origin)
        assert await run(page, running, ALL) == ["TypeError"] * 7
        assert await run(page, running, BLIND) == "sent"
        metrics = (await running.client.get("/metrics")).text
        counters = [line for line in metrics.splitlines() if line.startswith("pairway_proxy_requests_total{")]
        assert all(line.endswith(" 0.0") for line in counters)
        assert fake.requests == []


async def test_allowed_page_is_served_and_can_read_errors(page: Browser, other_origin: str) -> None:
    async with fleet_of("en>de", cors_origins=(other_origin,)) as (running, _):
        await page.open(other_origin)
        text_plain, *others = await run(page, running, ALL)
        assert (text_plain, others) == (415, [200] * 6)
        assert await run(page, running, READ) == ["[en>de by fake] Hello", 32, "invalid-request"]


async def test_own_page_is_served(page: Browser) -> None:
    async with fleet_of("en>de") as (running, _):
        await page.open(f"{running.url}/docs")
        assert (await run(page, running, ALL))[1:] == [200] * 6
