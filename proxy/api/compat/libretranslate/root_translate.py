"""``POST /translate`` at the root: LibreTranslate's if it has ``q``, else native."""

from __future__ import annotations

from typing import Final

from fastapi import Request

from proxy.api.compat.fields import Fields, json_fields
from proxy.api.compat.libretranslate.errors import render_error
from proxy.api.compat.libretranslate.question import insert_comma
from proxy.api.compat.libretranslate.routes import API
from proxy.api.translation_run import TranslationRun
from proxy.context import context
from shared.http.form_body import MULTIPART, URLENCODED
from shared.http.problems import JSON, render_errors_with
from shared.http.request_context import request_header
from shared.protocol.errors import BadRequestError, ClientGoneError, OverloadedError, PairwayError

# Quotes inside a text are escaped, so this is a name or a whole value.
_QUOTED_Q: Final = b'"q"'


def is_mounted(request: Request) -> bool:
    """Return whether LibreTranslate is served at the root."""
    return API.name in context(request).settings.compat


def is_form_or_query(request: Request) -> bool:
    """Return whether a request has a form, or ``q`` in the query."""
    content_type = request_header(request, "content-type")
    if content_type == JSON or not is_mounted(request):
        return False
    kind = (content_type or "").partition(";")[0].strip().lower()
    query: bytes = request.scope["query_string"]
    return kind in {URLENCODED, MULTIPART} or (kind != JSON and (query.startswith(b"q=") or b"&q=" in query))


async def read_keyless_fields(run: TranslationRun) -> Fields | None:
    """Return LibreTranslate's fields of a request without Authorization, or None.

    Raises:
        ClientGoneError: the client disconnected.
        OverloadedError: other bodies fill the budget; the key may be in this one.
    """
    try:
        body = await run.read_json_body()
    except (ClientGoneError, OverloadedError):
        raise
    except PairwayError:  # the caller answers that a key is missing, as for any native request
        return None
    return libretranslate_fields(run.request, body)


def libretranslate_fields(request: Request, body: bytes) -> Fields | None:
    """Return a JSON body's fields if it has ``q``, without ``text``.

    Later errors of a request with them are rendered as LibreTranslate's.
    """
    if _QUOTED_Q not in body or not is_mounted(request):
        return None
    try:
        fields = json_fields(body, insert_comma)
    except BadRequestError:
        return None
    if "q" not in fields.members or "text" in fields.members:
        return None
    render_errors_with(request, render_error)
    return fields
