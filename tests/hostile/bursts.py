"""Bursts: many short requests at once, each of them the dearest of its kind that needs no thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tests.hostile.bodies import FORM, JSON
from tests.hostile.endpoints import ANSWERS, DEEPL_OWNER, ENDLESS, HEAD_BYTES, HEADS, OPERATOR, OWNER, concrete
from tests.hostile.measuring import Row, Sent, as_json

AT_ONCE: Final = 64
_PAIR: Final = {"source_lang": "en", "target_lang": "de"}
TEN: Final = ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sk", "sl"]
# Grouped digits, each of which may begin a quantity.
_DIGITS: Final = "111 111\u202f111.111 -"
# The longest texts and bodies that are worked on in the event loop.
_CHARS, _PLANNED_CHARS, _BYTES = 8190, 1990, 32_000


# What shows the fleet: the gate has each of them.
_FLEET: Final = frozenset(
    {"/health", "/metrics", "/fleet", "/status/data", "/languages", "/libretranslate/languages", "/v2/languages"}
    | {"/v3/languages", "/v2/glossary-language-pairs", "/openapi.json"}
)
_PARTS: Final = "multipart/form-data; boundary=b"
# Of a delimiter like this each of its characters may begin one.
_HYPHENS: Final = f"multipart/form-data; boundary={'-' * 68}b-"


def burst_rows(endpoints: Iterable[tuple[str, str]]) -> Iterator[Row]:
    """Yield the rows, with one for each GET of the proxy's endpoints; a size is that of each request."""

    def row(server: str, endpoint: str, name: str, limit: int, make: Callable[[int, int], Sent]) -> Row:
        return Row(server, endpoint, f"{AT_ONCE} at once: {name}", limit, make, ANSWERS | {502, 503}, copies=AT_ONCE)

    for method, route in endpoints:
        if method == "GET" and route not in ENDLESS:
            yield row("proxy", f"GET {route}", route if route in _FLEET else "nothing", 1, _get(route))
    yield row("proxy", "POST /translate", "grouped digits", _CHARS, _text(_DIGITS, **_PAIR))
    yield row("proxy", "POST /translate", "ten targets", _CHARS, _text(_DIGITS, source_lang="en", target_lang=TEN))
    yield row("proxy", "POST /translate", "references", _CHARS, _text("&a1;", target_lang="de", format="html"))
    yield row("proxy", "POST /v2/translate", "a form of =", _BYTES, _form("="))
    yield row("proxy", "POST /v2/translate", "a form of many texts", _BYTES, _form("&text=a%41"))
    yield row("proxy", "POST /glossaries", "many entries", _BYTES, _entries)
    yield row("proxy", "POST /glossaries", "dictionaries of fresh tags", 200, _dictionaries)
    for name, pair in _UNKNOWN.items():
        yield row("proxy", "POST /translate", f"unknown {name}", 1, _unknown(pair))
    yield row("proxy", "POST /libretranslate/translate", "unknown target", 1, _unknown_libre)
    yield row("proxy", "POST /v2/translate", "unknown target", 1, _unknown_deepl)
    for name in HEADS:
        yield row("proxy", "POST /translate", f"head: {name}", HEAD_BYTES, _headed(name))
        yield row("keyed", "POST /v2/translate", f"head: {name}", HEAD_BYTES, _headed(name))
    for endpoint, kind, name, unit in _KEY_BODIES:
        yield row("proxy", endpoint, f"key in {name}", _BYTES, _key_body(endpoint, kind, unit))
    pair = {"source_lang": "en", "target_lang": "fr"}
    yield row("apiserver", "POST /translate", "grouped digits", _PLANNED_CHARS, _text(_DIGITS, "A b ", **pair))
    yield row("apiserver", "POST /translate", "tags", 490, _text("<b><i></b></i>a", **pair, format="html"))


# Each a source and a target; ``{}`` makes a fresh tag.
_UNKNOWN: Final[dict[str, tuple[str, Any]]] = {
    "target": ("en", "q{}"),
    "pair": ("qaa", "q{}"),
    "target of a pivot": ("am", "q{}"),
    "source": ("q{}", "de"),
    "target in ten lists": ("en", [*TEN[:9], "q{}"]),
    "target of detected texts": ("auto", "q{}"),
}
_LETTERS: Final = "abcdefghijklmnopqrst"
_LIBRE_PATH, _DEEPL_PATH = "POST /libretranslate/translate", "POST /v2/translate"
# What a search for a key in a body meets most often.
_KEY_BODIES: Final = (
    (_LIBRE_PATH, JSON, "JSON of near names", '"api_ke":1,'),
    (_LIBRE_PATH, JSON, "JSON of names", '"api_key" : 1,'),
    (_LIBRE_PATH, JSON, "JSON of quotes", '"'),
    (_LIBRE_PATH, JSON, "JSON of escapes", '"\\"api_key\\"":"'),
    (_LIBRE_PATH, JSON, "JSON of spaces", " "),
    ("POST /translate", JSON, "shared JSON of q", '"q" "q":1,'),
    (_DEEPL_PATH, JSON, "JSON of auth_key", '"auth_key":{"a":1},'),
    (_LIBRE_PATH, FORM, "a form of &", "&"),
    (_LIBRE_PATH, FORM, "a form of near names", "&api_key"),
    (_DEEPL_PATH, FORM, "a form of auth_key=", "&auth_key="),
    (_LIBRE_PATH, _PARTS, "parts", "--b\r\nx: y\r\n\r\n\r\n"),
    (_LIBRE_PATH, _PARTS, "empty parts", "--b"),
    (_LIBRE_PATH, _PARTS, "parts of names", "--b\r\nx: api_key=1; name=api_ke\r\n\r\n"),
    (_LIBRE_PATH, _PARTS, "long heads", "--b" + "a" * 600),
    (_LIBRE_PATH, _HYPHENS, "hyphens", "-"),
)


def _get(route: str) -> Callable[[int, int], Sent]:
    owner = DEEPL_OWNER if "/v2" in route or "/v3" in route else OWNER if "glossar" in route else OPERATOR
    return lambda _, __: Sent("GET", concrete(route, 1), b"", owner)


def _fresh(tag: str, seed: int) -> str:
    return tag.replace("{}", _LETTERS[seed // 20 % 20] + _LETTERS[seed % 20])


def _unknown(pair: tuple[str, Any]) -> Callable[[int, int], Sent]:
    source, target = pair

    def sent(_: int, seed: int) -> Sent:
        fresh = _fresh(target, seed) if isinstance(target, str) else [_fresh(each, seed) for each in target]
        body = {"text": f"The house is green {seed}", "source_lang": _fresh(source, seed), "target_lang": fresh}
        return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})

    return sent


def _unknown_libre(_: int, seed: int) -> Sent:
    body = {"q": f"a {seed}", "source": "en", "target": _fresh("q{}", seed)}
    return Sent("POST", "/libretranslate/translate", as_json(body), {"Content-Type": JSON})


def _unknown_deepl(_: int, seed: int) -> Sent:
    body = {"text": [f"a {seed}"], "target_lang": _fresh("q{}", seed)}
    return Sent("POST", "/v2/translate", as_json(body), {"Content-Type": JSON, **DEEPL_OWNER})


def _headed(name: str) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        path, headers = HEADS[name]("/translate", size, seed)
        return Sent("POST", path, as_json({"text": "a", "target_lang": "de"}), {"Content-Type": JSON, **headers})

    return sent


def _key_body(endpoint: str, kind: str, unit: str) -> Callable[[int, int], Sent]:
    method, _, path = endpoint.partition(" ")
    start = "{" if kind == JSON else ""

    def sent(size: int, seed: int) -> Sent:
        return Sent(method, path, f"{start}{seed}{unit * (size // len(unit))}".encode(), {"Content-Type": kind})

    return sent


def _dictionaries(size: int, seed: int) -> Sent:
    each = [
        {
            "source_lang": f"en-{(seed * 200 + number) % 1000:03}",
            "target_lang": f"de-{number:03}",
            "entries": {"a": "b"},
        }
        for number in range(size)
    ]
    return Sent(
        "POST", "/glossaries", as_json({"name": f"{seed}", "dictionaries": each}), {"Content-Type": JSON, **OWNER}
    )


def _text(unit: str, words: str = "", **members: Any) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        text = (f"{words}{seed} " + unit * (size // len(unit) + 1))[:size]
        return Sent("POST", "/translate", as_json({"text": text, **members}), {"Content-Type": JSON})

    return sent


def _form(unit: str) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        body = f"target_lang=DE&source_lang=EN&text=a{seed}" + unit * (size // len(unit))
        return Sent("POST", "/v2/translate", body.encode(), {"Content-Type": FORM, **DEEPL_OWNER})

    return sent


def _entries(size: int, seed: int) -> Sent:
    entries = {f"w{number}": "a" for number in range(size // 12)}
    body = {"name": f"{seed}", "dictionaries": [{**_PAIR, "entries": entries, "unknown": 1}]}
    return Sent("POST", "/glossaries", as_json(body), {"Content-Type": JSON, **OWNER})
