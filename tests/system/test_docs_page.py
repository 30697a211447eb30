"""The page /docs in a real browser, of both servers: it shows every endpoint, and the policy holds nothing of it back."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from apiserver.settings import ApiServerSettings
from proxy.app import create_operator_app
from tests.apiserver.conftest import CATALOG
from tests.apiserver.conftest import serving as apiserver_serving
from tests.conftest import NO_AUTHORITIES
from tests.proxy.proxies import fleet_of, proxy
from tests.support.browser import Browser, browser
from tests.support.scripted_engine import ScriptedFactory
from tests.support.serving import serving

ENDPOINTS = """[...document.querySelectorAll(".opblock")].map(each =>
  each.querySelector(".opblock-summary-method").innerText.toLowerCase() + " " +
  each.querySelector(".opblock-summary-path").dataset.path)"""
LIVEZ = '.opblock:has([data-path="/livez"])'


@pytest.fixture(scope="module")
async def page() -> AsyncGenerator[Browser]:
    async with browser() as one:
        yield one


async def check_page(page: Browser, url: str) -> None:
    """Open the page and each kind of thing on it, and see that all of it works with what the server itself serves."""
    async with httpx.AsyncClient(verify=NO_AUTHORITIES, trust_env=False) as client:
        described = (await client.get(f"{url}/openapi.json")).json()
    operations = {f"{method} {path}" for path, methods in described["paths"].items() for method in methods}
    await page.open(f"{url}/docs")
    await page.until('document.querySelectorAll(".opblock").length')
    assert set(await page.run(ENDPOINTS)) == operations
    # One endpoint with a body, a schema and the keys: all of them at once take a busy machine half a minute.
    await page.click(".opblock-post .opblock-summary-control")
    await page.click(".opblock-post .try-out__btn")
    await page.click(".models .json-schema-2020-12-accordion")
    await page.until('document.querySelector(".opblock-post .execute") != null')
    if "securitySchemes" in described["components"]:
        await page.click(".authorize")
        await page.until('document.querySelector(".modal-ux") != null')
    assert await page.run('getComputedStyle(document.querySelector(".opblock-summary-method")).fontWeight') == "700"
    assert await page.violations() == []
    assert page.complaints == []
    sources = {each.partition(url)[2] or each[:5] for each in page.loaded}
    files = {"/docs", *(f"/docs/{each}" for each in ("start.js", "swagger-ui.css", "swagger-ui-bundle.js"))}
    assert sources - {"data:"} == {*files, "/openapi.json"}


async def ask_livez(page: Browser) -> str:
    """Ask the server from the page, and return the status that it shows."""
    await page.click(f"{LIVEZ} .opblock-summary-control")
    await page.click(f"{LIVEZ} .try-out__btn")
    await page.click(f"{LIVEZ} .execute")
    return await page.until(
        f"""document.querySelector(`{LIVEZ} .live-responses-table tbody .response-col_status`)?.innerText"""
    )


async def test_docs_page_of_the_proxy_works(page: Browser) -> None:
    async with fleet_of("en>de") as (running, _):
        await check_page(page, running.url)
        assert await ask_livez(page) == "200"
        assert await page.violations() == []


async def test_docs_page_works_below_a_prefix(page: Browser) -> None:
    async with fleet_of("en>de", root_path="/mt") as (running, _):
        await page.open(f"{running.url}/mt/docs")
        await page.until('document.querySelectorAll(".opblock").length')
        assert await ask_livez(page) == "200"
        assert f"{running.url}/mt/livez" in page.loaded


async def test_docs_page_of_the_operators_port_works(page: Browser) -> None:
    async with fleet_of("en>de") as (running, _), serving(create_operator_app(running.serving.app)) as beside:
        await check_page(page, beside.url)


async def test_docs_page_of_the_api_server_works(page: Browser, tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text(CATALOG)
    async with apiserver_serving(ScriptedFactory(), ApiServerSettings.model_validate({"catalog": catalog})) as served:
        await check_page(page, str(served.client.base_url).rstrip("/"))


async def test_policy_holds_foreign_and_inline_code_back(page: Browser) -> None:
    """What the checks above would see: they must be able to fail."""
    async with proxy(["http://127.0.0.1:1"]) as running:
        await page.open(f"{running.url}/docs")
        await page.until('document.querySelectorAll(".opblock").length')
        await page.run(
            """(() => { const inline = document.createElement("script"); inline.textContent = "window.ran = 1";
            const foreign = document.createElement("img"); foreign.src = "https://elsewhere.example/x.png";
            document.body.append(inline, foreign); })()"""
        )
        await page.until("window.violations.length == 2")
        assert await page.run("window.ran") is None
        assert sorted(each.split()[0] for each in await page.violations()) == ["img-src", "script-src-elem"]
