"""One request as a client sends it, over a plain socket, and what the client needs of the answer."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

# A bound for a hang; the answers take a second or two.
_ANSWER_SECONDS: Final = 120
JSON: Final = "Content-Type: application/json"
FORM: Final = "Content-Type: application/x-www-form-urlencoded"


class Absent:
    """A member that the client must not get."""


@dataclass(frozen=True)
class Exchange:
    """A request and what its client needs of the answer.

    ``head`` is the request line and the headers, without Host and Content-Length. ``needs`` is compared by ``mismatch``.
    ``keeps`` names members of the answer that later requests contain as ``$NAME``. ``open``: it goes to a proxy without
    keys.
    """

    about: str
    head: str
    body: str = ""
    status: int = 200
    needs: Any = None
    keeps: Mapping[str, str] = field(default_factory=dict[str, str])
    open: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    media_type: str
    text: str

    @property
    def content(self) -> Any:
        """The JSON of the answer, or its text."""
        try:
            return json.loads(self.text)
        except ValueError:
            return self.text


class _Received:
    """Bytes that http.client reads as if they came from a socket."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self.content)


async def send(port: int, exchange: Exchange, names: Mapping[str, str]) -> Answer:
    """Send the request's bytes on a connection of its own, and return the answer."""
    head, body = filled(exchange.head, names), filled(exchange.body, names).encode()
    length = f"Content-Length: {len(body)}\n" if body or head.startswith(("POST", "PUT", "PATCH")) else ""
    lines = f"{head.strip()}\nHost: 127.0.0.1:{port}\n{length}Connection: close\n\n".replace("\n", "\r\n")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(lines.encode() + body)
        received = await asyncio.wait_for(reader.read(-1), _ANSWER_SECONDS)
    finally:
        writer.close()
    response = http.client.HTTPResponse(cast("Any", _Received(received)), method=head.split()[0])
    response.begin()
    return Answer(response.status, response.getheader("Content-Type", ""), response.read().decode())


def filled(text: str, names: Mapping[str, str]) -> str:
    """Return a text with every ``$NAME`` replaced."""
    return re.sub(r"\$([A-Z_]+)", lambda found: names.get(found[1], found[0]), text)


def mismatch(needed: Any, found: Any, place: str = "answer") -> str | None:
    """Return how an answer differs from what its client needs, or None.

    A mapping needs its members, and may get others. A list needs as many items. A pattern is searched for in a text, a
    type needs one of its kind, and anything else its equal.
    """
    match needed:
        case dict():
            return _member_mismatch(cast("dict[str, Any]", needed), found, place)
        case list():
            return _item_mismatch(cast("list[Any]", needed), found, place)
        case re.Pattern():
            pattern = cast("re.Pattern[str]", needed)
            fits = isinstance(found, str) and pattern.search(found) is not None
        case type():
            fits = isinstance(found, needed)
        case _:
            fits = type(found) is type(needed) and found == needed
    return None if fits else f"{place} should be {needed!r}, not {found!r}"


def _member_mismatch(needed: dict[str, Any], found: Any, place: str) -> str | None:
    if not isinstance(found, dict):
        return f"{place} should be an object, not {found!r}"
    members = cast("dict[str, Any]", found)
    for name, value in needed.items():
        if value is Absent:
            wrong = f"{place} should not have {name}: {members!r}" if name in members else None
        elif name not in members:
            wrong = f"{place} should have {name}: {members!r}"
        else:
            wrong = mismatch(value, members[name], f"{place}.{name}")
        if wrong is not None:
            return wrong
    return None


def _item_mismatch(needed: list[Any], found: Any, place: str) -> str | None:
    items = cast("list[Any]", found)
    if not isinstance(found, list) or len(items) != len(needed):
        return f"{place} should be a list of {len(needed)}, not {found!r}"
    pairs = zip(needed, items, strict=True)
    return next((wrong for index, each in enumerate(pairs) if (wrong := mismatch(*each, f"{place}[{index}]"))), None)
