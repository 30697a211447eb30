"""The recorded requests: good ones, each kind of error, lists, detection, glossaries and forms, at each API's paths.

``$NAME`` in a path, header or body is what an earlier answer or the test kept under this name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

ENGLISH: Final = "The weather is very nice today and we are going for a long walk."
GERMAN: Final = "Das Wetter ist heute sehr schön und wir machen einen langen Spaziergang."
RUSSIAN: Final = "Сегодня очень хорошая погода, и мы идём на долгую прогулку."
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data; boundary=x"
NEVER: Final = "01234567-89ab-cdef-0123-456789abcdef"


@dataclass(frozen=True)
class Asked:
    """One request.

    ``problem`` is what the replica says to it; ``keeps`` names a member of the answer that later requests contain.
    """

    method: str
    path: str
    body: bytes | None = None
    kind: str | None = JSON
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    problem: tuple[int, str] | None = None
    keeps: Mapping[str, str] = field(default_factory=dict[str, str])


def post(path: str, body: object = None, /, *, method: str = "POST", **more: Any) -> Asked:
    """Return a request with a JSON body; bytes stay as they are."""
    return Asked(method, path, body if isinstance(body, bytes) else json.dumps(body).encode(), **more)


def form(path: str, fields: object, **more: Any) -> Asked:
    return Asked("POST", path, urlencode(fields, doseq=True, safe="$").encode(), FORM, **more)  # pyright: ignore[reportArgumentType] - tests know


def multipart(path: str, fields: Mapping[str, str], **more: Any) -> Asked:
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    )
    return Asked("POST", path, f"{parts}--x--\r\n".encode(), MULTIPART, **more)


def get(path: str, **more: Any) -> Asked:
    return Asked("GET", path, kind=None, **more)


NATIVE: Final[dict[str, Any]] = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
LIBRE: Final[dict[str, Any]] = {"q": "Hello", "source": "en", "target": "de"}
DEEPL: Final[dict[str, Any]] = {"text": ["Hello"], "source_lang": "EN", "target_lang": "DE"}
DEEPLX: Final[dict[str, Any]] = {"text": "Hello", "source_lang": "EN", "target_lang": "DE"}
IMME: Final[dict[str, Any]] = {"source_lang": "en", "target_lang": "de", "text_list": ["Hello"]}
KISS: Final[dict[str, Any]] = {"from": "en", "to": "de", "text": "Hello"}
# The translations' paths, with a body that each takes.
TRANSLATIONS: Final[Sequence[tuple[str, dict[str, Any], str, str]]] = (
    ("/translate", NATIVE, "text", "target_lang"),
    ("/translate", LIBRE, "q", "target"),
    ("/libretranslate/translate", LIBRE, "q", "target"),
    ("/v2/translate", DEEPL, "text", "target_lang"),
    ("/deepl/v2/translate", DEEPL, "text", "target_lang"),
    ("/deeplx/translate", DEEPLX, "text", "target_lang"),
    ("/deeplx/v2/translate", DEEPLX, "text", "target_lang"),
    ("/imme", IMME, "text_list", "target_lang"),
    ("/kiss", KISS, "text", "to"),
)
# Ends the wait of the APIs that wait for a fault to pass; whatever the machine does, the deadline passes.
SOON: Final = {"X-Timeout-Ms": "200"}


def _common() -> list[Asked]:
    """Return what every translation's path is asked."""
    asked: list[Asked] = []
    for path, body, texts, target in TRANSLATIONS:
        source = next(name for name in body if name in {"source", "source_lang", "from"})
        long = ["x" * 1001] if isinstance(body[texts], list) else "x" * 1001
        asked += [
            post(path, body),
            post(path, {**body, source: "auto", texts: [ENGLISH] if isinstance(body[texts], list) else ENGLISH}),
            post(path, {**body, source: "auto", texts: [RUSSIAN] if isinstance(body[texts], list) else RUSSIAN}),
            post(path, {**body, texts: [] if isinstance(body[texts], list) else ""}),
            post(path, {**body, texts: long}),
            post(path, {**body, texts: 7}),
            post(path, {**body, target: "ja"}),
            post(path, {**body, target: "german!"}),
            post(path, {**body, target: 5}),
            post(path, {**body, source: "tlh"}),
            post(path, {**body, "nonsense": 1}),
            post(path, {name: value for name, value in body.items() if name != target}),
            post(path, {name: value for name, value in body.items() if name != texts}),
            post(path, b"{not JSON}"),
            post(path, b'["Hello"]'),
            post(path, b""),
            post(path, b"x" * 9000),
            post(path, body, kind="text/plain"),
            post(path, body, headers={"Content-Encoding": "gzip"}),
            form(path, body),
            Asked("GET", path, kind=None),
            Asked("PUT", path, b"{}"),
            post(path, body, problem=(502, "unusable-output")),
            post(path, body, problem=(503, "overloaded"), headers={} if body is NATIVE else SOON),
            post(path, body, headers={"Origin": "https://page.example"}),
            post(path, body, headers={"Authorization": "Bearer a-word"}),
        ]
    return asked


def open_requests() -> list[Asked]:
    """Return the requests to a proxy without keys; the owner of glossaries is a word."""
    return [*_common(), *_native(), *_libretranslate(), *_deepl(), *_others(), *_glossaries()]


def _native() -> list[Asked]:
    return [
        post("/translate", {**NATIVE, "text": ["Hello", "", "Good morning"]}),
        post("/translate", {**NATIVE, "target_lang": ["de", "fr"]}),
        post("/translate", {**NATIVE, "text": ["a", "b"], "target_lang": ["de", "fr"]}),
        post("/translate", {**NATIVE, "target_lang": ["de", "DE"]}),
        post("/translate", {**NATIVE, "text": [ENGLISH, GERMAN], "source_lang": "auto", "target_lang": "en"}),
        post("/translate", {**NATIVE, "text": "<b>Hello</b>", "format": "html"}),
        post("/translate", {**NATIVE, "alternatives": 2, "confidence": True}),
        post("/translate", b'{"text": "a", "text": "b", "source_lang": "en", "target_lang": "de"}'),
        post("/translate", NATIVE, problem=(500, "internal")),
        post("/translate", {**NATIVE, "q": "Hello"}),
        post("/translate", {**NATIVE, "glossary": NEVER}),
        post("/translate", NATIVE, headers={"Accept": "text/event-stream"}),
        post("/translate", {**NATIVE, "target_lang": ["de"]}, headers={"Accept": "text/event-stream"}),
        post("/translate", {**NATIVE, "target_lang": "ja"}, headers={"Accept": "text/event-stream"}),
        post("/translate", {**LIBRE}, headers={"Accept": "text/event-stream"}),
        post("/translate?q=Hello&source=en&target=de", b"", kind=None),
        post("/translate?q=Hello&source=en&target=de", NATIVE),
        multipart("/translate", {"q": "Hello", "source": "en", "target": "de"}),
        post("/translate/", NATIVE),
        post("//translate", LIBRE),
        post("/detect", {"text": ENGLISH}),
        post("/detect", {"text": [ENGLISH, "", GERMAN]}),
        post("/detect", {"text": 1}),
        post("/detect", {"text": "a", "more": 1}),
        post("/detect", {"text": ["a"] * 6}),
        post("/detect", b'{"text": "a", "text": "b"}'),
        post("/detect", b"["),
        form("/detect", {"text": "a"}),
        get("/detect"),
        get("/languages"),
        get("/usage"),
    ]


def _libretranslate() -> list[Asked]:
    base = "/libretranslate"
    return [
        post(f"{base}/translate", {**LIBRE, "q": ["Hello", "", "Good morning"]}),
        post(f"{base}/translate", {**LIBRE, "q": ["Home", ENGLISH], "source": "auto"}),
        post(f"{base}/translate", {**LIBRE, "q": [ENGLISH, RUSSIAN], "source": "auto"}),
        post(f"{base}/translate", {**LIBRE, "q": "Home", "source": "auto"}),
        post(f"{base}/translate", {**LIBRE, "q": "<b>a</b>", "format": "html", "alternatives": 1}),
        post(f"{base}/translate", {**LIBRE, "alternatives": "2"}),
        post(f"{base}/translate", {**LIBRE, "alternatives": 9}),
        post(f"{base}/translate", {**LIBRE, "alternatives": "many"}),
        post(f"{base}/translate", {**LIBRE, "format": "markdown"}),
        post(f"{base}/translate", {**LIBRE, "q": ["a"] * 6}),
        post(f"{base}/translate", {**LIBRE, "source": "fr"}),
        post(f"{base}/translate", b'{"q": "a", "source": "en", "target": "de" "api_key": "k"}'),
        post("/translate", b'{"q": "a", "source": "en", "target": "de" "api_key": "k"}'),
        post(f"{base}/translate", LIBRE, headers={"User-Agent": "Weblate/5.14", **SOON}, problem=(503, "overloaded")),
        post(f"{base}/translate?q=Hello&source=en&target=de", b"", kind=None),
        multipart(f"{base}/translate", {"q": "a\r\nb", "source": "en", "target": "de"}),
        multipart(f"{base}/translate?q=Hello&source=en&target=de", {}),
        post(f"{base}/translate", LIBRE, headers={"Origin": "moz-extension://0123"}),
        post(f"{base}/detect", {"q": ENGLISH}),
        post(f"{base}/detect", {"q": [ENGLISH, GERMAN]}),
        post(f"{base}/detect", {"q": ""}),
        post(f"{base}/detect", {"q": 5}),
        post(f"{base}/detect", {"q": "123"}),
        post(f"{base}/detect", {"q": ["a"] * 6}),
        form(f"{base}/detect", {"q": ENGLISH}),
        post(f"{base}/detect?q=Hello", b"", kind=None),
        *(get(f"{base}{path}") for path in ("/languages", "/frontend/settings", "/health", "", "/nothing", "/detect")),
        post(f"{base}/suggest", {}),
        post(f"{base}/translate_file", {}),
        post(f"{base}/languages", {}),
    ]


def _deepl() -> list[Asked]:
    asked = "/v2/translate"
    return [
        post(asked, {**DEEPL, "text": ["Hello", "", "Good morning"], "show_billed_characters": True}),
        post(asked, {"text": [ENGLISH, GERMAN, "123"], "target_lang": "EN"}),
        post(asked, {"text": "Home", "target_lang": "DE"}),
        post(asked, {**DEEPL, "text": ["<a>Hello</a>"], "tag_handling": "xml", "ignore_tags": "a,b"}),
        post(asked, {**DEEPL, "tag_handling": "html", "outline_detection": False, "split_sentences": 0}),
        post(asked, {**DEEPL, "tag_handling": "markdown"}),
        post(asked, {**DEEPL, "formality": "prefer_more", "surprise": 1, "tag_handling_version": "v1"}),
        post(asked, {**DEEPL, "formality": "more"}),
        post(asked, {**DEEPL, "model_type": "latency_optimized", "context": "a garden"}),
        post(asked, {**DEEPL, "style_id": "x"}),
        post(asked, {**DEEPL, "glossary_id": NEVER}),
        post(asked, {"text": ["a"], "target_lang": "DE", "glossary_id": NEVER}),
        post(asked, {**DEEPL, "glossary_id": "a", "glossary_ids": ["b"]}),
        post(asked, {**DEEPL, "text": ["a"] * 6}),
        post(asked, {**DEEPL, "target_lang": "EN-US"}),
        post(f"{asked}?text=Hello&target_lang=DE", b"", kind=None),
        post(asked, DEEPL, headers={"User-Agent": "Weblate/5.14", **SOON}, problem=(503, "overloaded")),
        multipart(asked, {"text": "Hello", "target_lang": "DE", "source_lang": "EN"}),
        *(get(path) for path in ("/v2/usage", "/v2/languages", "/v2/languages?type=target", "/v2/languages?type=x")),
        *(get(f"/v3/languages?resource={name}") for name in ("translate_text", "glossary", "write", "x")),
        *(get(path) for path in ("/v3/languages", "/v3/languages?product=x", "/v3/languages/resources")),
        get("/v2/glossary-language-pairs"),
        form("/v2/usage", {"auth_key": "a"}),
        form("/v2/languages", {"type": "target"}),
        post("/v2/languages?type=source", {"type": "target"}),
        post("/v2/languages", b"x" * 5000),
        post("/v2/usage", b"{"),
        Asked("DELETE", "/v2/usage", kind=None),
        post("/v2/document", {}),
        get("/v2/document/a/result"),
        post("/deepl/v2/write/rephrase", {}),
        get("/v2/nothing"),
        get("/deepl"),
    ]


def _others() -> list[Asked]:
    return [
        post("/deeplx/v1/translate", DEEPLX),
        post("/deeplx/v2/translate", {**DEEPLX, "text": ["Hello", "Good morning"]}),
        post("/deeplx/translate", {**DEEPLX, "text": ["Hello"]}),
        post("/deeplx/translate", {**DEEPLX, "tag_handling": "html"}),
        post("/deeplx/translate", {**DEEPLX, "tag_handling": "x"}),
        post("/deeplx/translate", {"jsonrpc": "2.0", **DEEPLX}),
        post("/deeplx/translate?text=a&target_lang=de", b"", kind=None),
        post("/deeplx/translate", {**DEEPLX, "target_lang": ""}),
        post("/imme", {**IMME, "text_list": ["plain", "<b0></b0> you", "a & b"]}),
        post("/imme", {**IMME, "text_list": [ENGLISH, "Home"], "source_lang": "auto"}),
        post("/imme", {**IMME, "text_list": [ENGLISH, RUSSIAN], "source_lang": "auto"}),
        post("/imme", {**IMME, "text_list": "Hello"}),
        post("/imme", {**IMME, "text_list": ["a"] * 6}),
        post("/kiss", {"from": "en", "to": "de", "texts": ["a", "b <b>c</b> & d"]}),
        post("/kiss", {"from": "auto", "to": "de", "texts": [ENGLISH, "Home"]}),
        post("/kiss", {"from": "en", "to": "de"}),
        post("/kiss", {"from": "en", "to": "de", "texts": []}),
        post("/kiss", {"from": ["en"], "to": "de", "text": "a"}),
        get("/kiss/nothing"),
    ]


WORD: Final = {"Authorization": "Bearer a-word"}
EN_DE: Final[dict[str, Any]] = {
    "source_lang": "EN",
    "target_lang": "DE",
    "entries": "invoice\tRechnung\nHello\tServus",
    "entries_format": "tsv",
}
DE_EN: Final[dict[str, Any]] = {
    "source_lang": "de",
    "target_lang": "en",
    "entries": "Rechnung,invoice",
    "entries_format": "csv",
}
ONE: Final[dict[str, Any]] = {"name": "Products", **EN_DE}
TWO: Final[dict[str, Any]] = {"name": "Both", "dictionaries": [EN_DE, DE_EN]}


def _glossaries() -> list[Asked]:
    """Return the calls of glossaries: our own, DeepL's version 2 and version 3."""
    return [*_own_glossaries(), *_glossaries_v2(), *_glossaries_v3()]


def _own_glossaries() -> list[Asked]:
    entries = {"entries": {"invoice": "Rechnung", "Hello": "Servus"}}
    own, pair = "/glossaries/$OWN", "/glossaries/$OWN/dictionaries/en/de"
    draft = {"name": "Mine", "dictionaries": [{"source_lang": "en", "target_lang": "de", **entries}]}
    return [
        post("/glossaries", {"name": "x"}),
        post("/glossaries", draft, headers=WORD, keeps={"OWN": "id"}),
        post("/glossaries", {"name": 5}, headers=WORD),
        post("/glossaries", {**draft, "more": 1}, headers=WORD),
        post("/glossaries", b"[", headers=WORD),
        post("/glossaries", b'{"name": "a", "name": "b"}', headers=WORD),
        form("/glossaries", {"name": "a"}, headers=WORD),
        post(pair, {"entries": {"a": "b"}}, method="PATCH", headers=WORD),
        post(f"/glossaries/{NEVER}/dictionaries/en/de", {"entries": {"a": "b"}}, method="PUT", headers=WORD),
        post("/glossaries/$OWN/dictionaries/en/fr", {"entries": {"Hello": "Salut"}}, method="PUT", headers=WORD),
        post("/glossaries/$OWN/dictionaries/en/english!", {"entries": {"a": "b"}}, method="PUT", headers=WORD),
        *(get(path, headers=WORD) for path in ("/glossaries", own, pair, "/glossaries/x", f"/glossaries/{NEVER}")),
        post(own, {"name": "Ours"}, method="PATCH", headers=WORD),
        post("/translate", {**NATIVE, "glossary": "$OWN"}, headers=WORD),
        post("/translate", {**NATIVE, "glossary": "$OWN", "target_lang": ["de", "fr"]}, headers=WORD),
        post("/translate", {**NATIVE, "glossary": "$OWN", "source_lang": "auto"}, headers=WORD),
        post("/translate", {**NATIVE, "glossary": "$OWN"}),
        post("/v2/translate", {**DEEPL, "glossary_id": "$OWN"}, headers=WORD),
        Asked("DELETE", "/glossaries/$OWN/dictionaries/en/fr", kind=None, headers=WORD),
        Asked("DELETE", "/glossaries/$OWN/dictionaries/en/fr", kind=None, headers=WORD),
        Asked("DELETE", own, kind=None, headers=WORD),
        Asked("DELETE", own, kind=None, headers=WORD),
        Asked("POST", own, b"{}", headers=WORD),
    ]


def _glossaries_v2() -> list[Asked]:
    base, one = "/v2/glossaries", "/v2/glossaries/$V2"
    return [
        post(base, ONE),
        post(base, ONE, headers=WORD, keeps={"V2": "glossary_id"}),
        form(base, ONE, headers=WORD),
        post(base, {**ONE, "dictionaries": [], "surprise": 1}, headers=WORD),
        post(base, {**EN_DE, "name": None}, headers=WORD),
        post(base, {"name": "x"}, headers=WORD),
        post(base, {**ONE, "name": ["x"]}, headers=WORD),
        post(base, {**ONE, "entries": "no tab"}, headers=WORD),
        post(base, {**ONE, "entries": "a\tb\na\tc"}, headers=WORD),
        post(base, {**ONE, "entries": ""}, headers=WORD),
        post(base, {**ONE, "entries_format": "xls"}, headers=WORD),
        post(base, {**ONE, "target_lang": "EN"}, headers=WORD),
        post(base, {**ONE, "target_lang": "zz"}, headers=WORD),
        post(base, {**DE_EN, "name": "csv"}, headers=WORD),
        post(base, b"", headers=WORD),
        post(base, b"{", headers=WORD),
        *(get(path, headers=WORD) for path in (base, one, f"{one}/entries", f"{base}/{NEVER}", f"{base}/x/entries")),
        get(f"{one}/entries", headers={**WORD, "Accept": "application/json"}),
        get(f"{one}/entries", headers={**WORD, "Accept": "text/tab-separated-values"}),
        get("/v3/glossaries/$V2", headers=WORD),
        post("/v2/translate", {**DEEPL, "glossary_id": "$V2"}, headers=WORD),
        post("/v2/translate", {**DEEPL, "glossary_id": "$V2"}),
        Asked("PATCH", one, b"{}", headers=WORD),
    ]


def _glossaries_v3() -> list[Asked]:
    base, one, pair = "/v3/glossaries", "/v3/glossaries/$V3", "source_lang=en&target_lang=de"
    return [
        post(base, TWO),
        post(base, TWO, headers=WORD, keeps={"V3": "glossary_id"}),
        post(base, {"name": "none", "dictionaries": []}, headers=WORD),
        post(base, {"name": "single", "dictionaries": EN_DE, "surprise": 1}, headers=WORD),
        post(base, {"name": "wrong", "dictionaries": ["x"]}, headers=WORD),
        post(base, {"name": "v2", **EN_DE}, headers=WORD),
        form(
            base, {"name": "form", **{f"dictionaries[0].{name}": value for name, value in EN_DE.items()}}, headers=WORD
        ),
        form(
            base, {"name": "form", **{f"dictionaries[0][{name}]": value for name, value in EN_DE.items()}}, headers=WORD
        ),
        post(base, b"", headers=WORD),
        *(
            get(path, headers=WORD)
            for path in (base, one, f"{one}/entries?{pair}", f"{one}/entries", f"{base}/{NEVER}")
        ),
        *(get(f"/v2/glossaries{path}", headers=WORD) for path in ("", "/$V3", "/$V3/entries")),
        Asked("DELETE", "/v2/glossaries/$V3", kind=None, headers=WORD),
        post(
            one,
            {"name": "Renamed", "dictionaries": [{**EN_DE, "entries": "order\tBestellung"}]},
            method="PATCH",
            headers=WORD,
        ),
        post(one, {}, method="PATCH", headers=WORD),
        post(f"{one}/dictionaries", {**DE_EN, "entries": "Auftrag,order"}, method="PUT", headers=WORD),
        post(f"{one}/dictionaries", {"source_lang": "de"}, method="PUT", headers=WORD),
        Asked("DELETE", f"{one}/dictionaries?{pair}", kind=None, headers=WORD),
        Asked("DELETE", f"{one}/dictionaries?{pair}", kind=None, headers=WORD),
        Asked("DELETE", f"{one}/dictionaries", kind=None, headers=WORD),
        get(one, headers=WORD),
        Asked("DELETE", "/v2/glossaries/$V3", kind=None, headers=WORD),
        Asked("DELETE", one, kind=None, headers=WORD),
        Asked("DELETE", "/deepl/v2/glossaries/$V2", kind=None, headers=WORD),
    ]


def _shown(key: str) -> list[Asked]:
    """Return the requests of one key, in each place where some API reads it."""
    bearer, deepl = {"Authorization": f"Bearer {key}"}, {"Authorization": f"DeepL-Auth-Key {key}"}
    return [
        post("/translate", NATIVE, headers=bearer),
        post(f"/translate?api_key={key}", NATIVE),
        post("/translate", {**LIBRE, "api_key": key}),
        post("/translate", LIBRE, headers=bearer),
        form("/translate", {**LIBRE, "api_key": key}),
        post("/libretranslate/translate", {**LIBRE, "api_key": key}),
        post("/libretranslate/translate", {**LIBRE, "apiKey": key}),
        post(f"/libretranslate/translate?q=Hello&source=en&target=de&api_key={key}", b"", kind=None),
        post("/libretranslate/detect", {"q": ENGLISH, "api_key": key}),
        post("/libretranslate/detect", {"q": ENGLISH}, headers=bearer),
        post("/detect", {"text": ENGLISH}, headers=bearer),
        post("/v2/translate", DEEPL, headers=deepl),
        post("/v2/translate", {**DEEPL, "auth_key": key}),
        form("/v2/translate", {**DEEPL, "auth_key": key}),
        get("/v2/usage", headers=deepl),
        form("/v2/usage", {"auth_key": key}),
        get(f"/v2/usage?auth_key={key}"),
        get("/v2/languages", headers=deepl),
        get("/v2/glossary-language-pairs", headers={"Authorization": key}),
        get("/v3/languages?resource=glossary", headers=deepl),
        post("/deeplx/translate", DEEPLX, headers=bearer),
        post(f"/deeplx/translate?token={key}", DEEPLX),
        post("/imme", IMME, headers=bearer),
        post(f"/imme?token={key}", IMME),
        post("/kiss", KISS, headers=bearer),
        post("/kiss", KISS, headers=deepl),
        post("/v2/glossaries", ONE, headers=deepl),
        get("/v3/glossaries", headers=deepl),
        get("/glossaries", headers=bearer),
        get("/usage", headers=bearer),
        get("/fleet/nothing", headers=bearer),
        get("/keys/0123456789ab", headers=bearer),
    ]


def keyed_requests() -> list[Asked]:
    """Return the requests to a proxy with keys."""
    nobody = [post(path, body) for path, body, _, _ in TRANSLATIONS]
    nobody += [post("/translate", b"x" * 9000), post("/translate", b"{"), post("/translate", NATIVE, kind="text/plain")]
    nobody += [
        post("/libretranslate/translate", b"x" * 9000),
        post("/v2/translate", b"x" * 9000),
        post("/v2/translate", b"{"),
    ]
    nobody += [
        post("/libretranslate/detect", b"{"),
        post("/imme", b"{"),
        post("/kiss", b"{"),
        post("/deeplx/translate", b"{"),
    ]
    nobody += [
        get("/libretranslate/languages"),
        get("/v2/languages"),
        get("/languages"),
        get("/usage"),
        get("/glossaries"),
    ]
    nobody += [
        get("/keys/0123456789ab"),
        post("/keys", {"name": "x"}),
        get("/metrics", headers={"Authorization": "Bearer x"}),
    ]
    spent = [
        post(path, body, headers={"Authorization": "Bearer $SPENT"})
        for path, body, _, _ in TRANSLATIONS
        if path != "/imme"
    ]
    spent.append(post("/imme?token=$SPENT", IMME))
    limited = [post("/translate", {**NATIVE, "target_lang": "fr"}, headers={"Authorization": "Bearer $LIMITED"})]
    limited.append(
        post("/v2/translate", {**DEEPL, "target_lang": "FR"}, headers={"Authorization": "DeepL-Auth-Key $LIMITED"})
    )
    limited.append(post("/libretranslate/translate", {**LIBRE, "target": "fr", "api_key": "$LIMITED"}))
    return [*nobody, *_shown("$KEY"), *_shown("nonsense"), *_shown("$OPERATOR"), *spent, *limited]
