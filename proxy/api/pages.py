"""Web pages: the files of ``web/``, served from memory."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, Field

from proxy.api.linked_files import link
from proxy.api.runbooks import add_runbooks
from proxy.settings import ProxySettings
from shared.http.static_file import IMMUTABLE, StaticFile
from shared.protocol.errors import NotFoundError
from shared.protocol.headers import mask_secrets
from shared.version import VERSION

PREFIX: Final = "assets"
_JAVASCRIPT: Final = "text/javascript; charset=utf-8"
# By suffix. No other file is served.
_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": _JAVASCRIPT,
    ".json": "application/json",
    ".mjs": _JAVASCRIPT,
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",  # licences
}
# 64 bits: two versions of the files never share an address by accident.
_DIGEST_CHARS: Final = 16


class Assets:
    """Files under ``base``, an address relative to the pages.

    One hash of all files stands in front of their names: whatever a page loads by a relative name is of one version.
    """

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        listing = "\n".join(f"{hashlib.sha256(contents[name]).hexdigest()} {name}" for name in sorted(contents))
        self.base = f"{PREFIX}/{hashlib.sha256(listing.encode()).hexdigest()[:_DIGEST_CHARS]}"
        self.files = {
            f"{self.base}/{name}": StaticFile(content, _MEDIA_TYPES[Path(name).suffix], IMMUTABLE)
            for name, content in contents.items()
        }

    async def serve(self, request: Request) -> Response:
        """Answer with the file at ``path`` below ``assets/``.

        Raises:
            NotFoundError: there is no such file.
        """
        path = f"{PREFIX}/{request.path_params['path']}"
        file = self.files.get(path)
        if file is None:
            raise NotFoundError(
                f"The path /{mask_secrets(path)} does not exist; the files of this version are in {self.base}/."
            )
        return await file.serve(request)


def read_assets(folder: Path) -> Assets:
    """Read and link all files below a folder whose kind is served."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in _MEDIA_TYPES]
    return Assets(link({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}))


class PageConfig(BaseModel):
    """Public facts about a proxy, in the HTML of its pages."""

    version: str = Field(default=VERSION, description="Version of the proxy.")
    max_text_chars: int = Field(description="Most characters in one text.")
    keys: bool = Field(description="Whether callers need an API key.")


def page_config(settings: ProxySettings) -> PageConfig:
    """Return what pages of this proxy must know."""
    return PageConfig(max_text_chars=settings.max_text_chars, keys=settings.keys_on)


_ASSETS_PLACEHOLDER: Final = "{{assets}}"
_CONFIG_PLACEHOLDER: Final = "{{config}}"
# Everything comes from this server. Translated HTML is shown in a frame of its own (srcdoc), which inherits this policy:
# it has no scripts, no images and no address to send anything to.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
_PERMANENT_REDIRECT: Final = 308


class HtmlPage:
    """Page at ``path``; its own addresses are relative."""

    def __init__(self, path: str, template: str, assets_base: str, config: PageConfig) -> None:
        self._name = path.rpartition("/")[2]
        text = template.replace(_ASSETS_PLACEHOLDER, assets_base)
        text = text.replace(_CONFIG_PLACEHOLDER, escape(config.model_dump_json()))
        self._file = StaticFile(text.encode(), "text/html; charset=utf-8", headers={"content-security-policy": _POLICY})

    async def serve(self, request: Request) -> Response:
        """Answer with the page.

        An address with a slash too many or too few is redirected, because relative addresses would lead elsewhere.
        """
        raw_path: bytes = request.scope["raw_path"]
        before, _, last = raw_path.decode("latin-1").rstrip("/").rpartition("/")
        ends_with_slash = raw_path.endswith(b"/")
        if self._name and ends_with_slash:
            return _redirect(f"../{self._name}")
        if not self._name and not ends_with_slash and (before or last):
            return _redirect(f"{last}/")
        return await self._file.serve(request)


def _redirect(target: str) -> Response:
    return Response(status_code=_PERMANENT_REDIRECT, headers={"location": target})


WEB_FOLDER: Final = Path(__file__).parents[2] / "web"


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
        add_runbooks(app)
    app.router.add_route(f"/{PREFIX}/{{path:path}}", assets.serve, include_in_schema=False)


@cache
def _assets() -> Assets:
    return read_assets(WEB_FOLDER)
