"""Addresses of replicas, and the headers of every request to them."""

from __future__ import annotations

import ssl
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from proxy.upstream.errors import UnreachableError
from shared.protocol.headers import PROGRAM_HEADER
from shared.runtime.logging import describe


class Address(NamedTuple):
    """A replica's address, and every request's header lines."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    headers: str


def address_of(url: str, headers: str) -> Address:
    """Return a URL's address; raise UnreachableError if it is invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UnreachableError(describe(error)) from error
    tls = tls_context() if parts.scheme == "https" else None
    # Answers are relayed unchanged.
    common = f"Host: {header_value(parts.netloc)}\r\nAccept-Encoding: identity\r\n{PROGRAM_HEADER}: 1\r\n"
    return Address(parts.hostname or "", port or (443 if tls else 80), tls, common + headers)


def header_value(text: str) -> str:
    """Return the value; raise ValueError if it could end the header."""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{text!r} cannot be a header's value: it must be printable ASCII")
    return text


@cache
def tls_context() -> ssl.SSLContext:
    """Return a context that trusts the system's authorities."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
