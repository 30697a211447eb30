"""uvicorn's HTTP protocol, patched for bodies after an ``Upgrade`` header.

The parser stops after such a head (``curl --http2``), and uvicorn drops the body (Kludex/uvicorn#2722, open at 0.54.0).
Delete this file when ``test_plain_uvicorn_loses_the_body`` fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from typing_extensions import override
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_BODY_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})


class UpgradeIgnoringProtocol(HttpToolsProtocol):
    """Protocol that ignores ``Upgrade``."""

    @override
    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            while data:
                data = self._parse(data)
        except HttpParserError:
            self.send_400_response("Invalid HTTP request received.")

    def _parse(self, data: bytes) -> bytes:
        """Parse up to a head with ``Upgrade``, inclusive; return the rest."""
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as upgrade:
            self.parser = self._next_parser()
            return data[upgrade.args[0] :]
        return b""

    def has_pending_body(self) -> bool:
        """Return whether the parser stopped at a head whose body follows."""
        return self.parser.should_upgrade() and bool(self._body_headers())

    def _next_parser(self) -> HttpRequestParser:
        framing = self._body_headers()
        if not framing:
            return HttpRequestParser(self)
        parser = HttpRequestParser(_BodyCallbacks(self))
        parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(b"%s: %s\r\n" % each for each in framing))
        return parser

    def _body_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that give the body's length; none without a body."""
        framing = [each for each in self.scope["headers"] if each[0] in _BODY_HEADERS]
        return [] if all(name == b"content-length" and not int(value) for name, value in framing) else framing


class _BodyCallbacks:
    """Parser callbacks that skip the head, which was already parsed."""

    def __init__(self, protocol: UpgradeIgnoringProtocol) -> None:
        self._protocol = protocol
        self._head_is_over = False

    def __getattr__(self, name: str) -> Callable[..., None]:
        callback = getattr(self._protocol, name)

        def call(*arguments: bytes) -> None:
            if self._head_is_over:
                callback(*arguments)
            self._head_is_over = self._head_is_over or name == "on_headers_complete"

        return call
