"""Security headers and CORS: how browsers may use a response, and which origins may ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from shared.protocol.deadline import TIMEOUT_HEADER
from shared.protocol.headers import REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER

# For every response: it is data, for the client that asked alone.
_COMMON_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
_DATA_POLICY: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
DOCS_PATH: Final = "/docs"
# FastAPI's page: its script and style come from this CDN, a script stands in it, and it may ask nobody but us.
_DOCS_POLICY: Final = (
    b"content-security-policy",
    (
        b"default-src 'none'; script-src 'unsafe-inline' https://cdn.jsdelivr.net; "
        b"style-src 'unsafe-inline' https://cdn.jsdelivr.net; img-src data: https://fastapi.tiangolo.com; "
        b"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
)
_DATA_HEADERS: Final = (*_COMMON_HEADERS, _DATA_POLICY)
_DOCS_HEADERS: Final = (*_COMMON_HEADERS, _DOCS_POLICY)
# What pages of other origins may send, and may read of an answer.
_CORS_METHODS: Final = ("GET", "POST")
_CORS_REQUEST_HEADERS: Final = ("Authorization", "Content-Type", REQUEST_ID_HEADER, TIMEOUT_HEADER, PRIORITY_HEADER)
_CORS_RESPONSE_HEADERS: Final = (
    REQUEST_ID_HEADER,
    "Retry-After",
    "X-Cache",
    "RateLimit",
    "RateLimit-Policy",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
)
# Browsers ask no more often than this whether they may; seconds.
_CORS_MAX_AGE_SECONDS: Final = 600


def security_headers_for(path: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the security headers of a path's responses; a handler's own headers go before them."""
    return _DOCS_HEADERS if path == DOCS_PATH else _DATA_HEADERS


def add_cors(app: FastAPI, origins: Sequence[str]) -> None:
    """Let pages of these origins ("*": of any) ask; never with cookies, of which we have none."""
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=_CORS_METHODS,
        allow_headers=_CORS_REQUEST_HEADERS,
        expose_headers=_CORS_RESPONSE_HEADERS,
        max_age=_CORS_MAX_AGE_SECONDS,
    )
