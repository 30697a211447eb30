"""Addresses of replicas, and what every request there begins with."""

from __future__ import annotations

import ssl
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from proxy.upstream.errors import UnreachableError, describe


class Address(NamedTuple):
    """Where a replica listens, and the headers that every request there has."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    headers: str


def address_of(url: str, headers: str) -> Address:
    """Return the address in a replica's URL; ``headers`` are lines that every replica gets.

    Raises:
        UnreachableError: that is no URL.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UnreachableError(describe(error)) from error
    tls = tls_context() if parts.scheme == "https" else None
    common = f"Host: {header_value(parts.netloc)}\r\nAccept-Encoding: identity\r\n"  # an answer is relayed as it is
    return Address(parts.hostname or "", port or (443 if tls else 80), tls, common + headers)


def header_value(text: str) -> str:
    """Return a header's value as it is.

    Raises:
        ValueError: it could end the header.
    """
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"{text!r} is no value of a header")
    return text


@cache
def tls_context() -> ssl.SSLContext:
    """Return what verifies the certificates of replicas, as the system trusts them."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
