"""Forms and query strings: names and values, within limits."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from shared.protocol.errors import BadRequestError

URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
# More than the texts and options of any request.
MAX_FIELDS: Final = 2000
_CHARSETS: Final = frozenset({b"utf-8", b"utf8"})

Pairs = list[tuple[str, str]]


def parse_urlencoded(encoded: bytes) -> Pairs:
    """Return the fields of a query string or a form.

    Raises:
        BadRequestError: it is not UTF-8, or has more than ``MAX_FIELDS`` fields.
    """
    try:
        return parse_qsl(
            encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS, separator="&"
        )
    except ValueError as error:  # including UnicodeDecodeError
        raise BadRequestError(f"The form cannot be read: {error}.") from None


async def parse_multipart(body: bytes, content_type: str) -> Pairs:
    """Return the text fields of a multipart form.

    Raises:
        BadRequestError: it is malformed, not UTF-8, has a file, or more than ``MAX_FIELDS`` fields.
    """
    _require_utf_8(body, content_type)

    async def parts() -> AsyncGenerator[bytes]:
        yield body

    headers = Headers({"content-type": content_type})
    parser = MultiPartParser(headers, parts(), max_files=0, max_fields=MAX_FIELDS, max_part_size=max(1, len(body)))
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise BadRequestError(f"The form cannot be read: {error.message}") from None
    except (FormParserError, KeyError, ValueError) as error:  # no boundary
        raise BadRequestError(f"The form cannot be read: {type(error).__name__}.") from None
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]


def _require_utf_8(body: bytes, content_type: str) -> None:
    """Raise BadRequestError unless a form is declared and written as UTF-8.

    Python's codecs, from which the parser lets the client choose, include some that make lone surrogates, and slow ones.
    """
    try:
        is_utf_8 = parse_options_header(content_type)[1].get(b"charset", b"utf-8").lower() in _CHARSETS
        body.decode()
    except UnicodeDecodeError:
        is_utf_8 = False
    if not is_utf_8:
        raise BadRequestError("The form cannot be read: it must be UTF-8, and so must be its charset if it names one.")
