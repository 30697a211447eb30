"""DeepL: translations, languages and usage through a running proxy, as its clients send them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from proxy.api.compat.deepl import UNLIMITED
from tests.proxy.integration.inputs import FRENCH, GERMAN, RUSSIAN
from tests.proxy.proxies import RunningProxy, fleet_fixtures, proxy
from tests.proxy.waits import set_waits
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# What deepl-python 1.32.0 sends, with all options that have an effect here.
ALL_OPTIONS: dict[str, Any] = {
    "target_lang": "DE",
    "source_lang": "EN",
    "formality": "prefer_more",
    "text": ['Press <x id="12"></x>.', "Hello"],
    "show_billed_characters": True,
    "context": "A library.",
    "split_sentences": "nonewlines",
    "preserve_formatting": True,
    "tag_handling": "xml",
    "outline_detection": False,
    "model_type": "latency_optimized",
    "ignore_tags": ["x", "y"],
}


fake, running, fresh = fleet_fixtures("en>de", "de>en", "en>fr", "fr>en")


async def ask(running: RunningProxy, **fields: Any) -> httpx.Response:
    return await running.client.post("/deepl/v2/translate", json={"text": ["Hello"], "target_lang": "DE", **fields})


@pytest.mark.parametrize("path", ["/deepl/v2/translate", "/v2/translate", "//v2//translate/", "/deepl//v2/translate"])
async def test_text_is_translated_at_prefix_and_root(running: RunningProxy, path: str) -> None:
    asked = {"target_lang": "DE", "source_lang": "EN", "text": ["Hello"], "show_billed_characters": True}
    answer = await running.client.post(f"{running.url}{path}", json=asked)
    expected = {"detected_source_language": "EN", "text": "[en>de by fake] Hello", "billed_characters": 5}
    assert (answer.status_code, answer.json()) == (200, {"translations": [expected]})
    assert answer.headers["x-trace-id"] == answer.headers["x-request-id"]


async def test_json_and_form_are_equal(running: RunningProxy) -> None:
    in_form = "text=Hello&text=&text=a%26b&target_lang=de&source_lang=en&show_billed_characters=1&formality=default"
    first = await running.client.post("/v2/translate", content=in_form, headers=FORM)
    second = await ask(running, text=["Hello", "", "a&b"], source_lang="en", show_billed_characters=True)
    assert first.status_code == 200
    assert first.json() == second.json()


async def test_every_option_reaches_the_replica(running: RunningProxy, fake: FakeReplica) -> None:
    answer = await ask(running, **ALL_OPTIONS)
    assert answer.status_code == 200
    sent = fake.requests[-1].body
    assert sent["format"] == "xml"
    assert sent["xml"]["ignore_tags"] == ["x", "y"]
    assert sent["xml"]["outline_detection"] is False
    assert sent["split_sentences"] == "sentences"
    assert sent["context"] == "A library."
    first = answer.json()["translations"][0]
    assert '<x id="12"></x>' in first["text"]
    assert (first["model_type_used"], first["tag_handling_version"]) == ("quality_optimized", "v2")
    assert answer.headers["x-pairway-ignored"] == "formality"


async def test_names_of_ignored_fields_are_shown_safely(running: RunningProxy) -> None:
    answer = await ask(running, source_lang="EN", **{"a\r\nb: c": 1, "zeta": 2, "text2": ["x"]})
    assert answer.status_code == 200
    assert answer.headers["x-pairway-ignored"] == "?, text2, zeta"
    many = await ask(running, source_lang="EN", **{f"field{number:03}": 1 for number in range(100)})
    assert len(many.headers["x-pairway-ignored"].split(", ")) == 16


async def test_source_is_detected_for_each_text(running: RunningProxy) -> None:
    answer = await ask(running, text=["…", GERMAN, "", FRENCH], target_lang="EN-GB", source_lang="")
    items = answer.json()["translations"]
    assert [each["detected_source_language"] for each in items] == ["DE", "DE", "DE", "FR"]
    assert [each["billed_characters"] for each in items] == [1, len(GERMAN), 0, len(FRENCH)]


async def test_texts_without_words_have_a_language_too(running: RunningProxy) -> None:
    answer = await ask(running, text=["", "42"])
    assert [each["detected_source_language"] for each in answer.json()["translations"]] == ["EN", "EN"]


async def test_list_of_200_is_one_request(running: RunningProxy, fake: FakeReplica) -> None:
    asked, before = [f"Text {number}" for number in range(200)], len(fake.requests)
    answer = await ask(running, text=asked, source_lang="EN")
    assert [each["text"] for each in answer.json()["translations"]] == [f"[en>de by fake] {text}" for text in asked]
    assert len(fake.requests) == before + 1


async def test_pivot_is_translated(running: RunningProxy) -> None:
    answer = await ask(running, source_lang="DE", target_lang="FR")
    assert answer.json()["translations"][0]["text"] == "[en>fr by fake] [de>en by fake] Hello"


async def test_warnings_are_in_a_header(running: RunningProxy) -> None:
    answer = await ask(running, text=[GERMAN], target_lang="DE")
    assert answer.json()["translations"][0]["text"] == GERMAN
    assert answer.headers["x-pairway-warnings"] == "same-language"


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"text": []}, 400, "'text' not specified"),
        ({"target_lang": "ZZ!"}, 400, "zz!"),
        ({"target_lang": "XX"}, 400, "xx"),
        ({"source_lang": "XX"}, 400, "xx"),
        ({"source_lang": "EN", "context": "x" * 4001}, 400, "context"),
        ({"source_lang": "EN", "tag_handling": "xml", "splitting_tags": ["a b"]}, 400, "splitting_tags"),
        ({"source_lang": "EN", "tag_handling": "xml", "splitting_tags": ["a"], "non_splitting_tags": "a"}, 400, "both"),
        ({"text": [RUSSIAN]}, 400, "could not be detected"),
        ({"text": ["a"] * 257}, 413, "256"),
        ({"text": ["a" * 200_001]}, 413, "200000"),
        ({"target_lang": "FR", "glossary_id": "a"}, 400, "requires the source_lang"),
        ({"source_lang": "EN", "glossary_id": "a"}, 403, "key is needed"),
    ],
)
async def test_errors_have_deepls_format(
    running: RunningProxy, fields: dict[str, Any], status: int, message: str
) -> None:
    answer = await ask(running, **fields)
    assert answer.status_code == status
    assert list(answer.json()) == ["message"]
    assert message.lower() in answer.json()["message"].lower()
    assert answer.headers["x-trace-id"]


async def test_text_in_the_url_is_refused(running: RunningProxy) -> None:
    answer = await running.client.post("/v2/translate?text=Hello&target_lang=DE&auth_key=x")
    assert (answer.status_code, "body is empty" in answer.json()["message"]) == (400, True)


@pytest.mark.parametrize(
    ("problem", "status", "weblate"),
    [
        ((422, "invalid-request"), 400, 400),
        ((503, "overloaded"), 503, 500),
        ((502, "unusable-output"), 400, 400),
        ((500, "internal"), 503, 500),
    ],
)
async def test_faults_of_replicas(
    monkeypatch: pytest.MonkeyPatch, problem: tuple[int, str], status: int, weblate: int
) -> None:
    set_waits(monkeypatch)
    fake = FakeReplica("en>de")
    fake.translate.problem = problem
    async with replicas(fake), proxy([fake]) as one:
        assert (await ask(one, source_lang="EN")).status_code == status
        one.client.headers["User-Agent"] = "Weblate/2026.10.1"
        answer = await ask(one, source_lang="EN")
        assert (answer.status_code, list(answer.json())) == (weblate, ["message"])


async def test_pair_without_a_ready_replica_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    set_waits(monkeypatch)
    fake = FakeReplica("en>de", "en>fr")
    fake.pairs["en>fr"] = False
    async with replicas(fake), proxy([fake]) as one:
        assert (await ask(one, source_lang="EN", target_lang="FR")).status_code == 503
        headers = {"User-Agent": "Weblate/5.14.3"}
        asked = {"text": ["Hello"], "target_lang": "FR", "source_lang": "EN"}
        assert (await one.client.post("/v2/translate", json=asked, headers=headers)).status_code == 500


async def test_repeat_of_a_client_that_timed_out_is_not_computed_again(
    running: RunningProxy, fake: FakeReplica
) -> None:
    """DeepL's client gives up, and its repeat gets the answer of the first request."""
    asked = {"text": ["A text that takes its time"], "target_lang": "DE", "source_lang": "EN"}
    before, fake.translate.delay = len(fake.requests), 3.0
    try:
        with pytest.raises(httpx.ReadTimeout):
            await running.client.post("/v2/translate", json=asked, timeout=1.5)
        answer = await running.client.post("/v2/translate", json=asked)
    finally:
        fake.translate.delay = 0.0
    assert answer.status_code == 200
    assert len(fake.requests) == before + 1


TARGETS = ["DE", "EN-GB", "EN-US", "FR"]


async def test_v2_languages_read_type_from_query_and_body(running: RunningProxy) -> None:
    client = running.client
    answers = [
        await client.get("/v2/languages?type=target"),
        await client.request("GET", "/deepl/v2/languages", content="type=target", headers=FORM),
        await client.post("/v2/languages", content="type=target", headers=FORM),
        await client.post("/v2/languages", json={"type": "target"}),
    ]
    for answer in answers:
        assert [each["language"] for each in answer.json()] == TARGETS
        assert {each["supports_formality"] for each in answer.json()} == {False}
    for path in ("/v2/languages", "/v2/languages?type=source"):
        listed = (await client.get(path)).json()
        assert listed == [
            {"language": "DE", "name": "German"},
            {"language": "EN", "name": "English"},
            {"language": "FR", "name": "French"},
        ]


async def test_listed_targets_are_translated(running: RunningProxy) -> None:
    for target in TARGETS:
        source = "DE" if target.startswith("EN") else "EN"
        assert (await ask(running, source_lang=source, target_lang=target)).status_code == 200


async def test_v3_languages(running: RunningProxy) -> None:
    listed = (await running.client.get("/v3/languages?resource=translate_text&include=beta")).json()
    assert [(each["lang"], each["usable_as_source"], each["usable_as_target"]) for each in listed] == [
        ("de", True, True),
        ("en", True, True),
        ("en-GB", False, True),
        ("en-US", False, True),
        ("fr", True, True),
    ]
    for each in listed:
        assert list(each) == ["lang", "name", "usable_as_source", "usable_as_target", "status", "features"]
        assert each["status"] == "stable"
        assert "formality" not in each["features"]
    of_glossaries = (await running.client.get("/deepl/v3/languages?resource=glossary")).json()
    assert [(each["lang"], each["features"]) for each in of_glossaries] == [("de", {}), ("en", {}), ("fr", {})]
    resources = (await running.client.get("/v3/languages/resources")).json()
    assert [each["name"] for each in resources] == ["translate_text", "glossary"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v3/languages?resource=write", 404),
        ("GET", "/v3/languages?resource=translate_document", 404),
        ("GET", "/v3/languages", 400),
        ("GET", "/v3/languages?resource=nonsense", 400),
        ("GET", "/v3/languages?resource=glossary&resource=write", 400),
        ("GET", "/v3/languages?product=translate_text", 400),
        ("GET", "/v2/languages?type=both", 400),
        ("GET", "/v2/languages?type=source&type=target", 400),
        ("POST", "/v2/document", 404),
        ("POST", "/deepl/v2/document/0123/result", 404),
        ("POST", "/v2/write/rephrase", 404),
        ("GET", "/v2/nothing", 404),
        ("GET", "/deepl/v3", 404),
        ("GET", "/v2/translate", 405),
        ("DELETE", "/deepl/v2/usage", 405),
    ],
)
async def test_what_is_not_offered_is_refused(running: RunningProxy, method: str, path: str, status: int) -> None:
    answer = await running.client.request(method, path)
    assert (answer.status_code, list(answer.json())) == (status, ["message"])
    assert answer.headers["x-trace-id"]


async def test_languages_are_never_partial() -> None:
    slow = FakeReplica("en>fr")
    slow.report.delay = 3600
    fake = FakeReplica("en>de")
    async with replicas(fake, slow), proxy([fake, slow], probe_timeout=1.0) as one:
        for path in ("/v2/languages", "/v3/languages?resource=translate_text"):
            answer = await one.client.get(path)
            assert (answer.status_code, list(answer.json())) == (500, ["message"])
        slow.report.delay = 0

        async def complete() -> bool:
            return (await one.client.get("/v2/languages?type=target")).status_code == 200

        await wait_until(complete, 20, "all languages are known")
        listed = (await one.client.get("/v2/languages?type=target")).json()
        assert [each["language"] for each in listed] == ["DE", "FR"]


async def test_without_keys_usage_is_unlimited(running: RunningProxy) -> None:
    for method in ("GET", "POST"):
        answer = await running.client.request(method, "/v2/usage")
        assert answer.json() == {"character_count": 0, "character_limit": UNLIMITED}
