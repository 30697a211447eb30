"""What counts as the URL of a replica, wherever an operator writes it: in the settings or in a request. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult

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
    """Return the URL in the one form in which we compare and keep it: in lower case, without a slash at its end.

    Raises:
        ValueError: it is none; the message says what would be right and shows no password.
    """
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
