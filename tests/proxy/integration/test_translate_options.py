"""What a request may ask for beside its text: formats, names and terms travel; texts without words need no replica."""

from __future__ import annotations

from typing import Any

import pytest

from shared.protocol.translate_request import XmlOptions
from tests.proxy.integration.inputs import ENGLISH, FRENCH, GERMAN
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.fake_replica import FakeReplica

OPTIONS: dict[str, Any] = {
    "format": "xml",
    "do_not_translate": ["Pairway"],
    "terms": {"walk": "Wanderung"},
    "split_sentences": "none",
    "context": "In the park.",
    "xml": {"ignore_tags": ["x"], "outline_detection": False},
}
EMOJI = "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467"
URL = "https://example.org/a?b=c"


fake, running, fresh = fleet_fixtures(
    "en>de", "fr>de", "de>en", name="one", request_timeout=10.0, seconds_per_1000_chars=5.0, max_request_timeout=100.0
)


async def post(running: RunningProxy, text: object, source: str = "en", **more: object) -> tuple[int, dict[str, Any]]:
    response = await running.client.post(
        "/translate", json={"text": text, "source_lang": source, "target_lang": "de", **more}
    )
    return response.status_code, response.json()


@pytest.mark.parametrize("source", ["en", "auto"])
@pytest.mark.parametrize("text", [ENGLISH, [ENGLISH, ENGLISH]])
async def test_options_are_sent_to_replica(running: RunningProxy, fake: FakeReplica, source: str, text: object) -> None:
    assert (await post(running, text, source, **OPTIONS))[0] == 200
    (sent,) = fake.requests
    assert sent.body == {"text": text, "source_lang": "en", "target_lang": "de", **OPTIONS}


async def test_options_are_sent_with_every_language_group(running: RunningProxy, fake: FakeReplica) -> None:
    assert (await post(running, [ENGLISH, FRENCH], "auto", **OPTIONS))[0] == 200
    assert sorted(sent.body["source_lang"] for sent in fake.requests) == ["en", "fr"]
    assert all({name: sent.body[name] for name in OPTIONS} == OPTIONS for sent in fake.requests)


async def test_default_options_are_not_sent(running: RunningProxy, fake: FakeReplica) -> None:
    await post(running, ENGLISH, format="text", terms={})
    assert fake.requests[0].body.keys() == {"text", "source_lang", "target_lang"}


async def test_replica_gets_the_body_as_the_client_wrote_it(running: RunningProxy, fake: FakeReplica) -> None:
    written = {"target_lang": "DE", "source_lang": "en", "text": "As it is"}
    assert (await running.client.post("/translate", json=written)).status_code == 200
    assert list(fake.requests[0].body.items()) == list(written.items())


@pytest.mark.parametrize("change", [{"pivot": True}, {"source_lang": "en-GB"}, {"text": ["word " * 2_000] * 7}])
async def test_replica_gets_another_body_for_another_pair(
    running: RunningProxy, fake: FakeReplica, change: dict[str, Any]
) -> None:
    request = {"target_lang": "DE", "text": "As it is", "source_lang": "en"} | change
    assert (await running.client.post("/translate", json=request)).status_code == 200
    body = {"text": request["text"], "source_lang": "en", "target_lang": "de"}
    assert list(fake.requests[0].body.items()) == list(body.items())


@pytest.mark.parametrize("option", [{"format": "pdf"}, {"do_not_translate": [" "]}, {"terms": {"a": ""}}])
async def test_invalid_option_is_refused_without_replica(
    running: RunningProxy, fake: FakeReplica, option: dict[str, Any]
) -> None:
    status, problem = await post(running, ENGLISH, **option)
    assert (status, problem["code"]) == (422, "invalid-request")
    assert problem["errors"][0]["field"].startswith(next(iter(option)))
    assert fake.requests == []


WORDLESS = ["", " \n", "123", EMOJI, URL]
WORDLESS_MARKUP = [("<p>42</p>", "html"), ("<br>\n&nbsp;", "html"), ("**42**", "markdown")]
# Whether these hold words only the API server can tell.
DOUBTFUL_MARKUP = [
    ("<script>let words = 'of the day'</script>", "html"),
    (f"<code translate=yes>{ENGLISH}</code>", "html"),
    ("[1](https://example.org/words/of/the/day)", "markdown"),
]


@pytest.mark.parametrize(("text", "text_format"), [*WORDLESS_MARKUP, *DOUBTFUL_MARKUP])
async def test_markup_of_named_language_is_sent_unseen(
    running: RunningProxy, fake: FakeReplica, text: str, text_format: str
) -> None:
    assert (await post(running, text, "en", format=text_format))[0] == 200
    assert [sent.body["text"] for sent in fake.requests] == [text]


@pytest.mark.parametrize(("text", "text_format"), DOUBTFUL_MARKUP)
async def test_api_server_decides_about_wordless_markup(
    running: RunningProxy, fake: FakeReplica, text: str, text_format: str
) -> None:
    status, answer = await post(running, text, "auto", format=text_format)
    assert (status, answer["detected"]["lang"], answer["route"]) == (200, "en", ["en", "de"])
    assert [sent.body["text"] for sent in fake.requests] == [text]


@pytest.mark.parametrize(
    ("text", "target"),
    [("`привет, как дела?`", "de"), (f"<code>{GERMAN}</code>", "de"), (f"<code>{ENGLISH}</code>", "ja")],
)
async def test_wordless_markup_in_no_language_is_unchanged(
    running: RunningProxy, fake: FakeReplica, text: str, target: str
) -> None:
    request = {"text": text, "source_lang": "auto", "target_lang": target, "format": "markdown"}
    answer = (await running.client.post("/translate", json=request)).json()
    assert (answer["translation"], answer["source_lang"], answer["route"]) == (text, None, [target])
    assert fake.requests == []


@pytest.mark.parametrize("text", ["<pre>Guten Morgen, wie geht es dir?</pre>", f"<img alt='{GERMAN}'>"])
async def test_words_inside_markup_are_detected_and_sent(running: RunningProxy, fake: FakeReplica, text: str) -> None:
    request = {"text": text, "source_lang": "auto", "target_lang": "en", "format": "html"}
    answer = (await running.client.post("/translate", json=request)).json()
    assert answer["detected"]["lang"] == "de"
    assert fake.requests[0].body["text"] == text


@pytest.mark.parametrize(
    ("source", "text", "text_format"),
    [(source, text, "text") for source in ("en", "auto") for text in WORDLESS]
    + [("auto", *row) for row in WORDLESS_MARKUP],
)
async def test_text_without_words_needs_no_replica(
    running: RunningProxy, fake: FakeReplica, source: str, text: str, text_format: str
) -> None:
    status, answer = await post(running, text, source, format=text_format)
    assert (status, answer["translation"], answer["warnings"], answer["model"]) == (200, text, [], None)
    assert answer["source_lang"] == (None if source == "auto" else "en")
    assert answer["route"] == (["de"] if source == "auto" else ["en", "de"])
    assert "detected" not in answer
    assert fake.requests == []


async def test_detected_list_sends_only_texts_with_words(running: RunningProxy, fake: FakeReplica) -> None:
    texts = ["123", ENGLISH, EMOJI, GERMAN, URL, " "]
    status, answer = await post(running, texts, "auto")
    assert status == 200
    results = answer["results"]
    assert [result["translation"] for result in results] == ["123", f"[en>de by one] {ENGLISH}", *texts[2:]]
    assert [[each["code"] for each in result["warnings"]] for result in results] == [
        [],
        [],
        [],
        ["same-language"],
        [],
        [],
    ]
    assert [sent.body["text"] for sent in fake.requests] == [[ENGLISH]]


async def test_long_text_without_words_is_unchanged(running: RunningProxy, fake: FakeReplica) -> None:
    text = "12 " * 5000
    assert (await post(running, text, "auto"))[1]["translation"] == text
    assert fake.requests == []
    assert (await post(running, text, "en"))[0] == 200
    assert fake.requests[0].body["text"] == text


async def test_list_of_named_language_is_forwarded_unchanged(running: RunningProxy, fake: FakeReplica) -> None:
    texts = ["123", ENGLISH, ""]
    assert (await post(running, texts))[0] == 200
    assert [sent.body["text"] for sent in fake.requests] == [texts]


@pytest.mark.parametrize(
    ("text_format", "text"),
    [
        ("html", f'<div class="the quick brown fox is not the text" style="color: of the day">{FRENCH}</div>' * 3),
        ("html", f"<style>body {{ margin: 0; the: of }}</style><script>the('quick')</script><p>{FRENCH}</p>"),
        ("html", f'<img src="the-house-of-the-rising-sun.png" alt="{FRENCH}">'),
        ("markdown", f"```\nthe house of the rising sun is the house\n```\n\n# {FRENCH}\n"),
        ("markdown", f"[{FRENCH}](https://example.org/the/house/of/the/rising/sun)"),
    ],
)
async def test_markup_language_is_that_of_its_words(
    running: RunningProxy, fake: FakeReplica, text_format: str, text: str
) -> None:
    status, answer = await post(running, text, "auto", format=text_format)
    assert (status, answer["detected"]["lang"]) == (200, "fr")
    assert fake.requests[0].body["text"] == text


@pytest.mark.parametrize("source", ["de", "de-AT", "auto"])
async def test_markup_in_target_language_is_unchanged(running: RunningProxy, fake: FakeReplica, source: str) -> None:
    text = f"<p>{GERMAN}</p>"
    status, answer = await post(running, text, source, format="html")
    assert (status, answer["translation"], answer["warnings"][0]["code"]) == (200, text, "same-language")
    assert fake.requests == []


async def test_long_request_gets_more_time(running: RunningProxy, fake: FakeReplica) -> None:
    for text in ("x" * 1000, "x" * 3000, ["x" * 1000] * 3, "x" * 100_000):
        await post(running, text)
    short, longer, as_list, longest = fake.timeouts_ms()
    assert 9_000 < short <= 10_000
    assert 19_000 < longer <= 20_000
    assert 19_000 < as_list <= 20_000
    assert 99_000 < longest <= 100_000


async def test_client_can_only_shorten_the_time(running: RunningProxy, fake: FakeReplica) -> None:
    for wanted in ("1500", "15000", "999999"):
        await running.translate("x" * 3000, x_timeout_ms=wanted)
    short, longer, capped = fake.timeouts_ms()
    assert 1_000 < short <= 1_500
    assert 14_000 < longer <= 15_000
    assert 19_000 < capped <= 20_000


async def test_longest_text_fits_in_body_when_escaped(running: RunningProxy, fake: FakeReplica) -> None:
    text = "\u00e4" * 200_000
    status, answer = await post(running, text)  # httpx writes it as bytes, twice as many
    assert (status, answer["translation"][-5:]) == (200, "\u00e4" * 5)
    escaped = b'{"text": "%s", "source_lang": "en", "target_lang": "de"}' % (b"\\u00e4" * 200_000)
    response = await running.client.post("/translate", content=escaped)
    assert response.status_code == 200
    assert fake.requests[1].body["text"] == text


async def test_openapi_documents_streams_and_options(running: RunningProxy) -> None:
    response = await running.client.get("/openapi.json")
    assert "#/$defs" not in response.text
    described = response.json()["paths"]["/translate"]["post"]
    assert {"application/json", "text/event-stream"} <= described["responses"]["200"]["content"].keys()
    fields = described["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert fields["format"]["enum"] == ["text", "html", "markdown", "xml"]
    assert (fields["alternatives"]["minimum"], fields["alternatives"]["maximum"]) == (0, 3)
    assert fields["split_sentences"]["enum"] == ["lines_and_sentences", "sentences", "none", None]
    assert fields["context"]["maxLength"] == 4000
    assert fields["xml"]["anyOf"][0]["properties"].keys() == XmlOptions.model_fields.keys()
    assert fields["do_not_translate"]["maxItems"] == fields["terms"]["maxProperties"] == 256


@pytest.mark.parametrize("source", ["en", "auto"])
async def test_each_result_has_requested_alternatives(running: RunningProxy, fake: FakeReplica, source: str) -> None:
    status, answer = await post(running, [ENGLISH, FRENCH, GERMAN, "42"], source, alternatives=2)
    assert status == 200
    found = {each["alternatives"][0] if each["alternatives"] else None for each in answer["results"]}
    assert f"0. {ENGLISH}" in found
    if source == "auto":  # the text in the target language, and the one without words
        assert [len(each["alternatives"]) for each in answer["results"]] == [2, 2, 0, 0]
    assert all(sent.body["alternatives"] == 2 for sent in fake.requests)


@pytest.mark.parametrize("text", ["42", URL])
async def test_text_without_words_has_no_alternatives(running: RunningProxy, fake: FakeReplica, text: str) -> None:
    status, answer = await post(running, text, alternatives=1)
    assert (status, answer["translation"], answer["alternatives"]) == (200, text, [])
    assert not fake.requests
    assert "alternatives" not in (await post(running, text))[1]


async def test_stream_with_alternatives_is_refused(running: RunningProxy, fake: FakeReplica) -> None:
    body = {"text": ENGLISH, "source_lang": "en", "target_lang": "de", "alternatives": 1}
    answer = await running.client.post("/translate", json=body, headers={"Accept": "text/event-stream"})
    assert answer.status_code == 422
    assert [each["field"] for each in answer.json()["errors"]] == ["alternatives"]
    assert not fake.requests


async def test_place_of_malformed_xml_reaches_the_client(running: RunningProxy, fake: FakeReplica) -> None:
    errors = [{"field": "text[1]", "message": "is not well-formed XML: line 1, column 3: write &amp;"}]
    fake.translate.problem, fake.translate.facts = (422, "invalid-request"), {"errors": errors}
    status, problem = await post(running, ["a", "a & b"], format="xml")
    assert (status, problem["code"], problem["errors"]) == (422, "invalid-request", errors)
    assert len(fake.requests) == 1, "another replica would say the same"
