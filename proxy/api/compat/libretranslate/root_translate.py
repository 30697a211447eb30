"""``POST /translate`` at the root: LibreTranslate's if it has ``q``, else native."""

from __future__ import annotations

from functools import partial
from typing import Final

from fastapi import Request

from proxy.api.compat.fields import Fields, json_fields_of
from proxy.api.compat.key_scan import has_member
from proxy.api.compat.libretranslate.errors import render_error
from proxy.api.compat.libretranslate.question import READER, find_authorization, insert_comma
from proxy.api.compat.libretranslate.routes import API
from proxy.api.compat.libretranslate.translate import QUEUE_SECONDS
from proxy.api.translation_run import TranslationRun
from proxy.context import context
from shared.http.problems import JSON, render_errors_with
from shared.http.request_context import request_header
from shared.parsing.form_body import MULTIPART, URLENCODED
from shared.protocol.errors import BadRequestError, TooLargeError, UnsupportedMediaError

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


async def receive_keyless(run: TranslationRun) -> Fields:
    """Return the fields of a request whose key is in the body.

    Raises:
        KeyRequiredError: there is none, or the request is a native one.
        PairwayError: as :meth:`TranslationRun.receive`; from LibreTranslate's clients, in its form.
    """
    try:
        body = await run.receive(None, partial(_find_authorization, run), is_json=True)
    except (UnsupportedMediaError, TooLargeError):
        await run.authenticate(None)  # what is missing first is the key
        raise
    fields = await json_fields_of(run.request, body, READER, insert_comma)
    if not _is_question(fields):
        await run.authenticate(None)
    return fields


def _find_authorization(run: TranslationRun, body: bytes) -> str | None:
    if not has_member(body, "q") or has_member(body, "text"):
        return None
    render_errors_with(run.request, render_error)
    run.queue_seconds = QUEUE_SECONDS
    return find_authorization(run.request, body)


async def libretranslate_fields(request: Request, body: bytes) -> Fields | None:
    """Return a JSON body's fields if it has ``q``, without ``text``.

    Later errors of a request with them are rendered as LibreTranslate's.
    """
    if _QUOTED_Q not in body or not is_mounted(request):
        return None
    try:
        fields = await json_fields_of(request, body, READER, insert_comma)
    except (BadRequestError, TooLargeError):
        return None
    if not _is_question(fields):
        return None
    render_errors_with(request, render_error)
    return fields


def _is_question(fields: Fields) -> bool:
    return "q" in fields.members and "text" not in fields.members
