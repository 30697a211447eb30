"""Clients of LibreTranslate: libretranslatepy, libretranslate-aio, argostranslate, deep-translator, translate, and npm's two."""

from __future__ import annotations

import pytest

from tests.clients.client_programs import Outcomes
from tests.clients.conftest import outcomes
from tests.clients.replays.exchange import Absent, mismatch

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

NEEDS_KEY, WRONG_KEY = "API key", "Invalid API key"
# What the demo models serve, pivots included.
TARGETS = {"en": {"de", "fr"}, "de": {"en", "fr"}, "fr": {"en", "de"}}

libretranslatepy = outcomes("libretranslatepy_client.py")
argostranslate = outcomes("argostranslate_client.py")
translate = outcomes("translate_client.py", lock="clients-translate")
deep_translator = outcomes("deep_translator_client.py")
libretranslate_aio = outcomes("libretranslate_aio_client.py")
npm_libretranslate = outcomes("libretranslate_client.mjs")
npm_translate = outcomes("translate_client.mjs")


async def test_libretranslatepy_translates(libretranslatepy: Outcomes) -> None:
    assert "Bahnhof" in libretranslatepy.value("translate")
    assert "station" in libretranslatepy.value("auto")
    assert "gare" in libretranslatepy.value("pivot")
    assert "gare" in libretranslatepy.value("slash")


async def test_libretranslatepy_detects_and_lists(libretranslatepy: Outcomes) -> None:
    best = libretranslatepy.value("detect")[0]
    assert best["language"] == "de"
    assert 0 < best["confidence"] <= 100
    listed = {each["code"]: set(each["targets"]) - {each["code"]} for each in libretranslatepy.value("languages")}
    assert {code: listed[code] & TARGETS.keys() for code in TARGETS} == TARGETS


@pytest.mark.parametrize(
    ("call", "status", "words"),
    [
        ("no key", 400, NEEDS_KEY),
        ("empty key", 400, NEEDS_KEY),
        ("wrong key", 403, WRONG_KEY),
        ("revoked key", 403, WRONG_KEY),
        ("other pair", 403, ""),
        ("no text", 400, "missing q parameter"),
        ("no such source", 400, "zz is not supported"),
        ("no such target", 400, "zz is not supported"),
        ("too long", 400, "exceeds text limit"),
        ("rate", 429, "Slowdown"),
        ("quota", 403, ""),
    ],
)
async def test_libretranslatepy_knows_errors(libretranslatepy: Outcomes, call: str, status: int, words: str) -> None:
    error = libretranslatepy.error(call)
    assert error.kinds[0] == "HTTPError"
    assert error.status == status, error
    assert error.body.startswith('{"error":'), error
    assert words in error.body


async def test_argostranslate_translates(argostranslate: Outcomes) -> None:
    assert "Bahnhof" in argostranslate.value("translate")
    assert "station" in argostranslate.value("auto")
    assert argostranslate.value("detect")[0]["language"] == "fr"


@pytest.mark.parametrize(("call", "status"), [("no key", 400), ("wrong key", 403), ("no such target", 400)])
async def test_argostranslate_knows_errors(argostranslate: Outcomes, call: str, status: int) -> None:
    assert argostranslate.error(call).status == status


async def test_argostranslate_posts_to_languages_in_vain(argostranslate: Outcomes) -> None:
    """LibreTranslate refuses it too: /languages is a GET."""
    assert argostranslate.error("languages").status == 405


async def test_translate_uses_detection(translate: Outcomes) -> None:
    assert "Bahnhof" in translate.value("translate")
    assert "station" in translate.value("autodetect")


async def test_translate_knows_errors(translate: Outcomes) -> None:
    assert "TranslationError" in translate.error("wrong key").kinds
    assert "403" in translate.error("wrong key").message
    assert "400" in translate.error("no such target").message


async def test_deep_translator_translates_by_query(deep_translator: Outcomes) -> None:
    assert "Bahnhof" in deep_translator.value("translate")
    assert "Bahnhof" in deep_translator.value("root")
    assert "station" in deep_translator.value("auto")
    station, books, cold = deep_translator.value("batch")
    assert "gare" in station
    assert "12" in books
    assert "froid" in cold


async def test_deep_translator_knows_errors(deep_translator: Outcomes) -> None:
    assert "AuthorizationException" in deep_translator.error("wrong key").kinds
    assert "ServerException" in deep_translator.error("no such pair").kinds
    assert "ServerException" in deep_translator.error("rate").kinds


async def test_libretranslate_aio_translates(libretranslate_aio: Outcomes) -> None:
    single = libretranslate_aio.value("translate")
    assert "Bahnhof" in single["translated_text"]
    assert single["detected_language"] is None
    auto = libretranslate_aio.value("auto")
    assert "station" in auto["translated_text"]
    assert auto["detected_language"]["language"] == "de"
    assert len(libretranslate_aio.value("asynchronous")) == 3
    html = libretranslate_aio.value("html")["translated_text"]
    assert html.startswith("<p>")
    assert "<b>" in html


async def test_libretranslate_aio_sends_lists(libretranslate_aio: Outcomes) -> None:
    station, books, cold = libretranslate_aio.value("list")["translated_text"]
    assert "Bahnhof" in station
    assert "12" in books
    assert "kalt" in cold
    auto = libretranslate_aio.value("list auto")
    assert [each["language"] for each in auto["detected_language"]] == ["de", "fr"]
    assert len(auto["translated_text"]) == 2


async def test_libretranslate_aio_gets_alternatives(libretranslate_aio: Outcomes) -> None:
    found = libretranslate_aio.value("alternatives")
    assert 0 < len(found["alternatives"]) <= 3
    assert found["translated_text"] not in found["alternatives"]


async def test_libretranslate_aio_reads_the_rest(libretranslate_aio: Outcomes) -> None:
    assert libretranslate_aio.value("detect")[0]["language"] == "de"
    assert {each["code"] for each in libretranslate_aio.value("languages")} >= TARGETS.keys()
    assert libretranslate_aio.value("settings")["key_required"] is True
    assert libretranslate_aio.value("health") is True


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("no key", "BadRequestError", NEEDS_KEY),
        ("wrong key", "ForbiddenError", WRONG_KEY),
        ("revoked key", "ForbiddenError", WRONG_KEY),
        ("other pair", "ForbiddenError", ""),
        ("rate", "RateLimitError", "Slowdown"),
        ("quota", "ForbiddenError", ""),
        ("no such target", "BadRequestError", "zz is not supported"),
        ("no such format", "BadRequestError", "xml format is not supported"),
        ("too many alternatives", "BadRequestError", "must be <= 3"),
        ("no text", "BadRequestError", "missing q parameter"),
        ("suggest", "ForbiddenError", "Suggestions are disabled on this server."),
        ("file", "ForbiddenError", "Files translation are disabled on this server."),
    ],
)
async def test_libretranslate_aio_knows_errors(libretranslate_aio: Outcomes, call: str, kind: str, words: str) -> None:
    error = libretranslate_aio.error(call)
    assert kind in error.kinds, error
    assert words in error.message


async def test_npm_libretranslate_translates(npm_libretranslate: Outcomes) -> None:
    assert "Bahnhof" in npm_libretranslate.value("translate")
    assert "station" in npm_libretranslate.value("auto")
    assert "gare" in npm_libretranslate.value("pivot")
    assert npm_libretranslate.value("html").startswith("<p>")


async def test_npm_libretranslate_knows_errors(npm_libretranslate: Outcomes) -> None:
    """It reads no status: a refusal is a translation that is undefined."""
    assert npm_libretranslate.value("wrong key") is None
    assert "not found" in npm_libretranslate.error("no such target").message


async def test_npm_translate_translates(npm_translate: Outcomes) -> None:
    assert "Bahnhof" in npm_translate.value("translate")
    assert npm_translate.value("root")


async def test_npm_translate_knows_errors(npm_translate: Outcomes) -> None:
    assert NEEDS_KEY in npm_translate.error("no key").message
    assert npm_translate.error("wrong key").message == WRONG_KEY
    assert "is not" in npm_translate.error("no such pair").message
    assert "Slowdown" in npm_translate.error("rate").message


def test_mismatch_finds_what_differs() -> None:
    """Or the replays would pass whatever they get."""
    assert mismatch({"a": [int, "x"]}, {"a": [1, "x"], "b": 2}) is None
    assert mismatch({"a": [int, "x"]}, {"a": [1, "y"]}) == "answer.a[1] should be 'x', not 'y'"
    assert mismatch({"a": [int]}, {"a": [1, 2]}) is not None
    assert mismatch({"a": Absent}, {"a": None}) is not None
    assert mismatch({"a": True}, {"a": 1}) is not None
