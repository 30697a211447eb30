"""Files served from memory: compressed once, with an ``ETag`` of their content."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response

from shared.http.request_context import request_header

# A browser keeps the file, and asks each time if it changed.
REVALIDATED: Final = "no-cache"
# The file's address has a hash of its content, so it never changes: a browser keeps it for a year and does not ask.
IMMUTABLE: Final = "public, max-age=31536000, immutable"
_GZIP_LEVEL: Final = 9
# Smaller files fit into one packet anyway.
_LEAST_COMPRESSED_BYTES: Final = 512
# Codings that an Accept-Encoding header may list; browsers list five.
_MAX_CODINGS: Final = 20
_REFUSED: Final = frozenset({"0", "0.0", "0.00", "0.000"})


class StaticFile:
    """File served from memory, gzipped for clients that accept it."""

    def __init__(
        self,
        content: bytes,
        media_type: str,
        cache_control: str = REVALIDATED,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        digest = hashlib.sha256(content).hexdigest()
        common = {"content-type": media_type, "cache-control": cache_control, **(headers or {})}
        self._plain = _Variant(content, common | {"etag": f'"{digest}"'})
        self._gzipped = self._plain
        # mtime: the same content has the same bytes, and so the same ETag, at every proxy.
        compressed = gzip.compress(content, _GZIP_LEVEL, mtime=0)
        if len(content) >= _LEAST_COMPRESSED_BYTES and len(compressed) < len(content):
            self._plain.headers["vary"] = "Accept-Encoding"
            encoding = {"etag": f'"{digest}-gzip"', "content-encoding": "gzip", "vary": "Accept-Encoding"}
            self._gzipped = _Variant(compressed, common | encoding)

    async def serve(self, request: Request) -> Response:
        """Answer with the file, or with 304 where the browser has it."""
        accepted = accepts_gzip(request_header(request, "Accept-Encoding") or "")
        variant = self._gzipped if accepted else self._plain
        known = {tag.strip().removeprefix("W/") for tag in (request_header(request, "If-None-Match") or "").split(",")}
        if not known.isdisjoint({variant.headers["etag"], "*"}):
            kept = {name: value for name, value in variant.headers.items() if name in _HEADERS_OF_304}
            return Response(status_code=304, headers=kept)
        return Response(variant.content, headers=variant.headers)


class _Variant:
    def __init__(self, content: bytes, headers: dict[str, str]) -> None:
        self.content = content
        self.headers = headers


# Those that a cache stores again (RFC 9110, 15.4.5).
_HEADERS_OF_304: Final = frozenset({"cache-control", "etag", "vary", "content-security-policy"})


def accepts_gzip(header: str) -> bool:
    """Return whether an ``Accept-Encoding`` header allows gzip."""
    weights: dict[str, str] = {}
    for part in header.lower().split(",", _MAX_CODINGS)[:_MAX_CODINGS]:
        coding, _, parameter = part.partition(";")
        name, _, value = parameter.partition("=")
        weights[coding.strip()] = value.strip() if name.strip() == "q" else ""
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and weight not in _REFUSED
