"""Forms and query strings: names and values, within limits."""

from __future__ import annotations

import binascii
import re
from collections.abc import AsyncGenerator
from typing import Final, cast

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from shared.protocol.errors import BadRequestError

URLENCODED: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
# More than the texts and options of any request.
MAX_FIELDS: Final = 2000
# Decoded at once: a list of all escapes of a body would need fifteen times its bytes.
SLICE_BYTES: Final = 65_536
_ESCAPES: Final = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_CHARSETS: Final = frozenset({b"utf-8", b"utf8"})

Pairs = list[tuple[str, str]]


def parse_urlencoded(encoded: bytes) -> Pairs:
    """Return the fields of a query string or a form.

    Raises:
        BadRequestError: it is not UTF-8, or has more than ``MAX_FIELDS`` fields.
    """
    if encoded.count(b"&") >= MAX_FIELDS:
        raise BadRequestError(f"The form cannot be read: it has more than {MAX_FIELDS} fields.")
    fields = (field.partition(b"=") for field in encoded.split(b"&") if field)
    try:
        return [(_decoded(name), _decoded(value)) for name, _, value in fields]
    except UnicodeDecodeError:
        raise BadRequestError("The form cannot be read: it must be UTF-8.") from None


def _decoded(part: bytes) -> str:
    """Return a name or value; an incomplete escape stays."""
    decoded = bytearray()
    start = 0
    while start < len(part):
        end = start + SLICE_BYTES
        if (escape := part.find(b"%", end - 2, end)) >= 0:  # it may go on
            end = escape
        decoded += _ESCAPES.sub(_unescaped, part[start:end].replace(b"+", b" "))
        start = end
    return decoded.decode()


def _unescaped(escapes: re.Match[bytes]) -> bytes:
    return binascii.unhexlify(escapes[0].replace(b"%", b""))


def parse_multipart(body: bytes, content_type: str) -> Pairs:
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
        parser.parse().send(None)  # it waits for nothing: the body is here, and files are refused
    except StopIteration as end:
        form = cast("FormData", end.value)
    except MultiPartException as error:
        raise BadRequestError(f"The form cannot be read: {error.message}") from None
    except (FormParserError, KeyError, ValueError) as error:  # no boundary
        raise BadRequestError(f"The form cannot be read: {type(error).__name__}.") from None
    else:
        raise AssertionError  # not reached
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
