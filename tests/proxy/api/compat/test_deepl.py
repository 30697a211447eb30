"""DeepL: its statuses, the fields of a translation, languages under its codes, usage."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from proxy.api.compat.deepl import UNLIMITED, TextRequest, read_text_request, render_usage, status_of
from proxy.api.compat.languages import UnsupportedLanguageError, coded_languages, source_code, tag_of
from proxy.exchange.fields import Fields
from proxy.keys.api_key import Grant, mint
from proxy.keys.usage import CHARS_PER_DAY, CHARS_PER_MONTH, UsageResult, windows_at
from shared.languages import closeness
from shared.protocol.errors import CharactersUsedError, PairwayError, RateLimitedError, RelayedError
from shared.protocol.translate_request import SentenceSplitting, TextFormat, TranslateRequest
from tests.shared.protocol.error_samples import every_error

WEBLATE: Final = "Weblate/2026.10.1"


@pytest.mark.parametrize("error", every_error(), ids=repr)
def test_weblate_is_never_silenced_by_a_passing_fault(error: PairwayError) -> None:
    status = status_of(error, WEBLATE)
    assert status not in {401, 429, 456, 503}
    assert status < 500 or status in {500, 504}


def test_used_up_characters_are_an_exceeded_quota() -> None:
    error = CharactersUsedError("x", retry_after=3)
    assert (error.http_status, error.code) == (RateLimitedError.http_status, RateLimitedError.code)
    assert status_of(error, "") == status_of(error, WEBLATE) == 456


@pytest.mark.parametrize(("theirs", "status"), [(400, 400), (418, 400), (500, 500), (502, 503), (599, 503)])
def test_foreign_errors_keep_their_class(theirs: int, status: int) -> None:
    error = RelayedError(code="theirs", http_status=theirs, title="T", detail="D", facts={})
    assert status_of(error, "") == status


def test_unsupported_language_is_a_bad_request() -> None:
    assert status_of(UnsupportedLanguageError("target_lang", "x"), "") == 400


EMPTY: list[object] = [None, "", []]
PLAIN: dict[str, Any] = {"text": ["Hello"], "target_lang": "DE"}


def read(**changes: Any) -> TextRequest:
    return read_text_request(Fields(PLAIN | changes))


def refusal(**changes: Any) -> str:
    with pytest.raises(PairwayError) as caught:
        read(**changes)
    return caught.value.detail


@pytest.mark.parametrize("source", [None, "", " ", "auto", "AUTO"])
def test_without_a_source_it_is_detected(source: str | None) -> None:
    request = read(source_lang=source)
    assert (request.source, request.source_code) == ("auto", "")


@pytest.mark.parametrize(
    ("sent", "tag", "echoed"),
    [("EN", "en", "EN"), ("en", "en", "EN"), ("pt_br", "pt-BR", "PT-BR"), ("ZH", "zh", "ZH"), ("NB", "nb", "NB")],
)
def test_source_is_echoed_in_upper_case(sent: str, tag: str, echoed: str) -> None:
    request = read(source_lang=sent)
    assert (request.source, request.source_code) == (tag, echoed)


@pytest.mark.parametrize(
    ("sent", "tag"),
    [
        *[("EN", "en"), ("EN-GB", "en-GB"), ("en-us", "en-US"), ("PT", "pt"), ("PT-PT", "pt-PT"), ("PT-BR", "pt-BR")],
        *[("ZH", "zh"), ("ZH-HANS", "zh-Hans"), ("ZH-HANT", "zh-Hant"), ("NB", "nb"), ("ES-419", "es-419")],
        ("TL", "fil"),
    ],
)
def test_targets_of_deepl_are_known(sent: str, tag: str) -> None:
    assert read(target_lang=sent).target == tag


def test_one_string_is_a_list_of_one() -> None:
    assert read(text="Hello").texts == ["Hello"]
    assert read(text="").texts == [""]
    assert read(text=["a", "", "a"]).texts == ["a", "", "a"]


@pytest.mark.parametrize(
    ("sent", "splitting"),
    [
        ("0", SentenceSplitting.NONE),
        (0, SentenceSplitting.NONE),
        ("1", SentenceSplitting.LINES_AND_SENTENCES),
        ("nonewlines", SentenceSplitting.SENTENCES),
    ],
)
def test_split_sentences(sent: object, splitting: SentenceSplitting) -> None:
    assert read(split_sentences=sent).options == {"split_sentences": splitting}


@pytest.mark.parametrize(
    ("handling", "splitting"),
    [
        (None, SentenceSplitting.LINES_AND_SENTENCES),
        ("xml", SentenceSplitting.LINES_AND_SENTENCES),
        ("html", "sentences"),
    ],
)
def test_default_splitting_is_deepls(handling: str | None, splitting: str) -> None:
    request = read(tag_handling=handling)
    native = TranslateRequest(text="a", target_lang=request.target, **request.options)
    assert native.splitting == splitting


XML_IN_JSON: dict[str, Any] = {
    "tag_handling": "xml",
    "outline_detection": False,
    "splitting_tags": ["par", "title"],
    "non_splitting_tags": ["b"],
    "ignore_tags": ["x"],
}
XML_IN_FORM: dict[str, Any] = {
    "tag_handling": "xml",
    "outline_detection": "0",
    "splitting_tags": ["par", " title,"],
    "non_splitting_tags": "b",
    "ignore_tags": "x",
}


@pytest.mark.parametrize("sent", [XML_IN_JSON, XML_IN_FORM])
def test_xml_options_of_json_and_forms_are_equal(sent: dict[str, Any]) -> None:
    request = read(**sent)
    assert request.options == {
        "format": TextFormat.XML,
        "xml": {name: value for name, value in XML_IN_JSON.items() if name != "tag_handling"},
    }
    assert request.item_members == {"tag_handling_version": "v2"}
    assert not request.ignored


@pytest.mark.parametrize("handling", [None, "html"])
def test_xml_options_without_xml_are_reported(handling: str | None) -> None:
    request = read(tag_handling=handling, ignore_tags=["x"], outline_detection=True)
    assert "xml" not in request.options
    assert request.ignored == ["ignore_tags", "outline_detection"]


@pytest.mark.parametrize("sent", ["quality_optimized", "prefer_quality_optimized", "latency_optimized"])
def test_model_type_is_answered_with_the_one_there_is(sent: str) -> None:
    assert read(model_type=sent).item_members == {"model_type_used": "quality_optimized"}


def test_formality_that_is_only_preferred_is_reported() -> None:
    assert read(formality="default").ignored == []
    assert read(formality="prefer_more").ignored == read(formality="PREFER_LESS").ignored == ["formality"]
    assert "doesn't support formality" in refusal(formality="more")


def test_older_tag_handling_is_reported() -> None:
    request = read(tag_handling="xml", tag_handling_version="v1")
    assert request.item_members == {"tag_handling_version": "v2"}
    assert request.ignored == ["tag_handling_version"]
    assert read(tag_handling_version="v2").item_members == {}


def test_unknown_fields_are_reported() -> None:
    assert read(translation_memory_threshold=75, newest=[1]).ignored == ["translation_memory_threshold", "newest"]


def test_fields_that_change_nothing_are_silent() -> None:
    request = read(show_billed_characters=True, preserve_formatting="1", enable_beta_languages=True, auth_key="k")
    assert (request.options, request.item_members, request.ignored) == ({}, {}, [])


def test_null_and_empty_options_are_none() -> None:
    names = (
        "formality",
        "tag_handling",
        "glossary_id",
        "style_id",
        "context",
        "custom_instructions",
        "split_sentences",
    )
    for empty in EMPTY:
        request = read(**dict.fromkeys(names, empty))
        assert (request.options, request.ignored, request.glossary_ids) == ({}, [], [])


def test_glossaries_are_listed() -> None:
    assert read(source_lang="EN", glossary_id="a").glossary_ids == ["a"]
    assert read(source_lang="EN", glossary_ids=["a", "b"]).glossary_ids == ["a", "b"]
    assert read(source_lang="EN", glossary_ids="a, b").glossary_ids == ["a", "b"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"text": None}, "'text' not specified"),
        ({"text": []}, "'text' not specified"),
        ({"text": ["a", 1]}, "item 1 is not a string"),
        ({"text": {"a": "b"}}, "item 0 is not a string"),
        ({"target_lang": None}, "'target_lang' not specified"),
        ({"target_lang": ""}, "'target_lang' not specified"),
        ({"target_lang": ["DE", "FR"]}, "'target_lang'"),
        ({"target_lang": "german!"}, "german!"),
        ({"target_lang": "auto"}, "auto"),
        ({"source_lang": 1}, "'source_lang'"),
        ({"source_lang": "zz!"}, "zz!"),
        ({"split_sentences": "2"}, "'split_sentences'"),
        ({"split_sentences": True}, "'split_sentences'"),
        ({"split_sentences": ["0", "1"]}, "'split_sentences'"),
        ({"preserve_formatting": "maybe"}, "'preserve_formatting'"),
        ({"show_billed_characters": 2}, "'show_billed_characters'"),
        ({"formality": "rude"}, "'formality'"),
        ({"formality": "less"}, "formality"),
        ({"tag_handling": "rtf"}, "'tag_handling'"),
        ({"tag_handling_version": "v3"}, "'tag_handling_version'"),
        ({"outline_detection": {}}, "'outline_detection'"),
        ({"ignore_tags": [1]}, "'ignore_tags'"),
        ({"ignore_tags": "," * 300}, "more than 256 entries"),
        ({"glossary_ids": ["a,b"] * 200}, "more than 256 entries"),
        ({"model_type": "best"}, "'model_type'"),
        ({"context": ["a"]}, "'context'"),
        ({"glossary_id": "a"}, "requires the source_lang"),
        ({"source_lang": "EN", "glossary_id": "a", "glossary_ids": ["b"]}, "exclude each other"),
        ({"source_lang": "EN", "glossary_ids": list("abcdef")}, "more than 5"),
        ({"source_lang": "EN", "glossary_id": 1}, "'glossary_id'"),
        ({"style_id": "a"}, "'style_id'"),
        ({"custom_instructions": ["Be kind."]}, "'custom_instructions'"),
        ({"translation_memory_id": "a"}, "'translation_memory_id'"),
    ],
)
def test_wrong_field_is_refused(changes: dict[str, Any], expected: str) -> None:
    assert expected in refusal(**changes)


def sources_of(*tags: str) -> list[str]:
    return [each.code for each in coded_languages({tag: ["xx"] for tag in tags}) if each.is_source]


def targets_of(*tags: str) -> list[str]:
    return [each.code for each in coded_languages({"xx": list(tags)}) if each.is_target]


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        *[("en", "EN"), ("en-US", "EN"), ("zh", "ZH"), ("zh-Hant", "ZH"), ("no", "NB"), ("nb", "NB"), ("pt-BR", "PT")],
        ("fil", "TL"),
    ],
)
def test_detected_language_has_no_region(tag: str, code: str) -> None:
    assert source_code(tag) == code


@pytest.mark.parametrize(
    ("tag", "codes"),
    [
        ("de", ["de"]),
        ("en-US", ["en"]),
        ("pt-BR", ["pt"]),
        ("no", ["nb"]),
        ("zh-CN", ["zh"]),
        ("zh-Hant", ["zh-Hant"]),
        ("sr-Latn", ["sr-Latn"]),
        ("fil", ["tl"]),
    ],
)
def test_source_has_a_code(tag: str, codes: list[str]) -> None:
    assert sources_of(tag) == codes


@pytest.mark.parametrize(
    ("tag", "codes"),
    [
        ("de", ["de"]),
        ("en", ["en", "en-GB", "en-US"]),
        ("en-US", ["en", "en-US"]),
        ("pt", ["pt", "pt-BR", "pt-PT"]),
        ("pt-BR", ["pt", "pt-BR"]),
        ("no", ["nb"]),
        ("nb", ["nb"]),
        ("zh", ["zh", "zh-Hans"]),
        ("zh-CN", ["zh", "zh-Hans"]),
        ("zh-Hans", ["zh", "zh-Hans"]),
        ("zh-Hant", ["zh-Hant"]),
        ("zh-TW", ["zh-Hant"]),
        ("es-419", ["es", "es-419"]),
        ("fr-CA", ["fr", "fr-CA"]),
        ("sr-Latn", ["sr-Latn"]),
    ],
)
def test_target_has_the_variants_that_it_serves(tag: str, codes: list[str]) -> None:
    assert targets_of(tag) == codes


@pytest.mark.parametrize("tag", ["en", "pt-BR", "no", "nb", "zh-TW", "zh-CN", "sr-Latn", "fil", "he", "yue", "es-419"])
def test_every_listed_code_is_served(tag: str) -> None:
    for code in {*sources_of(tag), *targets_of(tag)}:
        assert closeness(tag_of(code.upper()) or "", tag) is not None


def test_languages_are_sorted_and_named() -> None:
    languages = coded_languages({"en": ["de", "nb"], "de": ["en"]})
    assert [(each.code, each.name, each.is_source, each.is_target) for each in languages] == [
        ("de", "German", True, True),
        ("en", "English", True, True),
        ("en-GB", "English (British)", False, True),
        ("en-US", "English (American)", False, True),
        ("nb", "Norwegian", False, True),
    ]


@pytest.mark.parametrize(("granted", "limit"), [({}, UNLIMITED), ({"chars_per_month": 50, "chars_per_day": 9}, 50)])
def test_usage_is_the_months(granted: dict[str, int], limit: int) -> None:
    key, _ = mint(Grant.model_validate({"name": "a caller", **granted}), 0.0)
    windows = windows_at(1000.0)
    for window in windows:
        window.used = {CHARS_PER_DAY: 7, CHARS_PER_MONTH: 21}.get(window.limit, 1)
    rendered = render_usage(key, UsageResult(1000.0, windows, ()))
    assert json.loads(rendered) == {"character_count": 21, "character_limit": limit}


def test_without_keys_nothing_is_limited() -> None:
    assert json.loads(render_usage(None, None)) == {"character_count": 0, "character_limit": UNLIMITED}
