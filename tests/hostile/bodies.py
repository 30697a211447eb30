"""Hostile bodies: JSON, forms and lines of glossaries, each a function from a number of bytes, and a seed, to about as many."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

Members = Mapping[str, Any]
MakeBody = Callable[[int, int], bytes]

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
BOUNDARY: Final = "boundary"
MULTIPART: Final = f"multipart/form-data; boundary={BOUNDARY}"
_VALUE: Final = "\ue0fe"


def _units(unit: str, count: int, seed: int, joiner: str = "") -> str:
    """Return copies of a unit; ``{}`` in it is the number of the copy."""
    if "{}" not in unit:
        return unit + (joiner + unit) * (count - 1)
    return joiner.join(unit.replace("{}", str(seed + number)) for number in range(count))


def _repeats(size: int, fixed: int, unit: str) -> int:
    """Return how many copies of a unit fit beside what is fixed."""
    return max(1, (size - fixed) // len(unit.replace("{}", "1234567")))


def json_bodies(base: Members, *, texts: str | None = None) -> dict[str, MakeBody]:
    """Return hostile forms of a valid body; ``texts`` is a member that takes lists of strings."""
    whole = json.dumps(base)
    stem, comma = whole[:-1], ", " if base else ""

    def around(opened: str, unit: str, closed: str = "", *, joiner: str = ",") -> MakeBody:
        """Return the valid body with one more member, whose value repeats a unit (``{}``: its number)."""

        def make(size: int, seed: int) -> bytes:
            units = _units(unit, _repeats(size, len(whole) + 40, unit + joiner), seed, joiner)
            return f"{stem}{comma}{opened}{units}{closed}}}".encode()

        return make

    def nested(opened: str, closed: str) -> MakeBody:
        def make(size: int, _: int) -> bytes:
            deep = (size - len(whole) - 40) // (len(opened) + len(closed))
            return f'{stem}{comma}"x":{opened * deep}1{closed * deep}}}'.encode()

        return make

    forms: dict[str, MakeBody] = {
        "JSON nested lists": nested("[", "]"),
        "JSON nested objects": nested('{"a":', "}"),
        "JSON half of nested lists": lambda size, _: b'{"x":' + b"[" * size,
        "JSON lists": around('"x":[', "[[[[[[[[1]]]]]]]]", "]"),
        "JSON empty lists": around('"x":[', "[]", "]"),
        "JSON objects": around('"x":[', '{"a{}":1}', "]"),
        "JSON members": around("", '"a{}":0'),
        "JSON members of a member": around('"x":{', '"a{}":""', "}"),
        "JSON repeated names": around("", '"x":0'),
        "JSON numbers": around('"x":[', "1", "]"),
        "JSON infinite numbers": around('"x":[', "1e400", "]"),
        "JSON one long number": around('"x":', "1", joiner=""),
        "JSON one long fraction": around('"x":0.', "1", joiner=""),
        "JSON escapes": around('"x":"', "\\u0041", '"', joiner=""),
        "JSON escaped name": around('"\\u0041', "\\u0041", '":1', joiner=""),
        "JSON backslashes": around('"x":"', "\\\\", '"', joiner=""),
        "JSON spaces": around('"x":1', " ", joiner=""),
        "JSON long name": around('"', "a", '":1', joiner=""),
        "JSON strings": around('"x":[', '"a{}"', "]"),
        "JSON list": lambda size, _: b"[" + b"0," * (size // 2 - 2) + b"0]",
        "JSON half a string": lambda size, _: b'{"x":"' + b"a" * (size - 6),
        "no JSON": lambda size, _: b"\xff" * size,
    }
    for name in base:
        others = json.dumps({other: value for other, value in base.items() if other != name})[:-1]
        start = others + (", " if len(base) > 1 else "")
        forms[f"JSON long {name}"] = _long(start, name, '"', "a", '"')
        forms[f"JSON list as {name}"] = _long(start, name, '["', 'a","', 'a"]')
        forms[f"JSON object as {name}"] = _long(start, name, '{"a":1', ',"a{}":1', "}")
    if texts is not None:
        others = json.dumps({other: value for other, value in base.items() if other != texts})[:-1]
        forms["JSON 256 texts"] = _texts(others, texts, 256)
        forms["JSON 11 texts"] = _texts(others, texts, 11)
    return forms


def _long(start: str, name: str, opened: str, unit: str, closed: str) -> MakeBody:
    def make(size: int, seed: int) -> bytes:
        units = _units(unit, _repeats(size, len(start) + len(name) + 10, unit), seed)
        return f'{start}"{name}":{opened}{units}{closed}}}'.encode()

    return make


def _texts(start: str, name: str, count: int) -> MakeBody:
    def make(size: int, seed: int) -> bytes:
        each = max(8, min((size - len(start)) // count - 8, 190_000))
        words = ("Wait for me near river {}. " * (each // 20 + 1))[:each]
        texts = [words.replace("{}", str(seed + number)) for number in range(count)]
        return f'{start}, "{name}":{json.dumps(texts)}}}'.encode()

    return make


def form_bodies(base: Mapping[str, str], text: str) -> dict[str, MakeBody]:
    """Return hostile urlencoded forms of these fields; ``text`` is the field that holds the text."""
    fixed = "&".join(f"{name}={quote(value)}" for name, value in base.items())

    def around(unit: str, start: str = "&") -> MakeBody:
        def make(size: int, seed: int) -> bytes:
            return (fixed + start + _units(unit, _repeats(size, len(fixed) + 20, unit), seed)).encode()

        return make

    return {
        "form fields": around("a{}=1&"),
        "form equal fields": around("a=1&"),
        "form empty fields": around("&"),
        "form names": around("a{}&"),
        "form percents": around("%41", f"&{text}2="),
        "form Chinese text": around("%E6%88%91", f"&{text}="),
        "form broken percents": around("%", f"&{text}2="),
        "form plus": around("+", f"&{text}2="),
        "form equals": around("=", f"&{text}2="),
        "form long name": around("a", "&"),
        "form texts": around(f"{text}=word+{{}}&"),
        "form semicolons": around("a{}=1;"),
    }


def multipart_bodies(base: Mapping[str, str]) -> dict[str, MakeBody]:
    """Return hostile multipart forms of these fields."""

    def part(name: str, value: str, more: str = "") -> str:
        return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'

    fixed = "".join(part(name, value) for name, value in base.items())

    def around(unit: str, start: str = "", end: str = f"--{BOUNDARY}--\r\n") -> MakeBody:
        def make(size: int, seed: int) -> bytes:
            count = _repeats(size, len(fixed) + len(start) + len(end), unit)
            return (fixed + start + _units(unit, count, seed) + end).encode()

        return make

    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="x'
    return {
        "multipart parts": around(part("a{}", "1")),
        "multipart long part": around("a", f'{head}"\r\n\r\n', f"\r\n--{BOUNDARY}--\r\n"),
        "multipart long name": around("a", head, f'"\r\n\r\n1\r\n--{BOUNDARY}--\r\n'),
        "multipart headers": around("X-A{}: 1\r\n", f'{head}"\r\n', f"\r\n1\r\n--{BOUNDARY}--\r\n"),
        "multipart parameters": around('; a{}="1"', f'{head}"', f"\r\n\r\n1\r\n--{BOUNDARY}--\r\n"),
        "multipart half boundaries": around(f"\r\n--{BOUNDARY[:-1]}", f'{head}"\r\n\r\n', f"\r\n--{BOUNDARY}--\r\n"),
        "multipart line ends": around("\r\n", f'{head}"\r\n\r\n', f"\r\n--{BOUNDARY}--\r\n"),
        "multipart files": around(part("f{}", "1", '; filename="a"')),
        "multipart without an end": around("a", f'{head}"\r\n\r\n', ""),
        "multipart boundaries": around(f"--{BOUNDARY}\r\n"),
    }


# Lines of a glossary: format and unit; the number makes each source another one.
LINES: Final[Mapping[str, tuple[str, str]]] = {
    "TSV entries": ("tsv", "word{}\tWort{}\n"),
    "TSV blank lines": ("tsv", "\n"),
    "TSV tabs": ("tsv", "\t"),
    "TSV spaces": ("tsv", " "),
    "TSV carriage returns": ("tsv", "\r"),
    "CSV entries": ("csv", "word{},Wort{}\n"),
    "CSV pairs of others": ("csv", "a,b,fr,it\n"),
    "CSV fresh tags": ("csv", "a,b,fr-x-{},it-x-{}\n"),
    "CSV wrong tags": ("csv", "a,b,f{},i{}\n"),
    "CSV quotes": ("csv", '"'),
    "CSV quoted": ("csv", '"word{}","Wort ""{}"""\n'),
    "CSV commas": ("csv", ","),
    "CSV line in quotes": ("csv", '"word{}\n'),
}


def lines(name: str, size: int, seed: int) -> tuple[str, str]:
    """Return format and lines of a kind, of about that many bytes."""
    kind, unit = LINES[name]
    first = "a,b\n" if kind == "csv" else "a\tb\n"
    return kind, first + _units(unit, _repeats(size, len(first), unit), 1_000_000 + 100_000 * seed)
