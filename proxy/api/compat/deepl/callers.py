"""Callers: DeepL's places for keys, small requests, and what had no effect."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Final

from fastapi import Request

from proxy.api.compat.fields import Fields, header_key, parse_fields, query_fields
from proxy.context import context
from proxy.keys.api_key import ApiKey, Scope
from shared.http.body import read_body
from shared.http.request_context import add_log_fields, add_response_headers
from shared.protocol.deadline import Deadline
from shared.protocol.headers import BEARER

_SCHEMES: Final = ("DeepL-Auth-Key", BEARER)
_KEY_FIELD: Final = "auth_key"
# The parameters of a list of languages, and a key.
SMALL_BODY_BYTES: Final = 4096
SMALL_BODY_SECONDS: Final = 5.0
# Names of fields that had no effect.
IGNORED_HEADER: Final = "X-Pairway-Ignored"
MAX_IGNORED: Final = 16
_SHOWN_NAME: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,40}")


def header_authorization(request: Request) -> str | None:
    """Return the header's key as a bearer's, None without one."""
    key = header_key(request, *_SCHEMES)
    return f"{BEARER} {key}" if key else None


def body_authorization(fields: Fields) -> str | None:
    """Return the body's key as a bearer's, None without one.

    One in the URL is no key.
    """
    key = "" if fields.in_url else fields.text(_KEY_FIELD)
    return f"{BEARER} {key}" if key else None


async def read_parameters(request: Request) -> Fields:
    """Read the parameters in the query and in a small body.

    DeepL's client for Python sends a form with its GETs. With a body, a key in the query is left out.

    Raises:
        PairwayError: the body is too large or too slow, or cannot be read.
    """
    deadline = Deadline.after(SMALL_BODY_SECONDS, time.monotonic)
    with context(request).process.keyless_body_budget.reserve() as reservation:
        body = await read_body(request, SMALL_BODY_BYTES, deadline, reservation)
        fields = query_fields(request)
        in_body = await parse_fields(request, body) if body else fields
        if in_body.in_url:
            return fields
        in_query = {name: value for name, value in fields.members.items() if name != _KEY_FIELD}
        return Fields({**in_query, **in_body.members})


async def identify(request: Request, fields: Fields) -> ApiKey | None:
    """Return the caller's key, None if keys are off; nothing is counted.

    Raises:
        PairwayError: the key is missing or refused.
    """
    authenticator = context(request).keys.authenticator
    if not authenticator.on:
        return None
    authorization = header_authorization(request) or body_authorization(fields)
    key = await authenticator.identify(authorization, Scope.TRANSLATE)
    add_log_fields(request, key=key.id)
    return key


def note_ignored(request: Request, names: Sequence[str]) -> None:
    """Name fields that had no effect in the response's headers."""
    if names:
        shown = sorted({name if _SHOWN_NAME.fullmatch(name) else "?" for name in names})
        add_response_headers(request, {IGNORED_HEADER: ", ".join(shown[:MAX_IGNORED])})
