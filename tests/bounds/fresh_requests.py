"""Requests in which each field that a caller fills has values never seen before; written as bytes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlencode

VALUES = 10
# Requests in flight at once, each on a connection of its own.
CONNECTIONS = 8
# Paths that accept a body, and the number of the body in ``bodies``.
_SAMPLES = (
    ("/translate", 0),
    ("/translate", 1),
    ("/translate", 2),
    ("/libretranslate/translate", 3),
    ("/libretranslate/translate", 4),
    ("/v2/glossaries", 5),
    ("/v3/glossaries", 6),
    ("/glossaries", 7),
    ("/v2/translate", 8),
    ("/imme", 9),
    ("/kiss", 10),
    ("/deeplx/translate", 11),
)
_PARAMETER = re.compile(r"\{[^}]+\}")
_SERVED = ("en", "de", "fr")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def tags(number: int) -> list[str]:
    """Return ten tags: with private use, extensions and variants, and with scripts and regions of their own."""
    found: list[str] = []
    for each in range(number * VALUES, (number + 1) * VALUES):
        letters = "".join(_LETTERS[each // 26**place % 26] for place in range(4))
        language = _SERVED[each % 3]
        forms = (
            f"{language}-x-{each}",
            f"{language}-a-{each:06}",
            f"{language}-{letters}",
            f"sv-{letters}-{each % 900 + 100}",
        )
        found.append(forms[each % 4] if each % 7 else f"{language}-{each:08}")
    return found


def words(number: int, kind: str) -> list[str]:
    """Return ten words."""
    return [f"{kind}{each}" for each in range(number * VALUES, (number + 1) * VALUES)]


def bodies(path: str, number: int) -> Iterator[dict[str, Any]]:
    """Yield the members of requests to this path: such as it accepts, and one with all names of all APIs."""
    text, own, said = tags(number), words(number, "w"), " ".join(words(number, "The committee meets word"))
    unknown = dict(zip(words(number, "n"), words(number, "v"), strict=True))
    terms = dict(zip(own, words(number, "t"), strict=True))
    common: dict[str, Any] = {"text": said, "source_lang": f"en-x-{number}", "target_lang": f"de-a-{number:06}"}
    yield {**common, "terms": terms, "do_not_translate": words(number, "k"), "context": f"context {own}"}
    yield {"text": own, "source_lang": "auto", "target_lang": text}
    yield {"text": f"Das Haus {own[0]} steht im Garten.", "source_lang": "auto", "target_lang": text[0]}
    yield {"q": said, "source": "en", "target": f"de-x-{number}", "api_key": own[0], **unknown}
    yield {"q": own, "source": "auto", "target": text[1], **unknown}
    rows = "\n".join(["a,b", *(f"{word},b,{tag},{text[0]}" for word, tag in zip(own, text, strict=True))])
    glossary = {"source_lang": "en", "target_lang": "de", "entries": rows, "entries_format": "csv"}
    yield {"name": own[0], **glossary, **unknown}
    yield {"name": own[0], "dictionaries": [glossary], **unknown}
    listed = [{"source_lang": "en", "target_lang": f"de-x-{number}", "entries": terms}]
    yield {"name": own[0], "dictionaries": listed}
    yield {"text": own, "target_lang": "de", "source_lang": "en", "glossary_id": own[1], "auth_key": own[2], **unknown}
    yield {"text_list": own, "source_lang": "en", "target_lang": text[2], "glossary": own[1], **unknown}
    yield {"texts": own, "from": "en", "to": text[3], "tag_handling": own[0], "ignore_tags": own, **unknown}
    yield {**common, "q": own, "source": text[4], "target": text[5], "name": path, **unknown}


def encoded(members: dict[str, Any], number: int) -> tuple[str, bytes]:
    """Return the content type and the body: JSON, a form, or its parts."""
    kind = number % 4
    if kind < 2:
        return f"application/json; charset=c{number}" if kind else "application/json", json.dumps(members).encode()
    if kind == 2:
        return "application/x-www-form-urlencoded", urlencode(members, doseq=True).encode()
    part = '--b{}\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = "".join(part.format(number, name, value) for name, value in members.items() if isinstance(value, str))
    return f"multipart/form-data; boundary=b{number}", f"{body}--b{number}--\r\n".encode()


def request(method: str, path: str, number: int, bearer: str, sample: int | None = None, accept: str = "") -> bytes:
    """Return a request of this route; ``bearer`` begins its key, ``sample`` numbers a body that it accepts."""
    own, text = words(number, "h"), tags(number)
    concrete = _PARAMETER.sub(lambda found: text[0] if "lang" in found[0] else f"{number:032x}", path)
    query = urlencode([*zip(words(number, "q"), own, strict=True), ("api_key", own[0]), ("auth_key", own[1])])
    headers = {
        "Host": "127.0.0.1",
        "X-Request-Id": own[0],
        "Authorization": f"{'Bearer' if number % 2 else 'DeepL-Auth-Key'} {bearer}{number:012x}_{number:032}",
        "X-Forwarded-For": f"2001:db8:{number >> 16:x}:{number & 0xFFFF:x}::{number:x}",
        "X-Pairway-Caller": f"{number:016x}",
        "User-Agent": own[1],
        "Accept": accept or f"application/{own[2]}",
        "Cookie": f"{own[3]}={own[4]}",
        "X-Timeout-Ms": f"{20_000 + number % 9_000}",
        # Seldom, because these are refused at once.
        **({"X-Priority": own[5]} if number % 19 == 0 else {}),
        **({"Origin": f"http://{own[6]}.example"} if number % 23 == 0 else {}),
        **dict(zip(words(number, "X-H"), own, strict=True)),
    }
    body = b""
    if method in {"POST", "PUT", "PATCH", "DELETE"}:
        chosen = number % len(_SAMPLES) if sample is None else sample
        members = next(islice(bodies(path, number), chosen, None))
        headers["Content-Type"], body = encoded(members, 0 if chosen < 3 else number // len(_SAMPLES))
        headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"{method} {concrete}?{query} HTTP/1.1\r\n{lines}\r\n".encode() + body


async def send_all(
    port: int, routes: Sequence[tuple[str, str]], numbers: range, bearer: str, accept: str = ""
) -> dict[int, int]:
    """Send a request for each number; return how often each status came (0: no answer).

    Every second one is as its path accepts it, the others go to one route after the other.
    """
    found: dict[int, int] = {}
    samples = [each for each in _SAMPLES if ("POST", each[0]) in routes]
    left = iter(numbers)

    async def send() -> None:
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        for number in left:
            method, path, sample = *routes[number // 2 % len(routes)], None
            if number % 2:
                method, (path, sample) = "POST", samples[number // 2 % len(samples)]
            elif number % 101 == 0:
                method, path = f"M{number}", "/"
            elif number % 11 == 0:
                path = f"{path}/p{number}"
            connection = connection or await asyncio.open_connection("127.0.0.1", port)
            reader, writer = connection
            writer.write(request(method, path, number, bearer, sample, accept))
            try:
                status, keeps_alive = await _answer(reader, method)
            except (ConnectionError, asyncio.IncompleteReadError):  # closed in the meantime, as idle connections may be
                status, keeps_alive = 0, False
            found[status] = found.get(status, 0) + 1
            if not keeps_alive:
                writer.close()
                connection = None
        if connection is not None:
            connection[1].close()

    await asyncio.gather(*(send() for _ in range(CONNECTIONS)))
    return found


async def _answer(reader: asyncio.StreamReader, method: str) -> tuple[int, bool]:
    """Read an answer; return its status, and whether the connection lives on."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split(" ")[1])
    if "text/event-stream" in head:
        return status, False
    length = re.search(r"content-length: (\d+)", head)
    if method == "HEAD" or status in {204, 304}:
        return status, "connection: close" not in head
    if length is None:
        while (size := int(await reader.readline(), 16)) > 0:
            await reader.readexactly(size + 2)
        await reader.readline()
    else:
        await reader.readexactly(int(length[1]))
    return status, "connection: close" not in head
