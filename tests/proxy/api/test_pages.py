"""The pages of a proxy: what is served where, what they load, their policy, and the libraries in them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncGenerator
from html import unescape
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from proxy.api.pages import WEB_FOLDER, Assets, HtmlPage, PageConfig, page_config, read_assets
from proxy.settings import ProxySettings
from shared.http.app_setup import configure_app
from tests.conftest import NO_AUTHORITIES
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.serving import serving

MAX_TRANSFERRED_BYTES = 150_000
MAX_FILES = 5
VENDORED = WEB_FOLDER / "vendor"
PAGES = sorted(WEB_FOLDER.glob("*/index.html"))
IMPORT = re.compile(r'(?:^import|^export) [^"]*"(\.[^"]+)";$', re.MULTILINE)


@pytest.fixture(scope="module")
async def running() -> AsyncGenerator[RunningProxy]:
    async with proxy(["http://127.0.0.1:1"]) as one:
        yield one


async def loaded_by(client: httpx.AsyncClient, path: str) -> list[str]:
    page = (await client.get(path)).text
    return re.findall(r'(?:src|href)="([^"]+)"', page)


async def test_translate_page_and_its_files_are_served(running: RunningProxy) -> None:
    files = [each for each in await loaded_by(running.client, "/") if each.startswith("assets/")]
    assert any(each.endswith("/translate/page.js") for each in files)
    for each in files:
        answer = await running.client.get(f"/{each}")
        assert answer.status_code == 200, each
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/assets",
        "/assets/",
        "/assets/0000000000000000/translate/page.js",
        "/assets/BASE/translate/index.html",
        "/assets/BASE/translate/",
        "/assets/BASE/vendor/README.md",
        "/assets/BASE/../proxy/app.py",
        "/assets/BASE/%2e%2e/%2e%2e/proxy/app.py",
        "/assets/BASE//etc/passwd",
        "/index.html",
        "/web/translate/index.html",
    ],
)
async def test_nothing_else_is_served(running: RunningProxy, path: str) -> None:
    base = (await loaded_by(running.client, "/"))[0].split("/")[1]
    answer = await running.client.get(path.replace("BASE", base))
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert "immutable" not in answer.headers["cache-control"]


async def test_other_methods_are_405(running: RunningProxy) -> None:
    answer = await running.client.post("/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert (await running.client.head("/")).status_code == 200


async def test_pages_off_leaves_the_root_unknown() -> None:
    async with proxy(["http://127.0.0.1:1"], pages=False) as running:
        for path in ("/", "/assets/0/translate/page.js"):
            assert (await running.client.get(path)).status_code == 404
        assert (await running.client.get("/docs")).status_code == 200


async def test_links_of_other_sites_open_the_page(running: RunningProxy) -> None:
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await running.client.get("/", headers=link)).status_code == 200
    no_link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await running.client.get("/", headers=no_link)).status_code == 403


def test_vendored_files_are_those_of_the_readme() -> None:
    lines = re.findall(r"^([0-9a-f]{64})  (\S+)$", (VENDORED / "README.md").read_text(), re.MULTILINE)
    found = {
        path.relative_to(VENDORED).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDORED.glob("*/*")
    }
    assert found == {name: digest for digest, name in lines}
    assert all((folder / "LICENSE").exists() for folder in VENDORED.iterdir() if folder.is_dir())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_page_has_no_inline_code_or_foreign_address(page: Path) -> None:
    text = page.read_text()
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?:|=\"//", text)
    assert all(not body.strip() for body in re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL))


def test_own_files_name_no_other_server() -> None:
    for path in WEB_FOLDER.rglob("*"):
        if path.suffix in {".js", ".css", ".json"} and VENDORED not in path.parents:
            assert not re.search(r"https?://|url\(|@import (?!\"\.)", path.read_text()), path


def test_imports_name_files_that_exist() -> None:
    for path in WEB_FOLDER.rglob("*.js"):
        if VENDORED in path.parents:
            continue
        for name in IMPORT.findall(path.read_text()):
            assert (path.parent / name).is_file(), f"{path}: {name}"


@pytest.mark.parametrize("path", ["/", "/status"])
async def test_page_names_few_files(running: RunningProxy, path: str) -> None:
    """Beside them a browser asks for a language's texts and for the first data."""
    assert len([each for each in await loaded_by(running.client, path) if each.startswith("assets/")]) <= MAX_FILES


def test_scripts_are_served_with_all_that_they_import() -> None:
    served = read_assets(WEB_FOLDER).files
    scripts = {name.split("/", 2)[2] for name in served if name.endswith((".js", ".mjs"))}
    assert scripts == {"common/loader.js", "status/page.js", "translate/page.js", "vendor/uplot/uPlot.iife.min.js"}
    assert {name.split("/", 2)[2] for name in served if name.endswith(".css")} == {
        "status/page.css",
        "translate/page.css",
    }


async def test_translate_page_is_small(running: RunningProxy) -> None:
    """All that a browser loads for it, as compressed on the wire, with the longest language."""
    page = await running.client.get("/")
    files = [each for each in await loaded_by(running.client, "/") if each.startswith("assets/")]
    base = "/".join(files[0].split("/")[:2])
    languages = [f"{base}/translate/strings/{path.name}" for path in WEB_FOLDER.glob("translate/strings/*.json")]
    sizes = {
        each: int((await running.client.get(f"/{each}")).headers["content-length"]) for each in {*files, *languages}
    }
    total = sum(sizes[each] for each in {*files}) + max(sizes[each] for each in languages)
    assert total + int(page.headers["content-length"]) <= MAX_TRANSFERRED_BYTES


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


def base(**contents: bytes) -> str:
    return Assets({f"{name}.js": content for name, content in contents.items()}).base


def test_address_changes_with_any_file() -> None:
    addresses = [
        base(a=b"1"),
        base(a=b"2"),
        base(b=b"1"),
        base(a=b"1", b=b""),
        base(a=b"1", b=b"2"),
        base(a=b"12", b=b""),
    ]
    assert len(set(addresses)) == len(addresses)
    assert base(a=b"1", b=b"2") == base(b=b"2", a=b"1")


def test_only_known_kinds_are_read(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("page.html", "README.md", ".hidden.swp", "inner/one.js", "two.css", "inner/LICENSE", "x.map"):
        (tmp_path / name).write_text(name)
    found = read_assets(tmp_path)
    assert {name.removeprefix(f"{found.base}/") for name in found.files} == {"inner/one.js", "two.css", "inner/LICENSE"}


def test_pages_are_on_unless_turned_off() -> None:
    assert ProxySettings().pages
    assert not ProxySettings.model_validate({"pages": "off"}).pages


def test_config_has_what_pages_need_and_no_secret() -> None:
    settings = ProxySettings.model_validate(
        {"keys": "on", "max_text_chars": 5000, "operator_token": "a-token-of-operators", "replica_token": "b" * 20}
    )
    config = page_config(settings)
    assert set(config.model_dump()) == {"version", "max_text_chars", "keys"}
    assert (config.max_text_chars, config.keys) == (5000, True)
