"""Callers: DeepL's places for keys, small requests, and what had no effect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from fastapi import Request

from proxy.api.compat.fields import Fields, header_key, parse_fields, query_fields
from proxy.api.compat.key_scan import find_key
from proxy.api.exchange import SMALL_SECONDS, RequestExchange
from shared.http.request_context import add_response_headers, request_header
from shared.parsing.json_reader import JsonReader
from shared.protocol.headers import BEARER

_SCHEMES: Final = ("DeepL-Auth-Key", BEARER)
_KEY_FIELD: Final = "auth_key"
READER: Final = JsonReader((_KEY_FIELD, "type"))
# The parameters of a list of languages, and a key.
SMALL_BODY_BYTES: Final = 4096
# Names of fields that had no effect.
IGNORED_HEADER: Final = "X-Pairway-Ignored"
MAX_IGNORED: Final = 16
_SHOWN_NAME: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,40}")


def header_authorization(request: Request) -> str | None:
    """Return the header's key as a bearer's, None without one."""
    key = header_key(request, *_SCHEMES)
    return f"{BEARER} {key}" if key else None


def find_authorization(request: Request, body: bytes) -> str | None:
    """Return the body's key as a bearer's, None without one.

    One in the URL is no key.
    """
    key = find_key(request_header(request, "content-type") or "", body, (_KEY_FIELD,))
    return f"{BEARER} {key}" if key else None


async def receive_parameters(exchange: RequestExchange) -> Fields:
    """Authenticate the caller; return the parameters in query and body.

    DeepL's client for Python sends a form with its GETs. With a body, a key in the query is left out.

    Raises:
        PairwayError: the key is missing or refused, or the body is too large or too slow, or cannot be read.
    """
    request = exchange.request
    find = partial(find_authorization, request)
    body = await exchange.receive(header_authorization(request), find, SMALL_BODY_BYTES)
    fields = query_fields(request)
    in_body = await parse_fields(request, body, READER) if body else fields
    if in_body.in_url:
        return fields
    in_query = {name: value for name, value in fields.members.items() if name != _KEY_FIELD}
    return Fields({**in_query, **in_body.members})


def small_exchange(request: Request) -> RequestExchange:
    """Return the uncounted exchange of a request about keys or languages."""
    return RequestExchange(request, SMALL_SECONDS, counts=False)


def note_ignored(request: Request, names: Sequence[str]) -> None:
    """Name fields that had no effect in the response's headers."""
    if names:
        shown = sorted({name if _SHOWN_NAME.fullmatch(name) else "?" for name in names})
        add_response_headers(request, {IGNORED_HEADER: ", ".join(shown[:MAX_IGNORED])})
