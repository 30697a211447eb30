"""Table of all endpoints of both servers, and the hostile inputs of each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from proxy.glossaries.glossary import MAX_DICTIONARIES
from tests.hostile import bodies, texts
from tests.hostile.bodies import FORM, JSON, MULTIPART, MakeBody
from tests.hostile.measuring import Row, Sent, as_json
from tests.hostile.servers import TOKEN, catalog

TEXT_CHARS: Final = 200_000
# Families differ in segments, not in what is done with whole texts: those of these pairs grow to the limit, the others so far.
WHOLE: Final = frozenset({"en-de", "en-fr"})
SHORT_CHARS: Final = 16_000
BODY_BYTES: Final = 2_097_152 - 1024
GLOSSARY_BYTES: Final = 4_194_304 - 1024
OPERATOR_BYTES: Final = 65_536 - 1024
# All of a request's head: 32 KiB.
HEAD_BYTES: Final = 30_000
OPERATOR: Final = {"Authorization": f"Bearer {TOKEN}"}
OWNER: Final = {"Authorization": "Bearer a-word-of-an-owner"}
DEEPL_OWNER: Final = {"Authorization": "DeepL-Auth-Key a-word-of-an-owner"}
# What a caller can be told about such inputs; 501 is LibreTranslate's and DeepL's answer for what does not exist here.
REFUSALS: Final = frozenset({400, 401, 403, 404, 405, 406, 408, 409, 411, 413, 414, 415, 422, 429, 431, 456, 501})
ANSWERS: Final = frozenset({200, 201, 202, 204}) | REFUSALS
_GOOD: Final = frozenset({200})
_UNDETECTED: Final = frozenset({200, 422, 400, 502})

# No Unicode, and no XML.
_REFUSED: Final = frozenset({"surrogates", "xml open", "xml half tag", "xml type"})

Rows = Iterator[Row]


def posted(
    server: str,
    endpoint: str,
    forms: Mapping[str, MakeBody],
    *,
    kind: str = JSON,
    limit: int = BODY_BYTES,
    headers: Mapping[str, str] | None = None,
    path: str | None = None,
) -> Rows:
    """Yield a row for each body; ``endpoint`` is method and route, ``path`` replaces the route where that has parameters."""
    method, _, route = endpoint.partition(" ")

    def row(name: str, make: MakeBody) -> Row:
        sent = {"Content-Type": kind, **(headers or {})}
        return Row(
            server,
            endpoint,
            name,
            limit,
            lambda size, seed: Sent(method, _found(path or route), make(size, seed), sent),
            ANSWERS,
        )

    for name, make in forms.items():
        yield row(name, make)


def text_rows(
    server: str,
    endpoint: str,
    body: Callable[[str, str], Any],
    *,
    label: str = "",
    formats: frozenset[str] = frozenset({"text", "html", "markdown", "xml"}),
    limit: int = TEXT_CHARS,
    statuses: frozenset[int] = _UNDETECTED,
) -> Rows:
    """Yield a row for each kind of text; ``body`` makes the request of a text and its format."""
    method, _, path = endpoint.partition(" ")

    def row(text_format: str, name: str, make: texts.Make) -> Row:
        def sent(size: int, seed: int) -> Sent:
            return Sent(method, path, as_json(body(make(size, seed), text_format)), {"Content-Type": JSON})

        allowed = statuses | REFUSALS if name in _REFUSED else statuses
        return Row(server, endpoint, f"{name}{label}", limit, sent, allowed)

    for text_format, name, make in texts.kinds():
        if text_format in formats:
            yield row(text_format, name, make)


# --- the proxy -----------------------------------------------------------------------------------------------------

_TRANSLATE: Final = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
_OPTIONS: Final = {
    **_TRANSLATE,
    "format": "text",
    "do_not_translate": ["Hello"],
    "terms": {"a": "b"},
    "pivot": True,
    "alternatives": 0,
    "split_sentences": None,
    "context": "",
    "confidence": False,
    "min_confidence": None,
    "xml": None,
}
_LIBRE: Final = {"q": "Hello", "source": "en", "target": "de", "format": "text", "alternatives": 0, "api_key": "a"}
_DEEPL: Final = {"text": ["Hello"], "source_lang": "EN", "target_lang": "DE", "tag_handling": "xml"}
_DEEPL_FORM: Final = {"text": "Hello", "source_lang": "EN", "target_lang": "DE"}
_PAIR: Final = {"source_lang": "en", "target_lang": "de"}
_DICTIONARY: Final = {**_PAIR, "entries": {"a": "b"}}
_V2: Final = {"name": "w", "source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv"}
_V3: Final = {"name": "w", "dictionaries": [{**_DICTIONARY, "entries": "a\tb", "entries_format": "tsv"}]}


def _ten_targets(size: int, seed: int) -> Sent:
    text = texts.PLAIN["sentences"](size, seed)
    targets = ["de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sk", "sl"]
    return Sent(
        "POST", "/translate", as_json({**_TRANSLATE, "text": text, "target_lang": targets}), {"Content-Type": JSON}
    )


def _pivoted(size: int, seed: int) -> Sent:
    body = {"text": texts.PLAIN["sentences"](size, seed), "source_lang": "am", "target_lang": "sw"}
    return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})


def _streamed(size: int, seed: int) -> Sent:
    body = as_json({**_TRANSLATE, "text": texts.PLAIN["sentences"](size, seed)})
    return Sent("POST", "/translate", body, {"Content-Type": JSON, "Accept": "text/event-stream"})


def _phrases(size: int, seed: int) -> Sent:
    """Return 256 names and terms of 200 characters, and a text of them."""
    phrases = [f"{seed} {number} ".ljust(198, "x") for number in range(256)]
    text = " ".join(itertools.islice(itertools.cycle(phrases), size // 199 + 1))
    body = {**_TRANSLATE, "text": text[:size], "do_not_translate": phrases, "terms": dict.fromkeys(phrases, "Wort")}
    return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})


def _prefixes(size: int, seed: int) -> Sent:
    """Return terms that begin as each other do, and a text that nearly is them all."""
    terms = {"a" * length: "b" for length in range(1, 200)}
    body = {**_TRANSLATE, "text": f"{seed} ".ljust(size, "a"), "terms": terms, "do_not_translate": [f"{'a ' * 99}b"]}
    return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})


def _beginnings(size: int, seed: int) -> Sent:
    """Return terms that begin as each other do, and a text that at each place begins only the shortest."""
    text = f"{seed} ".ljust(4, "l") + "l'a" * (size // 3 - 1)
    body = {**_TRANSLATE, "text": text, "terms": {"a" * length: "b" for length in range(1, 200)}}
    return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})


def _other_case(size: int, seed: int) -> Sent:
    """Return names that begin as each other do, and a text in another case, where each place begins an entry."""
    names = ["\u3042A" * length for length in range(1, 101)]
    text = (f"{seed} " + "\u3042a" * size)[:size]
    body = {**_TRANSLATE, "text": text, "do_not_translate": names}
    return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON})


def _tags(size: int, seed: int) -> Sent:
    targets = [f"en-{(size + 10 * seed + number) % 1000:03}" for number in range(10)]
    return Sent("POST", "/translate", as_json({"text": "a", "target_lang": targets}), {"Content-Type": JSON})


def _private_tags(size: int, seed: int) -> Sent:
    targets = [f"fr-x-{(size + 10 * seed + number)}" for number in range(10)]
    return Sent("POST", "/translate", as_json({"text": "a", "target_lang": targets}), {"Content-Type": JSON})


def _xml_options(size: int, seed: int) -> Sent:
    names = [f"a{seed}-{number}" for number in range(256)]
    text = f"<r>{''.join(f'<{name}>w</{name}>' for name in itertools.islice(itertools.cycle(names), size // 32))}</r>"
    xml = {"splitting_tags": names[:128], "non_splitting_tags": names[128:], "ignore_tags": names[100:150]}
    return Sent(
        "POST", "/translate", as_json({**_TRANSLATE, "text": text, "format": "xml", "xml": xml}), {"Content-Type": JSON}
    )


def _proxy_texts() -> Rows:
    def detected(text: str, text_format: str) -> Any:
        return {"text": text, "target_lang": "de", "format": text_format}

    def plain(text: str, _: str) -> Any:
        return {"text": text}

    def libre(text: str, text_format: str) -> Any:
        return {"q": text, "source": "auto", "target": "de", "format": text_format}

    def deepl(text: str, text_format: str) -> Any:
        return {"text": [text], "target_lang": "DE", **({} if text_format == "text" else {"tag_handling": text_format})}

    markup = frozenset({"html"})
    yield from text_rows("proxy", "POST /translate", detected)
    yield from text_rows("proxy", "POST /detect", plain, formats=frozenset({"text"}))
    yield from text_rows("proxy", "POST /libretranslate/translate", libre, formats=markup)
    yield from text_rows("proxy", "POST /v2/translate", deepl, formats=frozenset({"html", "xml"}))
    rows = {
        "ten targets": _ten_targets,
        "a pivot": _pivoted,
        "a stream": _streamed,
        "256 names and terms": _phrases,
        "terms with one beginning": _prefixes,
        "XML options": _xml_options,
    }
    for name, make in rows.items():
        yield Row("proxy", "POST /translate", name, TEXT_CHARS, make, _GOOD)
    yield Row("proxy", "POST /translate", "ten fresh tags", 64, _tags, ANSWERS | {503})
    yield Row("proxy", "POST /translate", "ten private tags", 64, _private_tags, ANSWERS | {503})


def _with_glossary(make: texts.Make) -> Callable[[int, int], Sent]:
    def sent(size: int, seed: int) -> Sent:
        body = {**_TRANSLATE, "text": make(size, seed), "glossary": GLOSSARIES[0]}
        return Sent("POST", "/translate", as_json(body), {"Content-Type": JSON, **OWNER})

    return sent


# Stands for the id of the owner's glossary with as many entries as allowed, which the run writes into the list.
EDITED: Final = "LARGE-GLOSSARY"
GLOSSARIES: Final[list[str]] = []
LARGE: Final = 10_000


def _found(path: str) -> str:
    """Return a path with the real id of the owner's large glossary."""
    return path.replace(EDITED, GLOSSARIES[0])


def large_glossary() -> Any:
    """Return a draft with as many entries as allowed, some the beginnings of others, or parts of each other."""
    entries = {f"word{number} and": f"Wort {number}" for number in range(LARGE - 400)}
    entries |= {"a" * length: "b" for length in range(1, 200)}
    entries |= {" ".join("a" * length): "b" for length in range(1, 100)}
    entries |= {f"{number} kg": f"{number} Kilo" for number in range(90)}
    return {"name": "large", "dictionaries": [{"source_lang": "en", "target_lang": "de", "entries": entries}]}


def _glossaries() -> Rows:
    for name in ("words without an end", "one word", "amounts", "full stops", "digits apart", "spaces"):
        yield Row(
            "proxy", "POST /translate", f"large glossary, {name}", TEXT_CHARS, _with_glossary(texts.PLAIN[name]), _GOOD
        )
    yield from _shown()
    for path in ("/glossaries",):
        yield from posted(
            "proxy", f"POST {path}", bodies.json_bodies({"name": "w", "dictionaries": [_DICTIONARY]}),
            limit=GLOSSARY_BYTES, headers=OWNER,
        )  # fmt: skip
        yield from _entries("proxy", f"POST {path}", None, OWNER)
    route = "/glossaries/{glossary_id}"
    here = f"/glossaries/{EDITED}"
    yield from posted(
        "proxy", f"PATCH {route}", bodies.json_bodies({"name": "w"}), limit=GLOSSARY_BYTES, headers=OWNER, path=here
    )
    route += "/dictionaries/{source_lang}/{target_lang}"
    for method in ("PUT", "PATCH"):
        yield from posted(
            "proxy", f"{method} {route}", bodies.json_bodies({"entries": {"a": "b"}}),
            limit=GLOSSARY_BYTES, headers=OWNER, path=f"{here}/dictionaries/en/de",
        )  # fmt: skip
        yield from _entries("proxy", f"{method} {route}", f"{here}/dictionaries/en/de", OWNER)


def _shown() -> Rows:
    """Yield what shows, or lists, glossaries."""

    def row(route: str, path: str) -> Row:
        owner = DEEPL_OWNER if path.startswith("/v") else OWNER
        return Row(
            "proxy", f"GET {route}", "large glossary", 1, lambda _, __: Sent("GET", _found(path), b"", owner), _GOOD
        )

    yield row("/glossaries", "/glossaries")
    yield row("/glossaries/{glossary_id}", f"/glossaries/{EDITED}")
    route = "/dictionaries/{source_lang}/{target_lang}"
    yield row("/glossaries/{glossary_id}" + route, f"/glossaries/{EDITED}/dictionaries/en/de")
    for version in ("/v2", "/v3"):
        yield row(f"{version}/glossaries", f"{version}/glossaries")
        yield row(f"{version}/glossaries/{{glossary_id}}", f"{version}/glossaries/{EDITED}")
    yield row("/v2/glossaries/{glossary_id}/entries", f"/v2/glossaries/{EDITED}/entries")
    path = f"/v3/glossaries/{EDITED}/entries?source_lang=en&target_lang=de"
    yield row("/v3/glossaries/{glossary_id}/entries", path)


def _entries(server: str, endpoint: str, path: str | None, headers: Mapping[str, str]) -> Rows:
    """Yield rows of up to 10,000 entries, short and long, and of 200 dictionaries."""
    method, _, route = endpoint.partition(" ")

    def entries(size: int, seed: int, long: int) -> dict[str, str]:
        return {f"{seed} {number} ".ljust(long, "x"): "y" * long for number in range(size)}

    def sent(size: int, seed: int, long: int) -> Sent:
        body: Any = {"entries": entries(size, seed, long)}
        if path is None:
            body = {"name": "w", "dictionaries": [{"source_lang": "en", "target_lang": "de", **body}]}
        return Sent(method, _found(path or route), as_json(body), {"Content-Type": JSON, **headers})

    def dictionaries(size: int, seed: int) -> Sent:
        each = [
            {"source_lang": f"en-{number:03}", "target_lang": "de", "entries": entries(50, seed, 20)}
            for number in range(size)
        ]
        return Sent(method, route, as_json({"name": "w", "dictionaries": each}), {"Content-Type": JSON, **headers})

    yield Row(server, endpoint, "short entries", LARGE, lambda size, seed: sent(size, seed, 10), ANSWERS)
    yield Row(server, endpoint, "long entries", LARGE, lambda size, seed: sent(size, seed, 100), ANSWERS)
    if path is None:
        yield Row(server, endpoint, "dictionaries", 200, dictionaries, ANSWERS)


def _deepl_lines(endpoint: str, path: str | None, *, is_v3: bool) -> Rows:
    method, _, route = endpoint.partition(" ")

    def row(name: str, kind: str) -> Row:
        def sent(size: int, seed: int) -> Sent:
            entries_format, entries = bodies.lines(name, size, seed)
            dictionary = {**_PAIR, "entries": entries, "entries_format": entries_format}
            body: Any = {"name": "w", **({"dictionaries": [dictionary]} if is_v3 else dictionary)}
            data = as_json(body) if kind == JSON else urlencode(body).encode()
            return Sent(method, _found(path or route), data, {"Content-Type": kind, **DEEPL_OWNER})

        label = name if kind == JSON else f"{name} in a form"
        # Percent-encoded and escaped lines are up to three times as long.
        return Row("proxy", endpoint, label, GLOSSARY_BYTES // (2 if kind == JSON else 4), sent, ANSWERS)

    def dictionaries(name: str) -> Row:
        """Return a row whose lines are cut into as many dictionaries as are allowed."""

        def sent(size: int, seed: int) -> Sent:
            kind, _ = bodies.LINES[name]
            each = [
                {
                    **_PAIR,
                    "entries": bodies.lines(name, size // MAX_DICTIONARIES - 100, seed)[1],
                    "entries_format": kind,
                }
                for seed in range(seed, seed + MAX_DICTIONARIES)
            ]
            body = as_json({"name": "w", "dictionaries": each})
            return Sent(method, _found(path or route), body, {"Content-Type": JSON, **DEEPL_OWNER})

        return Row("proxy", endpoint, f"{name} in {MAX_DICTIONARIES} dictionaries", GLOSSARY_BYTES // 2, sent, ANSWERS)

    for name in bodies.LINES:
        yield row(name, JSON)
    if is_v3:
        yield from map(dictionaries, ("TSV entries", "TSV blank lines", "CSV pairs of others", "CSV fresh tags"))
    if not is_v3:
        yield from (row(name, FORM) for name in ("TSV entries", "CSV fresh tags"))


def _compatible() -> Rows:
    libre = bodies.json_bodies(_LIBRE, texts="q")
    for path in ("/libretranslate/translate", "/translate"):
        yield from posted("proxy", f"POST {path}", libre)
        yield from posted(
            "proxy", f"POST {path}", bodies.form_bodies({"source": "en", "target": "de", "q": "a"}, "q"), kind=FORM
        )
    yield from posted(
        "proxy",
        "POST /libretranslate/translate",
        bodies.multipart_bodies({"source": "en", "target": "de", "q": "a"}),
        kind=MULTIPART,
    )
    yield from posted("proxy", "POST /libretranslate/detect", bodies.json_bodies({"q": "Hello", "api_key": "a"}))
    yield from posted("proxy", "POST /libretranslate/detect", bodies.form_bodies({"q": "Hello"}, "q"), kind=FORM)
    yield from posted("proxy", "POST /libretranslate/detect", bodies.multipart_bodies({"q": "Hello"}), kind=MULTIPART)
    for prefix in ("", "/deepl"):
        yield from posted("proxy", f"POST {prefix}/v2/translate", bodies.json_bodies(_DEEPL, texts="text"))
        yield from posted("proxy", f"POST {prefix}/v2/translate", bodies.form_bodies(_DEEPL_FORM, "text"), kind=FORM)
    for path in ("/v2/languages", "/v2/usage"):
        yield from posted("proxy", f"POST {path}", bodies.json_bodies({"type": "target"}))
        yield from posted("proxy", f"POST {path}", bodies.form_bodies({"type": "target"}, "type"), kind=FORM)
    for path, base, is_v3 in (("/v2/glossaries", _V2, False), ("/v3/glossaries", _V3, True)):
        yield from posted("proxy", f"POST {path}", bodies.json_bodies(base), limit=GLOSSARY_BYTES, headers=DEEPL_OWNER)
        yield from _deepl_lines(f"POST {path}", None, is_v3=is_v3)
    yield from posted(
        "proxy",
        "POST /v2/glossaries",
        bodies.form_bodies(_V2, "entries"),
        kind=FORM,
        limit=GLOSSARY_BYTES,
        headers=DEEPL_OWNER,
    )
    yield from posted(
        "proxy", "POST /v3/glossaries",
        {"form dictionaries": lambda size, seed: "&".join(f"dictionaries[{seed + number}].source_lang=en" for number in range(size // 34)).encode()},
        kind=FORM, limit=GLOSSARY_BYTES, headers=DEEPL_OWNER,
    )  # fmt: skip
    route, path = "/v3/glossaries/{glossary_id}", f"/v3/glossaries/{EDITED}"
    yield from posted(
        "proxy", f"PATCH {route}", bodies.json_bodies(_V3), limit=GLOSSARY_BYTES, headers=DEEPL_OWNER, path=path
    )
    route, path = f"{route}/dictionaries", f"{path}/dictionaries"
    yield from posted(
        "proxy", f"PUT {route}", bodies.json_bodies(_V2), limit=GLOSSARY_BYTES, headers=DEEPL_OWNER, path=path
    )
    for path in ("/deeplx/translate", "/deeplx/v2/translate"):
        yield from posted(
            "proxy", f"POST {path}", bodies.json_bodies({"text": "Hello", "source_lang": "EN", "target_lang": "DE"})
        )
        yield from posted("proxy", f"POST {path}", bodies.form_bodies(_DEEPL_FORM, "text"), kind=FORM)
    yield from posted(
        "proxy",
        "POST /imme",
        bodies.json_bodies({"source_lang": "en", "target_lang": "de", "text_list": ["a"]}, texts="text_list"),
    )
    yield from posted(
        "proxy", "POST /kiss", bodies.json_bodies({"from": "en", "to": "de", "texts": ["a"]}, texts="texts")
    )


def _native() -> Rows:
    yield from posted("proxy", "POST /translate", bodies.json_bodies(_OPTIONS, texts="text"))
    yield from posted("proxy", "POST /detect", bodies.json_bodies({"text": "Hello"}, texts="text"))
    operator: Mapping[str, Any] = {
        "POST /fleet/replicas": {"url": "http://127.0.0.1:1", "weight": 1.0},
        "POST /fleet/replicas/drain": {"url": "http://127.0.0.1:1"},
        "POST /fleet/replicas/resume": {"url": "http://127.0.0.1:1"},
        "PUT /fleet/expected": {"nothing": 1},
        "POST /keys": {"name": "a", "pairs": ["en-de"], "scopes": ["translate"]},
    }
    for endpoint, base in operator.items():
        yield from posted("proxy", endpoint, bodies.json_bodies(base), limit=OPERATOR_BYTES, headers=OPERATOR)
    yield from posted(
        "proxy",
        "PATCH /keys/{key_id}",
        bodies.json_bodies({"name": "a"}),
        limit=OPERATOR_BYTES,
        headers=OPERATOR,
        path="/keys/0123456789ab",
    )


def _keyless() -> Rows:
    """Yield what a caller without a key can make a proxy read."""
    libre, deepl = {**_LIBRE, "api_key": "pw-0123456789ab-" + "a" * 32}, {**_DEEPL, "auth_key": "a"}
    for path in ("/libretranslate/translate", "/translate"):
        yield from posted("keyed", f"POST {path}", bodies.json_bodies(libre, texts="q"))
        yield from posted(
            "keyed", f"POST {path}", bodies.form_bodies({"source": "en", "target": "de", "q": "a"}, "q"), kind=FORM
        )
    yield from posted("keyed", "POST /libretranslate/translate", bodies.multipart_bodies({"q": "a"}), kind=MULTIPART)
    yield from posted("keyed", "POST /libretranslate/detect", bodies.json_bodies({"q": "a"}))
    yield from posted("keyed", "POST /v2/translate", bodies.json_bodies(deepl, texts="text"))
    yield from posted(
        "keyed", "POST /v2/translate", bodies.form_bodies({**_DEEPL_FORM, "auth_key": "a"}, "text"), kind=FORM
    )
    yield from posted("keyed", "POST /v2/usage", bodies.form_bodies({"auth_key": "a"}, "type"), kind=FORM)
    yield from posted("keyed", "POST /v2/languages", bodies.form_bodies({"auth_key": "a"}, "type"), kind=FORM)
    yield from posted("keyed", "POST /v2/glossaries", bodies.json_bodies(_V2), limit=GLOSSARY_BYTES)
    yield from posted("keyed", "POST /detect", bodies.json_bodies({"text": "a"}))


# Second paths of endpoints above, and those that only say that they serve nothing: bodies of three kinds show that nobody reads them
# in another way.
_TWINS: Final[Mapping[str, str]] = {
    "/deepl": "POST PUT PATCH",
    "/deepl/v2/document": "POST",
    "/deepl/v2/document/{document}": "POST",
    "/deepl/v2/document/{document}/result": "POST",
    "/deepl/v2/glossaries": "POST",
    "/deepl/v2/languages": "POST",
    "/deepl/v2/usage": "POST",
    "/deepl/v2/write/correct": "POST",
    "/deepl/v2/write/rephrase": "POST",
    "/deepl/v3/glossaries": "POST",
    "/deepl/v3/glossaries/{glossary_id}": "PATCH",
    "/deepl/v3/glossaries/{glossary_id}/dictionaries": "PUT",
    "/deepl/{path:path}": "POST PUT PATCH",
    "/deeplx": "POST PUT PATCH",
    "/deeplx/v1/translate": "POST",
    "/deeplx/{path:path}": "POST PUT PATCH",
    "/imme": "PUT PATCH",
    "/imme/{path:path}": "POST PUT PATCH",
    "/kiss": "PUT PATCH",
    "/kiss/{path:path}": "POST PUT PATCH",
    "/libretranslate": "POST PUT PATCH",
    "/libretranslate/suggest": "POST",
    "/libretranslate/translate_file": "POST",
    "/libretranslate/{path:path}": "POST PUT PATCH",
    "/v2/document": "POST",
    "/v2/document/{document}": "POST",
    "/v2/document/{document}/result": "POST",
    "/v2/write/correct": "POST",
    "/v2/write/rephrase": "POST",
}


def _twins() -> Rows:
    json, form = bodies.json_bodies({}), bodies.form_bodies({}, "text")
    for route, methods in _TWINS.items():
        for method in methods.split():
            path, endpoint = concrete(route, 8), f"{method} {route}"
            chosen = {name: json[name] for name in ("JSON lists", "JSON members", "JSON repeated names")}
            yield from posted("proxy", endpoint, chosen, headers=DEEPL_OWNER, path=path)
            yield from posted(
                "proxy", endpoint, {"form fields": form["form fields"]}, kind=FORM, headers=DEEPL_OWNER, path=path
            )


# --- the API server ------------------------------------------------------------------------------------------------


def _apiserver() -> Rows:
    def body(pair: str) -> Callable[[str, str], Any]:
        source, target = pair.split("-")
        return lambda text, text_format: {
            "text": text,
            "source_lang": source,
            "target_lang": target,
            "format": text_format,
        }

    for name, entry in catalog()["models"].items():
        for pair in entry["pairs"]:
            label = f" to {name} {pair}"
            limit = TEXT_CHARS if pair in WHOLE else SHORT_CHARS
            yield from text_rows(
                "apiserver", "POST /translate", body(pair), label=label, limit=limit, statuses=frozenset({200, 502})
            )
    for name, make in {
        "256 names and terms": _phrases,
        "terms with one beginning": _prefixes,
        "beginnings of terms": _beginnings,
        "names in another case": _other_case,
        "XML options": _xml_options,
        "a stream": _streamed,
    }.items():
        yield Row("apiserver", "POST /translate", name, TEXT_CHARS, make, frozenset({200, 502}))
    yield from posted("apiserver", "POST /translate", bodies.json_bodies(_OPTIONS, texts="text"))
    yield from posted(
        "apiserver", "POST /models/reload", bodies.json_bodies({"unknown": 1}), limit=OPERATOR_BYTES, headers=OPERATOR
    )


# --- heads ---------------------------------------------------------------------------------------------------------

# Answers that never end.
ENDLESS: Final = frozenset({"/status/stream"})
# What a head can hold: a query, a header, parts of a path.
HEADS: Final[Mapping[str, Callable[[str, int, int], tuple[str, dict[str, str]]]]] = {
    "nothing": lambda path, _, __: (path, {}),
    "query": lambda path, size, seed: (f"{path}?{'&'.join(f'a{seed + number}=1' for number in range(size // 10))}", {}),
    "query of percents": lambda path, size, _: (f"{path}?q={'%41' * (size // 3)}", {}),
    "headers": lambda path, size, seed: (path, {f"X-A{seed + number}": "1" for number in range(size // 16)}),
    "long headers": lambda path, size, _: (
        path,
        dict.fromkeys(_READ_HEADERS, "a, " * (size // 3 // len(_READ_HEADERS))),
    ),
}
_READ_HEADERS: Final = (
    *(
        "Accept",
        "Accept-Language",
        "Accept-Encoding",
        "Authorization",
        "Cache-Control",
        "Cookie",
        "Forwarded",
        "Origin",
    ),
    *("If-None-Match", "Last-Event-ID", "X-Forwarded-For", "X-Priority", "X-Request-Id", "X-Timeout-Ms", "X-Caller"),
)


def head_rows(server: str, endpoints: Iterator[tuple[str, str]], kinds: frozenset[str]) -> Rows:
    """Yield rows of hostile heads for each endpoint of a server, given as method and route."""

    def row(method: str, route: str, name: str) -> Row:
        def sent(size: int, seed: int) -> Sent:
            path = concrete(route, 1 if name != "nothing" else max(1, size // (route.count("{") or 1)))
            path, headers = HEADS[name](path, size, seed)
            return Sent(method, path, b"", {**OPERATOR, **headers})

        return Row(server, f"{method} {route}", f"head: {name}", HEAD_BYTES, sent, ANSWERS | {503}, route in ENDLESS)

    for method, route in endpoints:
        for name in HEADS:
            if name in kinds:
                yield row(method, route, name)


def concrete(route: str, length: int) -> str:
    """Return a path of a route: its parameters are so long."""
    parts = route.replace("{path:path}", "{path}").split("/")
    return "/".join(quote("a" * min(length, 20_000)) if part.startswith("{") else part for part in parts)


def body_rows() -> Rows:
    """Yield all rows whose input is not in the head."""
    yield from _native()
    yield from _proxy_texts()
    yield from _glossaries()
    yield from _compatible()
    yield from _twins()
    yield from _keyless()
    yield from _apiserver()


HEAD_KINDS: Final = tuple(HEADS)
