"""Key places: where requests have their keys. Pure.

Before a key is known, only these searches see a body: their time is linear in its bytes, and they build no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from pydantic_core import from_json

from proxy.exchange.peer import Peer
from shared.parsing.form_body import MAX_FIELDS, MULTIPART
from shared.parsing.json_reader import media_type
from shared.protocol.headers import BEARER

# Ten keys' length, percent-encoded.
MAX_KEY_BYTES: Final = 512
# A name may stand in a value, or in another name; a client writes it once.
MAX_TRIES: Final = 16
# The headers of a part of a multipart form.
_MAX_HEAD_BYTES: Final = 512
_OBJECT: Final = re.compile(rb"\s*\{")
_COLON: Final = re.compile(rb"\s{0,64}:")
_STRING: Final = re.compile(rb'\s{0,64}:\s{0,64}("(?:[^"\\]|\\.){0,512}")')
# RFC 2046 allows no longer one.
_BOUNDARY: Final = re.compile(r'boundary="?([^\s";]{1,70})', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyPlaces:
    """Where a caller's key is, each as the header Authorization would be.

    ``in_head`` is what is known before the body. ``in_body`` finds it in the body's bytes, and is all that sees them until
    then.
    """

    in_head: Callable[[Peer], str | None]
    in_body: Callable[[Peer, bytes], str | None] | None = None


def in_header(peer: Peer) -> str | None:
    """Return the header Authorization."""
    return peer.headers.get("authorization")


HEADER: Final = KeyPlaces(in_header)


def header_key(peer: Peer, *schemes: str) -> str:
    """Return the key of the header Authorization; "" without one.

    A key without a scheme is one too; that of another scheme is none.
    """
    scheme, _, key = peer.headers.get("authorization", "").strip().partition(" ")
    is_known = scheme.lower() in {each.lower() for each in schemes}
    if key:
        return key.strip() if is_known else ""
    return "" if is_known else scheme


def as_bearer(key: str) -> str | None:
    """Return the header Authorization for a key, None for ""."""
    return f"{BEARER} {key}" if key else None


def find_key(content_type: str, body: bytes, names: tuple[str, ...]) -> str:
    """Return the last field with the first name that has one.

    It is a string, "" without one.
    """
    is_multipart = media_type(content_type) == MULTIPART
    for name in map(str.encode, names):
        if is_multipart:
            key = _find_part(content_type, body, name)
        else:
            key = _find_member(body, name) if _OBJECT.match(body) else _find_field(body, name)
        if key:
            return key
    return ""


def has_member(body: bytes, name: str) -> bool:
    """Return whether JSON has an object with this name, at any depth."""
    quoted, start = f'"{name}"'.encode(), 0
    for _ in range(MAX_TRIES):
        at = body.find(quoted, start)
        if at < 0:
            return False
        start = at + len(quoted)
        if body[at - 1 : at] != b"\\" and _COLON.match(body, start):
            return True
    return False


def has_fields(content_type: str, body: bytes) -> bool:
    """Return whether a body may have fields; PHP's curl sends empty forms."""
    return bool(body) and (MULTIPART not in content_type.lower() or b"name=" in body)


def _find_member(body: bytes, name: bytes) -> str:
    quoted, end = b'"' + name + b'"', len(body)
    for _ in range(MAX_TRIES):
        at = body.rfind(quoted, 0, end)
        if at < 0:
            return ""
        found = _STRING.match(body, at + len(quoted))
        if found is not None and body[at - 1 : at] != b"\\":
            try:
                return from_json(found[1], cache_strings="none")
            except ValueError:
                return ""
        end = at
    return ""


def _find_field(body: bytes, name: bytes) -> str:
    mark = b"&" + name + b"="
    at = body.rfind(mark)
    if at < 0 and not body.startswith(mark[1:]):
        return ""
    start = at + len(mark)  # without the & where the field is the first
    end = body.find(b"&", start)
    return _decoded(body, start, len(body) if end < 0 else end)


def _find_part(content_type: str, body: bytes, name: bytes) -> str:
    found = _BOUNDARY.search(content_type)
    if found is None:
        return ""
    # Only a line begins with one. So each is found in linear time, also one of hyphens among hyphens.
    delimiter, named = b"\r\n--" + found[1].encode(), re.compile(rb'[;\s]name="?' + name + rb'"?(?:[;\s]|$)')
    key, tries, start = "", 0, 0 if body.startswith(delimiter[2:]) else body.find(delimiter)
    for _ in range(MAX_FIELDS + 1):  # and one too many
        if start < 0 or tries == MAX_TRIES:
            break
        end = body.find(delimiter, start + 1)
        head_end = body.find(b"\r\n\r\n", start, start + _MAX_HEAD_BYTES)
        if head_end >= 0 and body.find(name, start, head_end) >= 0:
            tries += 1
            if named.search(body, start, head_end):
                value = body[head_end + 4 : len(body) if end < 0 else end]
                key = value.decode(errors="replace").strip() if len(value) <= MAX_KEY_BYTES else ""
        start = end
    return key


def _decoded(body: bytes, start: int, end: int) -> str:
    return unquote_plus(body[start:end].decode("latin-1")) if end - start <= MAX_KEY_BYTES else ""
