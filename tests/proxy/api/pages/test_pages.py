"""The pages of a proxy: what is served where, what they load, and the libraries in them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from proxy.api.pages.pages import WEB_FOLDER
from tests.proxy.proxies import RunningProxy, proxy

MAX_TRANSFERRED_BYTES = 150_000
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
            assert not re.search(r"https?://|url\(|@import", path.read_text()), path


def test_imports_name_files_that_exist() -> None:
    for path in WEB_FOLDER.rglob("*.js"):
        if VENDORED in path.parents:
            continue
        for name in IMPORT.findall(path.read_text()):
            assert (path.parent / name).is_file(), f"{path}: {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_page_preloads_exactly_its_modules(page: Path) -> None:
    text = page.read_text()
    (entry,) = re.findall(r'<script type="module" src="\{\{assets\}\}/([^"]+)"', text)
    modules: set[Path] = set()
    open_paths = [WEB_FOLDER / entry]
    while open_paths:
        path = open_paths.pop()
        if path not in modules:
            modules.add(path)
            open_paths += [(path.parent / name).resolve() for name in IMPORT.findall(path.read_text())]
    names = {path.relative_to(WEB_FOLDER).as_posix() for path in modules} - {entry}
    preloaded = re.findall(r'<link rel="modulepreload" href="\{\{assets\}\}/([^"]+)"', text)
    assert sorted(names) == preloaded


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
