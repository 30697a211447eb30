"""Lists of tiny texts: what is done for each text of a request, alone and in many requests at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from apiserver.catalog.model_entry import CANARIES
from tests.hostile.bursts import AT_ONCE, TEN
from tests.hostile.endpoints import ANSWERS, GLOSSARIES, OWNER
from tests.hostile.measuring import Row, Sent, as_json

# As many texts as a request may have.
TEXTS: Final = 256
# Of each list of a burst: 4,096 texts take a proxy a second, and half as many an API server.
BURST_TEXTS: Final = {"proxy": 64, "cached": 64, "apiserver": 32}
_STATUSES: Final = ANSWERS | {502, 503}

Words = Callable[[int], str]
_TO_GERMAN: Final = {"source_lang": "en", "target_lang": "de"}
_LIBRE_AUTO: Final = {"source": "auto", "target": "de"}
_SENTENCES: Final = tuple(CANARIES.values())


def _english(number: int) -> str:
    return f"We wait near river {number}."


def _tiny(number: int) -> str:
    return f"a{number}"


def _digits(number: int) -> str:
    return str(number)


def _known(number: int) -> str:
    return _english(number % TEXTS)


def _half_known(number: int) -> str:
    return _english(number if number % 2 else number % TEXTS)


def _german(number: int) -> str:
    return f"Wir warten am Fluss auf den Zug Nummer {number}."


def _marked(number: int) -> str:
    return f"<b>We wait</b> near &amp; <i>river {number}</i>."


def _of_many_languages(number: int) -> str:
    return f"{_SENTENCES[number % len(_SENTENCES)]} {number}"


def _list(path: str, member: str, words: Words, headers: Mapping[str, str] | None = None, /, **members: Any) -> Any:
    def sent(size: int, seed: int) -> Sent:
        texts = [words(TEXTS * seed + number) for number in range(size)]
        glossary = {"glossary": GLOSSARIES[0]} if members.get("glossary") else {}
        body = as_json({member: texts, **members, **glossary})
        return Sent("POST", path, body, {"Content-Type": "application/json", **(headers or {})})

    return sent


def list_rows() -> Iterator[Row]:
    """Yield the rows, each alone and ``AT_ONCE`` times; a size is the number of texts."""
    for server, rows in (("proxy", _proxy()), ("cached", _cached()), ("apiserver", _apiserver())):
        for path, name, make in rows:
            title = f"a list of {name}"
            yield Row(server, f"POST {path}", title, TEXTS, make, _STATUSES)
            yield Row(
                server,
                f"POST {path}",
                f"{AT_ONCE} at once: {title}",
                BURST_TEXTS[server],
                make,
                _STATUSES,
                copies=AT_ONCE,
            )


_Requests = Iterator[tuple[str, str, Callable[[int, int], Sent]]]


def _native(words: Words, headers: Mapping[str, str] | None = None, /, **members: Any) -> Any:
    return _list("/translate", "text", words, headers, **members)


def _proxy() -> _Requests:
    native: dict[str, Any] = {
        "tiny texts": _native(_tiny, **_TO_GERMAN),
        "English, detected": _native(_english, target_lang="de"),
        "many languages": _native(_of_many_languages, target_lang="sw"),
        "the target's language": _native(_german, target_lang="de"),
        "numbers": _native(_digits, **_TO_GERMAN),
        "markup": _native(_marked, target_lang="de", format="html"),
        "English for ten targets": _native(_english, target_lang=TEN),
        "many languages for ten targets": _native(_of_many_languages, target_lang=TEN),
        "numbers for ten targets": _native(_digits, source_lang="en", target_lang=TEN),
        "a glossary's words": _native(lambda number: f"word{number} and", OWNER, glossary=True, **_TO_GERMAN),
        "texts through a pivot": _native(_english, source_lang="am", target_lang="yo"),
        "alternatives": _native(_tiny, alternatives=3, confidence=True, **_TO_GERMAN),
        "alternatives, detected": _native(_english, target_lang="de", alternatives=3, min_confidence=0.5),
    }
    for name, make in native.items():
        yield "/translate", name, make
    yield "/detect", "English", _list("/detect", "text", _english)
    yield "/detect", "many languages", _list("/detect", "text", _of_many_languages)
    yield "/libretranslate/detect", "English", _list("/libretranslate/detect", "q", _english)
    for path in ("/libretranslate/translate", "/translate"):
        yield path, "English for LibreTranslate", _list(path, "q", _english, **_LIBRE_AUTO)
        yield path, "undetected for LibreTranslate", _list(path, "q", _tiny, **_LIBRE_AUTO)
    for path in ("/v2/translate", "/deepl/v2/translate"):
        yield path, "English for DeepL", _list(path, "text", _english, target_lang="DE")
        yield path, "undetected for DeepL", _list(path, "text", _tiny, target_lang="DE")
    yield "/imme", "markup for Immersive Translate", _list("/imme", "text_list", _marked, target_lang="de")
    yield "/kiss", "markup for Kiss Translator", _list("/kiss", "texts", _marked, to="de")


def _cached() -> _Requests:
    cached: dict[str, Any] = {
        "fresh texts": _native(_english, **_TO_GERMAN),
        "stored texts": _native(_known, **_TO_GERMAN),
        "half stored texts": _native(_half_known, **_TO_GERMAN),
        "fresh texts for ten targets": _native(_english, source_lang="en", target_lang=TEN),
        "stored texts for ten targets": _native(_known, source_lang="en", target_lang=TEN),
        "half stored texts for ten targets": _native(_half_known, source_lang="en", target_lang=TEN),
    }
    for name, make in cached.items():
        yield "/translate", name, make


def _apiserver() -> _Requests:
    pair = {"source_lang": "en", "target_lang": "fr"}
    rows: dict[str, Any] = {
        "tiny texts": _native(_tiny, **pair),
        "English": _native(_english, **pair),
        "English for small segments": _native(_english, **_TO_GERMAN),
        "numbers": _native(_digits, **pair),
        "numbers with words": _native(lambda number: f"{number} kg and 3.5 %", **pair),
        "markup": _native(_marked, **pair, format="html"),
        "Markdown": _native(lambda number: f"*We wait* [{number}](a)", **pair, format="markdown"),
        "XML": _native(lambda number: f"<r><b>a</b>{number}</r>", **pair, format="xml"),
        "lost placeholders": _native(
            lambda number: f"<b>Nous</b> attendons <i>{number}</i>.", source_lang="fr", target_lang="en", format="html"
        ),
        "alternatives": _native(_english, **pair, alternatives=3, confidence=True),
        "names and terms": _native(
            _english, **pair, do_not_translate=[f"r{number}" for number in range(256)],
            terms={f"word{number}": "mot" for number in range(256)},
        ),
    }  # fmt: skip
    for name, make in rows.items():
        yield "/translate", name, make
