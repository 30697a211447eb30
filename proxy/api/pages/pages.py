"""Pages that the proxy serves, and the files that they load."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import FastAPI

from proxy.api.pages.assets import PREFIX, Assets, read_assets
from proxy.api.pages.html_page import HtmlPage
from proxy.api.pages.page_config import PageConfig
from shared.http.static_file import StaticFile

WEB_FOLDER: Final = Path(__file__).parents[3] / "web"
# The status page shows its sections; the path is relative to the page's.
RUNBOOKS_FILE: Final = WEB_FOLDER.parent / "docs/operations/runbooks.md"
RUNBOOKS_PATH: Final = "/status/runbooks.md"


class PageSource(NamedTuple):
    """A page's path at the proxy, and its file in ``web/``."""

    path: str
    file: str


TRANSLATE_PAGE: Final = PageSource("/", "translate/index.html")
STATUS_PAGE: Final = PageSource("/status", "status/index.html")


def add_pages(app: FastAPI, config: PageConfig, *sources: PageSource) -> None:
    """Add these pages and all assets to an app."""
    assets = _assets()
    for source in sources:
        page = HtmlPage(source.path, (WEB_FOLDER / source.file).read_text(), assets.base, config)
        app.router.add_route(source.path, page.serve, include_in_schema=False)
    if STATUS_PAGE in sources:
        runbooks = StaticFile(RUNBOOKS_FILE.read_bytes(), "text/markdown; charset=utf-8")
        app.router.add_route(RUNBOOKS_PATH, runbooks.serve, include_in_schema=False)
    app.router.add_route(f"/{PREFIX}/{{path:path}}", assets.serve, include_in_schema=False)


@cache
def _assets() -> Assets:
    return read_assets(WEB_FOLDER)
