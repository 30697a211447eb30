"""Texts in several languages, and bad input with the answer to it."""

from __future__ import annotations

import json

ENGLISH = "The weather is very nice today and we are going for a long walk."
GERMAN = "Das Wetter ist heute sehr schön und wir machen einen langen Spaziergang."
FRENCH = "Le temps est très beau aujourd'hui et nous faisons une longue promenade."
RUSSIAN = "Сегодня очень хорошая погода, и мы идём на долгую прогулку."


def body(**changes: object) -> bytes:
    fields: dict[str, object] = {"text": "Hello", "source_lang": "en", "target_lang": "de", **changes}
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


DEEP = b'{"text": ' + b"[" * 3000
BAD_INPUT: list[tuple[str, bytes, int, str, str]] = [
    ("body over the limit", body(text="x" * 9000), 413, "too-large", "8192"),
    ("text over the limit", body(text="x" * 1001), 413, "too-large", "1000"),
    ("one text of a list over the limit", body(text=["a", "x" * 1001]), 413, "too-large", "text[1]"),
    ("too many texts", body(text=["a"] * 6), 413, "too-large", "at most 5"),
    ("size before fields", body(text=["a"] * 6, target_lang=..., nonsense=1), 413, "too-large", "5"),
    ("size before types", body(text=[1] * 6), 413, "too-large", "5"),
    ("no body", b"", 400, "bad-request", "JSON"),
    ("not JSON", b"{text: Hello}", 400, "bad-request", "JSON"),
    ("cut off", b'{"text": "Hello', 400, "bad-request", "JSON"),
    ("not UTF-8", b'{"text": "\xff\xfe", "target_lang": "de"}', 400, "bad-request", "JSON"),
    ("half a surrogate pair", b'{"text": "\\ud800", "target_lang": "de"}', 400, "bad-request", "JSON"),
    ("not a number", b'{"text": NaN, "target_lang": "de"}', 400, "bad-request", "JSON"),
    ("nested without end", DEEP, 400, "bad-request", "JSON"),
    ("an array", b'["Hello"]', 400, "bad-request", "object"),
    ("a string", b'"Hello"', 400, "bad-request", "object"),
    ("null", b"null", 400, "bad-request", "object"),
    ("no text", body(text=...), 422, "invalid-request", "text: is required"),
    ("no target", body(target_lang=...), 422, "invalid-request", "target_lang: is required"),
    ("unknown field", body(txet="Hello"), 422, "invalid-request", "txet"),
    ("text is a number", body(text=1), 422, "invalid-request", "text"),
    ("text is null", body(text=None), 422, "invalid-request", "text"),
    ("text is an object", body(text={"a": "b"}), 422, "invalid-request", "text"),
    ("a text of the list is null", body(text=["a", None]), 422, "invalid-request", "text[1]"),
    ("empty list", body(text=[]), 422, "invalid-request", "text: must not be an empty list"),
    ("target is an object", body(target_lang={"de": 1}), 422, "invalid-request", "target_lang"),
    ("no target in a list", body(target_lang=[]), 422, "invalid-request", "target_lang"),
    ("impossible target", body(target_lang="german!"), 422, "invalid-request", "target_lang"),
    ("impossible source", body(source_lang=""), 422, "invalid-request", "source_lang"),
    ("auto as a target", body(target_lang="auto"), 422, "invalid-request", "target_lang"),
    ("no language", body(target_lang="und"), 422, "invalid-request", "target_lang"),
    ("unknown pair", body(target_lang="ja"), 404, "unknown-pair", "en-de"),
    ("unknown source", body(source_lang="tlh"), 404, "unknown-pair", "en-de"),
    ("another script", body(target_lang="zh-TW"), 404, "unknown-pair", "en-zh-TW"),
    ("undetectable", body(text=RUSSIAN, source_lang="auto"), 422, "language-undetected", "text"),
    (
        "undetectable in a list",
        body(text=[ENGLISH, RUSSIAN], source_lang="auto"),
        422,
        "language-undetected",
        "text[1]",
    ),
    (
        "detected, but no such pair",
        body(text=FRENCH, source_lang="auto", target_lang="en", pivot=False),
        404,
        "unknown-pair",
        "fr-en",
    ),
]
