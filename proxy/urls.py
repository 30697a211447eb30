"""Validators of URLs and addresses; a ValueError says what is right."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from shared.http.origin_policy import canonical_origin
from shared.ip_addresses import is_loopback

# A name, an IPv4 or an IPv6 address.
_HOST: Final = re.compile(r"[A-Za-z0-9._\-]+|[0-9A-Fa-f:.]+")
# A host name has at most 253 characters, and scheme and port need less than the rest.
MAX_CHARS: Final = 300


def split_url(url: str) -> SplitResult | None:
    """Return the URL's parts; None if its host or port is invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts


def replica_url(url: str) -> str:
    """Return an API server's URL in lower case, without final slash.

    The error does not contain a password.
    """
    parts = split_url(url) if url.isprintable() else None  # urlsplit ignores line breaks
    host = (parts and parts.hostname) or ""
    if parts is None or parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        raise ValueError(f"{_shown(url)!r} is not the URL of an API server; write http://HOST:PORT")
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc or len(url) > MAX_CHARS:
        raise ValueError(f"{_shown(url)!r} must be http://HOST:PORT without anything else")
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _shown(url: str) -> str:
    """Return the URL for a message: without user name, password and query."""
    before, _, query = url.partition("?")
    scheme, separator, rest = before.rpartition("://")
    # Before an "@" in the query may be the rest of a password with a question mark.
    return f"{scheme}{separator}{'…' if '@' in query else rest.rpartition('@')[2]}"[:MAX_CHARS]


_REDIS_PORT: Final = 6379


def replica_urls(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate API servers' URLs; return each once."""
    return tuple(dict.fromkeys(replica_url(url) for url in value))


def networks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate IP addresses and networks."""
    for each in value:
        try:
            ip_network(each)
        except ValueError:
            raise ValueError(
                f"{each!r} is not an IP address or network; write them like 10.0.0.5, 10.0.0.0/8 or fd00::/8"
            ) from None
    return value


def origins(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate origins of pages and extensions; return them as browsers write them."""
    found: list[str] = []
    for each in value:
        origin = canonical_origin(each)
        if origin is None:
            raise ValueError(
                f"{each!r} is not an origin; write https://HOST or https://HOST:PORT without path, "
                "chrome-extension://ID, chrome-extension://* or moz-extension://* for all extensions, or * for all"
            )
        found.append(origin)
    return tuple(dict.fromkeys(found))


def redis_url(value: SecretStr) -> SecretStr:
    """Validate the URL of a Redis; the error does not contain it.

    Options in its query are refused, because they would override ours.
    """
    parts = split_url(value.get_secret_value())
    if parts is not None and parts.scheme in {"redis", "rediss"}:
        good = parts.hostname and not parts.query and re.fullmatch(r"(/\d{0,3})?", parts.path)
    else:
        good = (
            parts is not None and parts.scheme == "unix" and parts.path and re.fullmatch(r"(db=\d{1,3})?", parts.query)
        )
    if not good:
        raise ValueError(
            "is not the URL of a Redis; write redis://[:PASSWORD@]HOST:PORT/DATABASE (rediss:// for TLS) or unix:///PATH"
        )
    return value


def redis_url_or_none(value: SecretStr) -> SecretStr:
    """Validate the URL of a Redis; an empty text means none."""
    return redis_url(value) if value.get_secret_value() else value


def redis_server(url: SecretStr) -> object:
    """Return a Redis server's identity, as far as the URL shows."""
    parts = split_url(url.get_secret_value())
    if parts is None or parts.scheme == "unix":
        return parts and parts.path
    host = parts.hostname or ""
    return "localhost" if is_loopback(host) else host, parts.port or _REDIS_PORT
