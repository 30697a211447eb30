"""HTML pages: rendered once, with a strict policy, at one address each."""

from __future__ import annotations

from html import escape
from typing import Final

from fastapi import Request, Response

from proxy.api.pages.page_config import PageConfig
from shared.http.static_file import StaticFile

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
