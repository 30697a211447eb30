"""Bursts: many short requests at once, each of them the dearest of its kind that needs no thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.hostile.endpoints import ANSWERS, DEEPL_OWNER, OWNER
from tests.hostile.measuring import Row, Sent, as_json

AT_ONCE: Final = 64
_PAIR: Final = {"source_lang": "en", "target_lang": "de"}
TEN: Final = ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sk", "sl"]
# Grouped digits, each of which may begin a quantity.
_DIGITS: Final = "111 111\u202f111.111 -"
_FORM: Final = "application/x-www-form-urlencoded"
# The longest texts and bodies that are worked on in the event loop.
_CHARS, _PLANNED_CHARS, _BYTES = 8190, 1990, 32_000


def burst_rows() -> Iterator[Row]:
    """Yield the rows; a size is that of each request."""

    def row(server: str, endpoint: str, name: str, limit: int, make: Callable[[int, int], Sent]) -> Row:
        return Row(server, endpoint, f"{AT_ONCE} at once: {name}", limit, make, ANSWERS | {502, 503}, copies=AT_ONCE)

    yield row("proxy", "POST /translate", "grouped digits", _CHARS, _text(_DIGITS, **_PAIR))
    yield row("proxy", "POST /translate", "ten targets", _CHARS, _text(_DIGITS, source_lang="en", target_lang=TEN))
    yield row("proxy", "POST /translate", "references", _CHARS, _text("&a1;", target_lang="de", format="html"))
    yield row("proxy", "POST /v2/translate", "a form of =", _BYTES, _form("="))
    yield row("proxy", "POST /v2/translate", "a form of many texts", _BYTES, _form("&text=a%41"))
    yield row("proxy", "POST /glossaries", "many entries", _BYTES, _entries)
    pair = {"source_lang": "en", "target_lang": "fr"}
    yield row("apiserver", "POST /translate", "grouped digits", _PLANNED_CHARS, _text(_DIGITS, "A b ", **pair))
    yield row("apiserver", "POST /translate", "tags", 490, _text("<b><i></b></i>a", **pair, format="html"))


def _text(unit: str, words: str = "", **members: Any) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        text = (f"{words}{seed} " + unit * (size // len(unit) + 1))[:size]
        return Sent("POST", "/translate", as_json({"text": text, **members}), {"Content-Type": "application/json"})

    return sent


def _form(unit: str) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        body = f"target_lang=DE&source_lang=EN&text=a{seed}" + unit * (size // len(unit))
        return Sent("POST", "/v2/translate", body.encode(), {"Content-Type": _FORM, **DEEPL_OWNER})

    return sent


def _entries(size: int, seed: int) -> Sent:
    entries = {f"w{number}": "a" for number in range(size // 12)}
    body = {"name": f"{seed}", "dictionaries": [{**_PAIR, "entries": entries, "unknown": 1}]}
    return Sent("POST", "/glossaries", as_json(body), {"Content-Type": "application/json", **OWNER})
