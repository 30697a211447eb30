"""Question: the checked fields of a request."""

from __future__ import annotations

import re
from typing import Final, NamedTuple, cast

from fastapi import Request

from proxy.api.compat.fields import Fields
from proxy.api.compat.key_scan import find_key, has_fields
from proxy.api.compat.language_codes import parse_code
from proxy.api.compat.libretranslate.errors import RefusalError, missing, not_supported, over_limit
from proxy.keys.api_key import id_of
from shared.http.request_context import request_header
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import TooLargeError
from shared.protocol.headers import BEARER, parse_bearer
from shared.protocol.translate_request import AUTO, MAX_ALTERNATIVES, Limits, TextFormat

_FORMATS: Final = {"text": TextFormat.TEXT, "html": TextFormat.HTML}
READER: Final = JsonReader(("q", "source", "target", "format", "alternatives", "api_key", "apiKey"))
# Subtitle Edit forgets the comma between these two members.
_GAP: Final = re.compile(rb'("target"\s*:\s*"[A-Za-z0-9_-]{1,35}")\s*("api_key"\s*:)')
# npm's client has the second.
_KEY_FIELDS: Final = ("api_key", "apiKey")


class Question(NamedTuple):
    """A checked request; ``source`` and ``target`` are tags, ``source_code`` is as sent."""

    texts: list[str]
    is_list: bool
    source: str
    source_code: str
    target: str
    text_format: TextFormat
    alternatives: int


def early_authorization(request: Request) -> str | None:
    """Return the header Authorization if it shows a key, None otherwise.

    Any other text may be for a web server in between, so the key may still be in the body.
    """
    header = request_header(request, "authorization")
    return header if id_of(parse_bearer(header) or "") else None


def find_authorization(request: Request, body: bytes) -> str | None:
    """Return the header Authorization, or the same made of the field ``api_key``.

    Without fields in the body it is searched in the query.
    """
    content_type = request_header(request, "content-type") or ""
    if has_fields(content_type, body):
        key = find_key(content_type, body, _KEY_FIELDS)
    else:
        key = find_key("", request.scope["query_string"], _KEY_FIELDS)
    return f"{BEARER} {key}" if key else request_header(request, "authorization")


def insert_comma(body: bytes) -> bytes:
    """Return a body with the comma that Subtitle Edit leaves out."""
    return _GAP.sub(rb"\1, \2", body, count=1)


def read_question(fields: Fields) -> Question:
    """Return the checked fields, in LibreTranslate's order.

    Raises:
        PairwayError: one is missing or wrong.
    """
    members = fields.members
    texts, is_list = read_texts(fields)
    for name in ("source", "target"):
        if not members.get(name):
            raise missing(name)
    alternatives = _alternatives(members.get("alternatives"))
    source = _code(members["source"])
    tag = AUTO if source.lower() == AUTO else parse_code(source, "source")
    target = parse_code(_code(members["target"]), "target")
    text_format = _FORMATS.get(str(members.get("format") or TextFormat.TEXT))
    if text_format is None:
        raise RefusalError(f"{str(members['format'])[:40]} format is not supported")
    return Question(texts, is_list, tag, source, target, text_format, alternatives)


def _code(value: object) -> str:
    if not isinstance(value, str):
        raise not_supported(value)
    return value


def _alternatives(value: object) -> int:
    if value is None or value == "":
        return 0
    try:
        number = max(0, int(cast("str", value)))
    except (ValueError, TypeError):
        raise RefusalError("Invalid request: alternatives parameter is not a number") from None
    if number > MAX_ALTERNATIVES:
        raise RefusalError(f"Invalid request: alternatives parameter must be <= {MAX_ALTERNATIVES}")
    return number


def read_texts(fields: Fields) -> tuple[list[str], bool]:
    """Return the texts of ``q``, and whether it is a list.

    Raises:
        RefusalError: it is missing, or has other types.
    """
    value = fields.members.get("q")
    if not value:
        raise missing("q")
    is_list = isinstance(value, list)
    texts = cast("list[object]", value) if is_list else [value]
    if not all(isinstance(text, str) for text in texts):
        raise RefusalError("Invalid request: q parameter must be a string or a list of strings")
    if not fields.is_json:
        texts = [str(text).replace("\r\n", "\n").replace("\r", "\n") for text in texts]
    return cast("list[str]", texts), is_list


def check_limits(limits: Limits, texts: list[str]) -> None:
    """Raise RefusalError beyond a limit."""
    try:
        limits.check(texts)
    except TooLargeError as error:
        raise over_limit(error.size or 0, error.limit) from None
