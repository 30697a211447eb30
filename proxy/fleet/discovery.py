"""Discovery: host names expanded to all their addresses."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

# The system's resolver may wait for 5 s and more; a sweep must not.
RESOLVE_SECONDS: Final = 1.0
# Per name.
MAX_ADDRESSES: Final = 1000

# Returns a host's addresses, or raises OSError.
Resolver = Callable[[str], Awaitable[list[str]]]


async def system_resolver(host: str) -> list[str]:
    """Resolve by the operating system; with IPv6 too, localhost would be two."""
    loop = asyncio.get_running_loop()
    try:
        entries = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # an empty label, or one of more than 63 characters
        raise OSError(f"{host!r} is not a valid host name") from error
    by_family = {
        family: sorted({str(address[0]) for kind, _, _, _, address in entries if kind is family})
        for family in (socket.AF_INET, socket.AF_INET6)
    }
    return by_family[socket.AF_INET] or by_family[socket.AF_INET6]


class Discovery:
    """Expands URLs' host names to addresses."""

    def __init__(self, resolver: Resolver = system_resolver) -> None:
        self._resolver = resolver
        self._last_addresses: dict[str, list[str]] = {}
        self.unresolved: set[str] = set()

    async def expand(self, urls: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return one URL per address, within ``RESOLVE_SECONDS``.

        An ``unresolved`` name keeps its last addresses, or stands for itself.
        """
        expanded = await asyncio.gather(*(self._expand(url) for url in urls))
        return {url: tuple(dict.fromkeys(addresses)) for url, addresses in zip(urls, expanded, strict=True)}

    async def _expand(self, url: str) -> list[str]:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.scheme == "https" or is_address(host):
            return [url]  # certificates are issued for host names
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                addresses = (await self._resolver(host))[:MAX_ADDRESSES]
        except (OSError, TimeoutError) as error:
            self.unresolved.add(url)
            if host not in self._last_addresses:
                log.debug("name not resolved", extra={"host": host, "error": str(error)})
                return [url]  # its probe fails, and /health shows why
            addresses = self._last_addresses[host]
        else:
            self.unresolved.discard(url)
        self._last_addresses[host] = addresses
        port = "" if parts.port is None else f":{parts.port}"
        return [f"{parts.scheme}://{f'[{each}]' if ':' in each else each}{port}" for each in addresses]


def is_address(host: str) -> bool:
    """Return whether a host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
