"""DeepL's API: the routes of its modules, and what is not offered."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response

from proxy.api.compat.compat_api import CompatApi, CompatRoute
from proxy.api.compat.deepl import glossaries, languages, translate, usage
from proxy.api.compat.deepl.errors import render_error
from shared.protocol.errors import NotFoundError


async def refuse_document(_: Request) -> Response:
    """Raise NotFoundError: documents are not offered."""
    raise NotFoundError("This server does not translate documents; send their texts to /v2/translate.")


async def refuse_write(_: Request) -> Response:
    """Raise NotFoundError: DeepL Write is not offered."""
    raise NotFoundError("This server translates texts and does not rephrase or correct them.")


_NOT_OFFERED: Final = (
    CompatRoute(("POST",), "/v2/document", refuse_document, at_root=True),
    CompatRoute(("GET", "POST"), "/v2/document/{document}", refuse_document, at_root=True),
    CompatRoute(("GET", "POST"), "/v2/document/{document}/result", refuse_document, at_root=True),
    CompatRoute(("POST",), "/v2/write/rephrase", refuse_write, at_root=True),
    CompatRoute(("POST",), "/v2/write/correct", refuse_write, at_root=True),
)
API: Final = CompatApi(
    "deepl", (*translate.ROUTES, *languages.ROUTES, *usage.ROUTES, *glossaries.ROUTES, *_NOT_OFFERED), render_error
)
