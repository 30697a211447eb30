"""What counts as an address where the settings name some: replicas, web servers, pages' origins, Redis. Pure."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final

from proxy.replica_url import replica_url, split_url
from shared.address import is_loopback

if TYPE_CHECKING:
    from pydantic import SecretStr

_REDIS_PORT: Final = 6379
# scheme://host or scheme://host:port, as a browser writes it in Origin.
_ORIGIN: Final = re.compile(r"\*|https?://[a-z0-9.\-\[\]:]+")


def replica_urls(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the URLs of API servers in the form in which we keep them, each once.

    Raises:
        ValueError: one is none.
    """
    return tuple(dict.fromkeys(replica_url(url) for url in value))


def networks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return IP addresses and networks as they are.

    Raises:
        ValueError: one is neither.
    """
    for each in value:
        try:
            ip_network(each)
        except ValueError:
            message = f"{each!r} is no IP address or network (10.0.0.5, 10.0.0.0/8, fd00::/8)"
            raise ValueError(message) from None
    return value


def origins(value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the origins of web pages, or ``*``, as they are.

    Raises:
        ValueError: one is none.
    """
    for each in value:
        if not _ORIGIN.fullmatch(each) or split_url(each) is None:
            message = f"{each!r} is no origin; write https://HOST or https://HOST:PORT, without a path, or *"
            raise ValueError(message)
    return value


def redis_url(value: SecretStr) -> SecretStr:
    """Return the URL of a Redis as it is; without options, which could undo our own.

    Raises:
        ValueError: it is none; the sentence does not repeat it.
    """
    parts = split_url(value.get_secret_value())
    good = parts is not None and (
        (parts.scheme in {"redis", "rediss"} and bool(parts.hostname)) or (parts.scheme == "unix" and parts.path)
    )
    if parts is not None and parts.scheme != "unix":
        good = good and not parts.query and re.fullmatch(r"(/\d{0,3})?", parts.path) is not None
    if not good:
        message = "is no URL of a Redis; write redis://[:PASSWORD@]HOST:PORT/DATABASE (rediss:// for TLS)"
        raise ValueError(message)
    return value


def redis_url_or_none(value: SecretStr) -> SecretStr:
    """Return the URL of a Redis, or an empty text for none.

    Raises:
        ValueError: it is neither.
    """
    return redis_url(value) if value.get_secret_value() else value


def redis_server(url: SecretStr) -> object:
    """Return what tells one Redis server from another, as far as a URL says."""
    parts = split_url(url.get_secret_value())
    if parts is None or parts.scheme == "unix":
        return parts and parts.path
    host = parts.hostname or ""
    return "localhost" if is_loopback(host) else host, parts.port or _REDIS_PORT
