"""Policy on web pages' requests: which origins may call a server (docs/security.md)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import urlsplit

from shared.protocol.headers import PROGRAM_HEADER, mask_secrets

ANY_ORIGIN: Final = "*"
_AUTHORITY: Final = r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9._\-]{1,253})(?::([0-9]{1,5}))?"
_HOST: Final = re.compile(_AUTHORITY)
_WEB_ORIGIN: Final = re.compile(rf"(https?)://{_AUTHORITY}")
# Firefox gives an extension a new id in every installation, so a setting can name them only all together.
_EXTENSION: Final = re.compile(r"((?:chrome|moz)-extension://)(?:\*|[a-z0-9\-]{1,64})")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_MAX_PORT: Final = 65_535
# Suffixes that nobody can register (RFC 6761, 6762, 8375, ICANN 2024): no foreign DNS server answers for them.
_PRIVATE_SUFFIXES: Final = (".localhost", ".local", ".internal", ".home.arpa")
# Values of Sec-Fetch-Site for this server's own pages, and for what the user does: an address typed, a bookmark.
_OWN_SITES: Final = frozenset({"same-origin", "none"})
# Pages of both servers that a link of another site may open: they only show something, and that site cannot read them.
_LINKED_PAGES: Final = frozenset({"/docs", "/openapi.json", "/livez", "/readyz", "/startupz", "/metrics"})
_READ_AND_POST: Final = ("GET", "POST")
_ALL_METHODS: Final = (*_READ_AND_POST, "PUT", "PATCH", "DELETE")
MAX_SHOWN_CHARS: Final = 100


def canonical_origin(text: str) -> str | None:
    """Return an origin as browsers write it, without default port.

    None if it is neither ``*``, a web page's origin, an extension's, nor ``*`` for all extensions of a browser.
    """
    lower = text.lower()
    if lower == ANY_ORIGIN or _EXTENSION.fullmatch(lower):
        return lower
    match = _WEB_ORIGIN.fullmatch(lower)
    authority = match and _authority(match[2], match[3], match[1])
    if match is None or authority is None:
        return None
    host, port = authority
    return f"{match[1]}://{host}" if port == _DEFAULT_PORTS[match[1]] else f"{match[1]}://{host}:{port}"


def is_private_host(host: str) -> bool:
    """Return whether no stranger's DNS can give this host an address.

    DNS rebinding needs that. True for addresses, names without a dot, and reserved suffixes.
    """
    return (
        "." not in host or host.startswith("[") or host.rpartition(".")[2].isdigit() or host.endswith(_PRIVATE_SUFFIXES)
    )


class OriginPolicy:
    """Policy on the requests that a browser sends for a page.

    ``allowed`` are canonical origins. With ``private_hosts_only`` requests to other hosts are refused. ``rule`` says to
    the refused which origins may call, ``host_rule`` how another host can be used. ``pages`` are the server's own that a
    link of another site may open. At ``operator_paths`` and below, pages of other origins may not change anything but by
    POST. ``exposed_headers`` are the server's own that they may read.
    """

    def __init__(
        self,
        allowed: Sequence[str],
        *,
        private_hosts_only: bool,
        rule: str,
        host_rule: str = "",
        pages: Collection[str] = (),
        operator_paths: Collection[str] = (),
        exposed_headers: Sequence[str] = (),
    ) -> None:
        self.allows_any = ANY_ORIGIN in allowed
        self._allowed = frozenset(allowed)
        self._private_hosts_only = private_hosts_only and not self.allows_any
        self._named_hosts = frozenset(urlsplit(each).hostname for each in allowed)
        self._rule = rule
        self._host_rule = host_rule
        self._linked_pages = _LINKED_PAGES.union(pages)
        self._operator_paths = tuple(operator_paths)
        self.exposed_headers = tuple(exposed_headers)

    def allows(self, origin: str) -> bool:
        """Return whether pages of this origin, another one, may call."""
        if self.allows_any or origin in self._allowed:
            return True
        extension = _EXTENSION.fullmatch(origin)
        return extension is not None and f"{extension[1]}*" in self._allowed

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> str | None:
        """Return why a request is refused, or None.

        The names in ``headers`` are in lower case.
        """
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if self.allows_any or (origin is not None and self.allows(origin)):
            return None
        host = headers.get("host", "")
        if self._private_hosts_only and PROGRAM_HEADER.lower() not in headers and not self._is_known(host):
            return (
                f"A server on loopback without keys serves no pages at the host {shown(host)}, which may be anybody's. "
                f"Use localhost{self._host_rule}."
            )
        if origin is not None and not (site in _OWN_SITES and _is_same(origin, host)):
            return f"Pages of the origin {shown(origin)} may not call this server; {self._rule}."
        if site in _OWN_SITES:
            return None
        if method == "GET" and headers.get("sec-fetch-mode") == "navigate" and path in self._linked_pages:
            return None
        return (
            f"The browser sent this for a page of another origin (Sec-Fetch-Site: {shown(site)}) "
            f"and does not say which; {self._rule}, with the header Origin."
        )

    def methods(self, path: str) -> tuple[str, ...]:
        """Return the methods that pages of allowed origins may use."""
        is_operators = any(path == each or path.startswith(f"{each}/") for each in self._operator_paths)
        return _READ_AND_POST if is_operators else _ALL_METHODS

    def _is_known(self, host: str) -> bool:
        """Return whether a ``Host`` is private, of an allowed origin, or absent."""
        match = _HOST.fullmatch(host.lower())
        return not host or (match is not None and (is_private_host(match[1]) or match[1] in self._named_hosts))


def shown(value: str) -> str:
    """Return a header's value for a message: printable, short, without keys."""
    return mask_secrets(ascii(value)[1:-1])[:MAX_SHOWN_CHARS]


def _is_same(origin: str, host: str) -> bool:
    """Return whether a page's origin is this server.

    Both schemes are, because TLS may end in a web server.
    """
    page, server = _WEB_ORIGIN.fullmatch(origin), _HOST.fullmatch(host.lower())
    if page is None or server is None:
        return False
    authority = _authority(page[2], page[3], page[1])
    return authority is not None and authority == _authority(server[1], server[2], page[1])


def _authority(host: str, port: str | None, scheme: str) -> tuple[str, int] | None:
    """Return host and port, or None if one is impossible."""
    number = _DEFAULT_PORTS[scheme] if port is None else int(port)
    if not 0 < number <= _MAX_PORT:
        return None
    if not host.startswith("["):
        return host, number
    try:
        return f"[{IPv6Address(host[1:-1]).compressed}]", number
    except ValueError:
        return None
