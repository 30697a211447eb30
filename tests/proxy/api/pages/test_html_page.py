"""HTML pages: rendered once, with a strict policy, at one address each."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator
from html import unescape

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from proxy.api.pages.html_page import HtmlPage
from proxy.api.pages.page_config import PageConfig
from shared.http.app_setup import configure_app
from tests.conftest import NO_AUTHORITIES
from tests.support.serving import serving

CONFIG = PageConfig(version='1"><script>', max_text_chars=7, keys=False)
TEMPLATE = '<meta content="{{config}}"><script src="{{assets}}/a.js"></script>'


@pytest.fixture(scope="module", params=["", "/mt"])
async def client(request: pytest.FixtureRequest) -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI(docs_url=None, redoc_url=None, root_path=request.param, redirect_slashes=False)
    configure_app(app)
    for path in ("/", "/status"):
        app.routes.append(Route(path, HtmlPage(path, TEMPLATE, "assets/0", CONFIG).serve))
    async with (
        serving(app) as served,
        httpx.AsyncClient(base_url=served.url + request.param, verify=NO_AUTHORITIES, trust_env=False) as client,
    ):
        yield client


@pytest.mark.parametrize("path", ["/", "/status"])
async def test_page_has_its_config_and_relative_assets(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    found = re.fullmatch(r'<meta content="([^"<>]*)"><script src="assets/0/a.js"></script>', answer.text)
    assert found
    assert json.loads(unescape(found[1])) == CONFIG.model_dump()


@pytest.mark.parametrize("path", ["/", "/status"])
async def test_policy_is_strict_and_single(client: httpx.AsyncClient, path: str) -> None:
    (policy,) = (await client.get(path)).headers.get_list("content-security-policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    for own in ("script-src", "style-src", "img-src", "connect-src"):
        assert rules.pop(own) == "'self'"
    assert set(rules.values()) == {"'none'"}


async def test_slash_too_many_is_redirected(client: httpx.AsyncClient) -> None:
    answer = await client.get("/status/")
    assert answer.status_code == 308
    assert answer.next_request is not None
    assert answer.next_request.url.path == str(client.base_url.path) + "status"


async def test_root_path_without_slash_is_redirected(client: httpx.AsyncClient) -> None:
    if (root := client.base_url.path.rstrip("/")) == "":
        return
    answer = await client.get(client.base_url.copy_with(path=root))
    assert answer.status_code == 308
    assert answer.next_request is not None
    assert answer.next_request.url.path == f"{root}/"
    assert (await client.send(answer.next_request)).status_code == 200


async def test_stripped_prefix_is_no_redirect(client: httpx.AsyncClient) -> None:
    assert (await client.get(client.base_url.copy_with(path="/"))).status_code == 200
