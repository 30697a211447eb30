"""LibreTranslate's paths on the real proxy: where fields are, answers of every shape, keys, refusals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx
import pytest

from proxy.api.compat.libretranslate import KEY_INVALID, KEY_NEEDED
from tests.conftest import RedisServer
from tests.proxy.integration.inputs import ENGLISH, FRENCH, GERMAN, RUSSIAN
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key, stop_clock
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.fake_replica import FakeReplica
from tests.support.waiting import wait_until

ASKED = {"q": "Hello", "source": "en", "target": "de"}
PREFIX = "/libretranslate"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EXTENSION = "moz-extension://0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f"
NO_WORDS = {"confidence": 0.0, "language": "en"}


class LibreTranslate:
    """A proxy, and its replica, which says what it was asked."""

    def __init__(self, running: RunningProxy, fake: FakeReplica) -> None:
        self.running = running
        self.client = running.client
        self.fake = fake

    async def ask(self, **changes: object) -> Any:
        """Return the answer to the usual request with changes."""
        answer = await self.client.post(f"{PREFIX}/translate", json={**ASKED, **changes})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def refusal(self, path: str = "/translate", **changes: object) -> tuple[int, str]:
        """Return the status and the error of a refused request."""
        answer = await self.client.post(f"{PREFIX}{path}", json={**ASKED, **changes})
        assert list(answer.json()) == ["error"]
        return answer.status_code, answer.json()["error"]

    @property
    def last(self) -> dict[str, Any]:
        """The last request of the replica."""
        return self.fake.requests[-1].body


@pytest.fixture(scope="module")
async def libre() -> AsyncGenerator[LibreTranslate]:
    async with fleet_of(
        "en>de", "de>en", "fr>en", "zh-CN>en", max_texts=5, max_text_chars=1000, cors_origins=(EXTENSION,)
    ) as (one, fake):
        yield LibreTranslate(one, fake)


@pytest.mark.parametrize("path", ["/translate", "/libretranslate/translate"])
async def test_fields_of_json_form_multipart_and_query_are_equal(libre: LibreTranslate, path: str) -> None:
    async with httpx.AsyncClient(base_url=libre.running.url, trust_env=False) as client:
        answers = [
            await client.post(path, json=ASKED),
            await client.post(path, data=ASKED),
            await client.post(path, files={name: (None, value) for name, value in ASKED.items()}),
            await client.post(path, params=ASKED),
        ]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {answer.text for answer in answers} == {'{"translatedText":"[en>de by fake] Hello"}'}


async def test_list_keeps_length_and_order(libre: LibreTranslate) -> None:
    texts = ["Hello", "", "Good morning"]
    expected = {"translatedText": [f"[en>de by fake] {text}" for text in texts]}
    assert await libre.ask(q=texts) == expected
    answer = await libre.client.post(
        "/translate", content="q=Hello&q=&q=Good+morning&source=en&target=de", headers=FORM
    )
    assert answer.json() == expected, "a repeated name is a list"
    assert await libre.ask(q=["Hello"]) == {"translatedText": ["[en>de by fake] Hello"]}


async def test_line_ends_of_forms_are_normalised(libre: LibreTranslate) -> None:
    await libre.client.post(f"{PREFIX}/translate", content="q=a%0D%0Ab%0Dc&source=en&target=de", headers=FORM)
    assert libre.last["text"] == "a\nb\nc"
    await libre.ask(q="d\r\ne")
    assert libre.last["text"] == "d\r\ne"


async def test_detected_language_of_one_text(libre: LibreTranslate) -> None:
    found = (await libre.ask(q=GERMAN, source="auto", target="en"))["detectedLanguage"]
    assert (found["language"], 50 < found["confidence"] <= 100) == ("de", True)
    for text in ("😀 🎉", "\n"):
        answer = await libre.ask(q=text, source="auto")
        assert answer == {"translatedText": text, "detectedLanguage": NO_WORDS}


async def test_detected_languages_of_a_list(libre: LibreTranslate) -> None:
    answer = await libre.ask(q=[FRENCH, "", GERMAN, ENGLISH, "😀"], source="Auto", target="en")
    assert [each["language"] for each in answer["detectedLanguage"]] == ["fr", "en", "de", "en", "en"]
    assert [each["confidence"] > 0 for each in answer["detectedLanguage"]] == [True, False, True, True, False]
    assert answer["translatedText"][1::2] == ["", ENGLISH]
    assert answer["translatedText"][0] == f"[fr>en by fake] {FRENCH}"


async def test_one_undetectable_text_does_not_fail_a_list(libre: LibreTranslate) -> None:
    answer = await libre.ask(q=[GERMAN, RUSSIAN, ""], source="auto", target="en")
    assert answer["translatedText"][:2] == [f"[de>en by fake] {text}" for text in (GERMAN, RUSSIAN)]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["de", "de", "de"]
    assert len(answer["translatedText"]) == 3
    answer = await libre.ask(q=[ENGLISH, RUSSIAN], source="auto", target="en")
    assert answer["translatedText"] == [ENGLISH, RUSSIAN], "a list in the target language"


async def test_undetectable_text_is_refused(libre: LibreTranslate) -> None:
    for texts in (RUSSIAN, [RUSSIAN], [RUSSIAN, ""]):
        status, error = await libre.refusal(q=texts, source="auto")
        assert (status, error) == (
            400,
            "The language of q could not be detected among the served languages; set source",
        )


async def test_codes_of_chinese(libre: LibreTranslate) -> None:
    for code in ("zh", "zh-CN", "zh-Hans", "ZH_HANS"):
        answer = await libre.ask(source=code, target="en")
        assert answer == {"translatedText": "[zh-CN>en by fake] Hello"}
    answer = await libre.ask(q="今天天气很好,我们去散步。", source="auto", target="en")
    assert answer["detectedLanguage"]["language"] == "zh-Hans"


async def test_alternatives(libre: LibreTranslate) -> None:
    single = {"translatedText": "[en>de by fake] Hello", "alternatives": ["0. Hello", "1. Hello"]}
    assert await libre.ask(alternatives=2) == await libre.ask(alternatives="2") == single
    assert await libre.ask(q=["a", "b"], alternatives=1) == {
        "translatedText": ["[en>de by fake] a", "[en>de by fake] b"],
        "alternatives": [["0. a"], ["0. b"]],
    }
    for none in (0, None, "", -1):
        assert "alternatives" not in await libre.ask(alternatives=none)


async def test_html_has_empty_alternatives(libre: LibreTranslate) -> None:
    assert (await libre.ask(q="<p>a</p>", format="html", alternatives=3))["alternatives"] == []
    assert libre.last["format"] == "html"
    assert (await libre.ask(q=["<p>a</p>", "b"], format="html", alternatives=3))["alternatives"] == [[], []]


async def test_extensions_get_a_language_even_if_they_named_it(libre: LibreTranslate) -> None:
    for changes, language in (({}, "zh"), ({"source": "zh-CN"}, "zh-CN")):
        asked = {"q": "Hello", "source": "zh", "target": "en", "format": "text", **changes}
        answer = await libre.client.post(f"{PREFIX}/translate", json=asked, headers={"Origin": EXTENSION})
        assert answer.json()["detectedLanguage"] == {"confidence": 100.0, "language": language}
    answer = await libre.client.post(f"{PREFIX}/translate", json={**ASKED, "q": ["a"]}, headers={"Origin": EXTENSION})
    assert list(answer.json()) == ["translatedText"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"q": None}, "Invalid request: missing q parameter"),
        ({"target": ...}, "Invalid request: missing target parameter"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "zz!"}, "zz! is not supported"),
        ({"target": "auto"}, "auto is not supported"),
        ({"target": "ja"}, "ja is not supported"),
        ({"source": "ja"}, "ja is not supported"),
        ({"source": "de", "target": "zh-TW"}, "zh-Hant is not supported"),
        ({"target": "fr"}, "fr is not supported"),
        ({"q": "x" * 1001}, "Invalid request: request (1001) exceeds text limit (1000)"),
        ({"q": ["a", "x" * 1002]}, "Invalid request: request (1002) exceeds text limit (1000)"),
        ({"q": ["a"] * 6}, "Invalid request: request (6) exceeds text limit (5)"),
    ],
)
async def test_refusals_have_its_words(libre: LibreTranslate, changes: dict[str, Any], error: str) -> None:
    asked = {name: value for name, value in {**ASKED, **changes}.items() if value is not ...}
    for path in (f"{PREFIX}/translate", "/translate"):
        answer = await libre.client.post(path, json=asked)
        assert (answer.status_code, answer.json()) == (400, {"error": error})


async def test_unknown_pair_names_both_languages() -> None:
    async with fleet_of("en>de", "pt>fr") as (one, fake):
        libre = LibreTranslate(one, fake)
        expected = (400, "French (fr) is not available as a target language from English (en)")
        assert await libre.refusal(target="fr") == expected
        assert await libre.refusal(q=ENGLISH, source="auto", target="fr") == expected


async def test_bodies_that_cannot_be_read(libre: LibreTranslate) -> None:
    for content, words in ((b"[1]", "Invalid JSON format"), (b'{"q"', "not JSON"), (b"\xff", "not JSON")):
        answer = await libre.client.post(f"{PREFIX}/translate", content=content)
        assert (answer.status_code, list(answer.json())) == (400, ["error"])
        assert words in answer.json()["error"]
    packed = {"Content-Encoding": "gzip"}
    answer = await libre.client.post(f"{PREFIX}/translate", json=ASKED, headers=packed)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])


async def test_broken_json_at_the_root_is_native(libre: LibreTranslate) -> None:
    for body in (b'{"q": "Hello"', b'["q"]', json.dumps({"text": '"q"', "target_lang": 1}).encode()):
        answer = await libre.client.post("/translate", content=body, headers={"Content-Type": "application/json"})
        assert answer.headers["content-type"] == "application/problem+json"


async def test_subtitle_edits_missing_comma(libre: LibreTranslate) -> None:
    body = b'{"q": "Hello \\"you\\"", "source": "en", "target": "de" "api_key": "any" }'
    for path in (f"{PREFIX}/translate", "/translate"):
        answer = await libre.client.post(path, content=body)
        assert answer.json() == {"translatedText": '[en>de by fake] Hello "you"'}


async def test_detect(libre: LibreTranslate) -> None:
    path = f"{PREFIX}/detect"
    for sent in ({"json": {"q": FRENCH}}, {"content": f"q={FRENCH}", "headers": FORM}, {"params": {"q": FRENCH}}):
        found = (await libre.client.post(path, **cast("dict[str, Any]", sent))).json()
        assert 1 <= len(found) <= 3
        assert found[0]["language"] == "fr"
        assert 50 < found[0]["confidence"] <= 100
        assert [each["confidence"] for each in found] == sorted((each["confidence"] for each in found), reverse=True)
    found = (await libre.client.post(path, json={"q": [GERMAN, GERMAN * 3, FRENCH]})).json()
    assert [each["language"] for each in found[:2]] == ["de", "fr"]
    assert (await libre.client.post(path, json={"q": ["😀", ""]})).json() == [NO_WORDS]


@pytest.mark.parametrize(
    ("q", "error"),
    [
        ("", "Invalid request: missing q parameter"),
        ([1], "Invalid request: q parameter must be a string or a list of strings"),
        (["a"] * 6, "Invalid request: request (6) exceeds text limit (5)"),
        ("x" * 1001, "Invalid request: request (1001) exceeds text limit (1000)"),
    ],
)
async def test_detect_refuses(libre: LibreTranslate, q: object, error: str) -> None:
    assert await libre.refusal("/detect", q=q) == (400, error)


async def test_languages_list_pivots_and_codes(libre: LibreTranslate) -> None:
    answer = await libre.client.request("GET", f"{PREFIX}/languages", content=b"api_key=", headers=FORM)
    listed = {each["code"]: each["targets"] for each in answer.json()}
    assert listed == {
        "de": ["en"],
        "en": ["de"],
        "fr": ["de", "en"],
        **{code: ["de", "en"] for code in ("zh", "zh-CN", "zh-Hans")},
    }
    assert {"code": "zh-Hans", "name": "Chinese (Simplified)", "targets": ["de", "en"]} in answer.json()


async def test_languages_of_a_starting_fleet_are_an_error() -> None:
    async with proxy(["http://127.0.0.1:1"]) as one:
        answer = await one.client.get(f"{PREFIX}/languages")
        assert (answer.status_code, list(answer.json())) == (500, ["error"])
        assert answer.json()["error"].startswith("The list of languages cannot be served now: ")
        health = await one.client.get(f"{PREFIX}/health")
        assert (health.status_code, health.json()) == (503, {"error": "No language pair is ready."})
        target = (await one.client.get(f"{PREFIX}/frontend/settings")).json()["language"]["target"]
        assert target == {"code": "en", "name": "English"}


async def test_settings_and_health(libre: LibreTranslate) -> None:
    assert (await libre.client.get(f"{PREFIX}/frontend/settings")).json() == {
        "apiKeys": False,
        "charLimit": 1000,
        "filesTranslation": False,
        "frontendTimeout": 500,
        "keyRequired": False,
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "en", "name": "English"},
        },
        "suggestions": False,
        "supportedFilesFormat": [],
    }
    health = await libre.client.get(f"{PREFIX}/health")
    assert (health.status_code, health.json()) == (200, {"status": "ok"})


async def test_what_is_off_is_refused_as_it_does(libre: LibreTranslate) -> None:
    answer = await libre.client.post(f"{PREFIX}/suggest", content="q=a&s=b&source=en&target=de", headers=FORM)
    assert (answer.status_code, answer.json()) == (403, {"error": "Suggestions are disabled on this server."})
    async with httpx.AsyncClient(base_url=libre.running.url, trust_env=False) as client:
        answer = await client.post(f"{PREFIX}/translate_file", files={"file": ("a.txt", b"x" * 100_000)}, data=ASKED)
    assert (answer.status_code, answer.json()) == (403, {"error": "Files translation are disabled on this server."})


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/translate"), ("GET", "/detect"), ("POST", "/languages"), ("POST", "/health"), ("GET", "/suggest")],
)
async def test_wrong_methods(libre: LibreTranslate, method: str, path: str) -> None:
    answer = await libre.client.request(method, PREFIX + path)
    assert (answer.status_code, list(answer.json())) == (405, ["error"])


async def test_native_paths_at_the_root_stay_ours(libre: LibreTranslate) -> None:
    assert list((await libre.client.get("/languages")).json()) == ["languages", "limits"]
    assert "uptime_s" in (await libre.client.get("/health")).json()
    assert (await libre.client.post("/detect", json={"q": "Hello"})).json()["code"] == "invalid-request"


async def test_keys_are_in_its_places(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "en>fr") as (one, _):
        shown, _ = await new_key(one)
        for path in (f"{PREFIX}/translate", "/translate"):
            for sent in (
                {"json": {**ASKED, "api_key": shown}},
                {"json": {**ASKED, "apiKey": shown}},
                {"data": {**ASKED, "api_key": shown}, "headers": FORM},
                {"params": {**ASKED, "api_key": shown}, "headers": FORM},
                {"json": ASKED, "headers": {"Authorization": f"Bearer {shown}"}},
            ):
                answer = await one.client.post(path, **cast("dict[str, Any]", sent))
                assert answer.status_code == 200, (path, sent, answer.text)
            for key, expected in ((None, (400, KEY_NEEDED)), ("", (400, KEY_NEEDED)), ("no", (403, KEY_INVALID))):
                answer = await one.client.post(path, json={**ASKED, "api_key": key})
                assert (answer.status_code, answer.json()) == (expected[0], {"error": expected[1]})
            for header in ("Bearer", "Basic eHl6"):
                answer = await one.client.post(
                    path, json={**ASKED, "api_key": shown}, headers={"Authorization": header}
                )
                assert answer.status_code == 200, "the header has no key"
                answer = await one.client.post(path, json=ASKED, headers={"Authorization": header})
                assert (answer.status_code, answer.json()) == (400, {"error": KEY_NEEDED})
        operators, _ = await new_key(one, scopes=["translate", "operate"])
        for sent, status in (
            ({"json": {**ASKED, "api_key": operators}}, 200),
            ({"params": {**ASKED, "api_key": operators}}, 403),
        ):
            answer = await one.client.post(f"{PREFIX}/translate", headers=FORM, **cast("dict[str, Any]", sent))
            assert answer.status_code == status, "URLs are kept in logs"
        answer = await one.client.post(f"{PREFIX}/translate?api_key={shown}", json=ASKED)
        assert answer.status_code == 400, "with a body the query is not read"
        detected = await one.client.post(f"{PREFIX}/detect", json={"q": ENGLISH, "api_key": shown})
        assert detected.json()[0]["language"] == "en"
        answer = await one.client.post(f"{PREFIX}/detect", json={"q": ENGLISH})
        assert (answer.status_code, answer.json()) == (400, {"error": KEY_NEEDED})
        settings = (await one.client.get(f"{PREFIX}/frontend/settings")).json()
        assert settings["apiKeys"] is settings["keyRequired"] is True
        assert (await one.client.get(f"{PREFIX}/languages")).status_code == 200


async def test_full_budget_is_no_missing_key(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de") as (one, _):
        shown, _ = await new_key(one)
        pool = one.context.process.keyless_bodies.first_bytes
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pool, "limit", 0)
            for path in (f"{PREFIX}/translate", "/translate"):
                answer = await one.client.post(path, json={**ASKED, "api_key": shown}, headers={"X-Timeout-Ms": "500"})
                assert answer.status_code == 503
            header = {"Authorization": f"Bearer {shown}"}
            assert (await one.client.post("/translate", json=ASKED, headers=header)).status_code == 200
        assert (await one.client.post("/translate", json={**ASKED, "api_key": shown})).status_code == 200


async def test_body_of_a_known_caller_changes_its_budget(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de") as (one, fake):
        shown, _ = await new_key(one)
        process = one.context.process
        fake.translate.released = asyncio.Event()
        sent = asyncio.create_task(one.client.post(f"{PREFIX}/translate", json={**ASKED, "api_key": shown}))
        try:
            await wait_until(lambda: bool(fake.requests), 10, "the replica's request")
            assert (process.keyless_bodies.held, process.body_budget.reserved > 0) == (0, True)
        finally:
            fake.translate.released.set()
        assert (await sent).status_code == 200
        assert (process.keyless_bodies.held, process.body_budget.reserved) == (0, 0)
        with process.body_budget.reserve() as others:
            others.take(process.body_budget.limit)
            answer = await one.client.post(f"{PREFIX}/translate", json={**ASKED, "api_key": shown})
            assert answer.status_code == 503
        assert (process.keyless_bodies.held, process.body_budget.reserved) == (0, 0)


async def test_limits_of_keys(redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de", "en>fr") as (one, fake):
        stop_clock(one)
        libre = LibreTranslate(one, fake)
        pairs, _ = await new_key(one, pairs=["en-fr"])
        status, error = await libre.refusal(api_key=pairs)
        assert (status, "does not allow en-de" in error) == (403, True)
        chars, _ = await new_key(one, chars_per_month=7)
        assert (await libre.ask(api_key=chars))["translatedText"]
        status, error = await libre.refusal(api_key=chars)
        assert (status, "has 2 left" in error) == (403, True), "Mastodon reads 403 as a quota, 429 as a flood"
        status, error = await libre.refusal(api_key=chars, q="longer than the quota")
        assert (status, "may translate 7 a month" in error) == (400, True)


async def test_weblate_gets_no_503() -> None:
    async with fleet_of("en>de") as (one, fake):
        await fake.stop()
        await one.sees(fake, "down")
        for agent, status in (("curl/8", 503), ("Weblate/2026.10.1", 500)):
            headers = {"User-Agent": agent, "X-Timeout-Ms": "2000"}
            answer = await one.client.post(f"{PREFIX}/translate", json=ASKED, headers=headers)
            assert (answer.status_code, list(answer.json())) == (status, ["error"])
