"""URLs and addresses that settings and operators name; validators raise ValueError with what would be right."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from shared.runtime.ip_addresses import is_loopback

# A name, an IPv4 or an IPv6 address.
_HOST: Final = re.compile(r"[A-Za-z0-9._\-]+|[0-9A-Fa-f:.]+")
# A host name has 253 characters at most; with scheme and port no URL of a replica is longer.
MAX_CHARS: Final = 300


def split_url(url: str) -> SplitResult | None:
    """Return the URL's parts, or None where its host or port can not be one."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return None if port == 0 else parts


def replica_url(url: str) -> str:
    """Validate a URL of an API server: in lower case, without a slash at its end; the error shows no password."""
    parts = split_url(url) if url.isprintable() else None  # urlsplit passes over line breaks
    host = (parts and parts.hostname) or ""
    if parts is None or parts.scheme not in {"http", "https"} or not _HOST.fullmatch(host):
        raise ValueError(f"{_shown(url)!r} is no URL of an API server; write http://HOST:PORT")
    if parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc or len(url) > MAX_CHARS:
        raise ValueError(f"{_shown(url)!r} must be http://HOST:PORT and nothing more")
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _shown(url: str) -> str:
    """Return the URL as it may be shown: not endless, and without a name and password somebody put into it."""
    scheme, separator, rest = url.partition("://")
    return (f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else url.rpartition("@")[2])[:MAX_CHARS]


_REDIS_PORT: Final = 6379
# scheme://host or scheme://host:port, as a browser writes it in Origin.
_ORIGIN: Final = re.compile(r"\*|https?://[a-z0-9.\-\[\]:]+")


def replica_urls(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate the URLs of API servers; each is kept once."""
    return tuple(dict.fromkeys(replica_url(url) for url in value))


def networks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate IP addresses and networks."""
    for each in value:
        try:
            ip_network(each)
        except ValueError:
            raise ValueError(f"{each!r} is no IP address or network (10.0.0.5, 10.0.0.0/8, fd00::/8)") from None
    return value


def origins(value: tuple[str, ...]) -> tuple[str, ...]:
    """Validate the origins of web pages, or ``*``."""
    for each in value:
        if not _ORIGIN.fullmatch(each) or split_url(each) is None:
            raise ValueError(f"{each!r} is no origin; write https://HOST or https://HOST:PORT, without a path, or *")
    return value


def redis_url(value: SecretStr) -> SecretStr:
    """Validate the URL of a Redis, without options, which could undo our own; the error does not repeat it."""
    parts = split_url(value.get_secret_value())
    if parts is not None and parts.scheme in {"redis", "rediss"}:
        good = parts.hostname and not parts.query and re.fullmatch(r"(/\d{0,3})?", parts.path)
    else:
        good = parts is not None and parts.scheme == "unix" and parts.path
    if not good:
        raise ValueError("is no URL of a Redis; write redis://[:PASSWORD@]HOST:PORT/DATABASE (rediss:// for TLS)")
    return value


def redis_url_or_none(value: SecretStr) -> SecretStr:
    """Validate the URL of a Redis, or an empty text for none."""
    return redis_url(value) if value.get_secret_value() else value


def redis_server(url: SecretStr) -> object:
    """Return what tells one Redis server from another, as far as a URL says."""
    parts = split_url(url.get_secret_value())
    if parts is None or parts.scheme == "unix":
        return parts and parts.path
    host = parts.hostname or ""
    return "localhost" if is_loopback(host) else host, parts.port or _REDIS_PORT
