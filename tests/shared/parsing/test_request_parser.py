"""Requests on the wire: what is taken, what is refused, in which order, and what is never repeated."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shared.parsing.request_parser import parse_translate_request
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, InvalidRequestError, PairwayError, TooLargeError
from shared.protocol.translate_request import Limits, TranslateRequest
from shared.protocol.validation_errors import MAX_FIELDS_NAMED

LIMITS = Limits(body_bytes=1 << 20, texts=3, text_chars=10)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=20,
)
FIELDS = st.sampled_from([*TranslateRequest.model_fields, "extra"])
LIKE_A_REQUEST = st.dictionaries(FIELDS, ANY_JSON | st.sampled_from(["en", "de", "auto", ["a"], ["a", 1]]), max_size=4)


def parse(value: object) -> TranslateRequest:
    return parse_translate_request(json.dumps(value).encode(), LIMITS)


def refusal(value: object) -> PairwayError:
    with pytest.raises(PairwayError) as caught:
        parse(value)
    return caught.value


def refusal_of(body: bytes) -> PairwayError | None:
    try:
        parse_translate_request(body, LIMITS)
    except PairwayError as error:
        return error
    return None


def fields(error: PairwayError) -> list[str]:
    return [each["field"] for each in error.facts["errors"]]


def test_request_languages_are_canonical_and_source_is_auto() -> None:
    request = parse({"text": "Hello", "target_lang": "DE_at"})
    assert (request.source_lang, request.target_lang, request.texts) == ("auto", "de-AT", ["Hello"])
    assert parse({"text": ["a", "b"], "source_lang": "AUTO", "target_lang": "de"}).source_lang == "auto"
    assert parse({"text": ["a", "b"], "source_lang": "ENG", "target_lang": "de"}).texts == ["a", "b"]


@pytest.mark.parametrize("body", [b"", b" ", b"{", b"Hello", b"\xff", b"\xef\xbb\xbf{}", b"{}{}", b'{"a":"\\ud800"}'])
def test_invalid_json_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequestError, match="not JSON"):
        parse_translate_request(body, LIMITS)


@pytest.mark.parametrize("body", [b"1" * 100_000, b"[" * 100_000, b'{"text":' * 50_000, b'{"text": 1e400}'])
def test_hostile_json_is_refused_quickly(body: bytes) -> None:
    started = time.process_time()
    with pytest.raises((BadRequestError, InvalidRequestError, TooLargeError)):
        parse_translate_request(body, LIMITS)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("value", [[], "text", 1, None, True, [{"text": "a", "target_lang": "de"}]])
def test_json_without_object_is_a_bad_request(value: object) -> None:
    assert isinstance(refusal(value), BadRequestError)


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "text": "a", "target_lang": "de"}',
        b'{"text": "a", "target_lang": "de", "te\\u0078t": "b"}',
        b'{"t\\u0065xt": "a", "target_lang": "de", "text": "b"}',
        b'{"source\\u005Flang": "en", "source_lang": "fr", "text": "a", "target_lang": "de"}',
        b'{"text": "\\n", "target_lang": "de", "target_lang": "fr"}',
        b'{"text": "\\"", "target_lang": "de", "target_lang" : "fr"}',
        b'{"text": "a", "target_lang": "de", "terms": {"x": "y", "x": "z"}}',
        b'{"text": "a", "target_lang": "de", "terms": {"x": "y", "\\u0078": "z"}}',
        b'{"text": "a", "target_lang": "de", "terms": {}, "terms": {"x": "y"}}',
        b'{"text": "a", "target_lang": "de", "pivot": true, "pivot": false}',
    ],
)
def test_name_that_stands_twice_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequestError, match="a name occurs twice"):
        parse_translate_request(body, LIMITS)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"text": "\\"text\\"", "target_lang": "de"}', '"text"'),
        (b'{"text": "a \\"text", "target_lang": "de"}', 'a "text'),
        (b'{"text": "text", "target_lang": "de"}', "text"),
        (b'{"text": "\\u0074\\u00e4", "target_lang": "de"}', "tä"),
        (b'{"t\\u0065xt": "a", "target_lang": "de"}', "a"),
        (b'{"text": "a", "target_lang": "de", "terms": {"text": "target_lang"}}', "a"),
        (b'{"text": "a", "target_lang": "de", "do_not_translate": ["text", "text"]}', "a"),
    ],
)
def test_names_in_texts_are_no_names_of_fields(body: bytes, text: str) -> None:
    assert parse_translate_request(body, LIMITS).text == text


@given(st.lists(st.tuples(FIELDS | st.just("terms"), ANY_JSON), max_size=5))
def test_names_are_refused_just_when_they_stand_twice(pairs: list[tuple[str, object]]) -> None:
    body = "{" + ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in pairs) + "}"
    first = refusal_of(json.dumps(dict(pairs)).encode())
    assume(first is None or "no JSON" not in first.detail)
    error = refusal_of(body.encode())
    if first is not None:  # it is refused whatever stands twice
        assert error is not None
    else:
        assert (error is not None and "occurs twice" in error.detail) == (len(dict(pairs)) < len(pairs))


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "target_lang": "de", "extra": 1, "extra": 2}',
        b'{"text": {"a": 1, "a": 2}, "target_lang": "de", "terms": {}}',
        b'{"text": "a", "target_lang": "de", "terms": {%s}}' % b",".join(b'"%d": "x"' % n for n in range(257)),
    ],
)
def test_names_of_invalid_requests_are_not_looked_through(body: bytes) -> None:
    """It would hold the event loop for the time of a second reading of 2 MiB."""
    assert isinstance(refusal_of(body), InvalidRequestError)


def test_sizes_are_checked_before_fields() -> None:
    assert isinstance(refusal({"text": ["a"] * 4}), TooLargeError)
    assert isinstance(refusal({"text": [1] * 4, "nonsense": 1}), TooLargeError)
    assert isinstance(refusal({"text": "x" * 11, "target_lang": 5}), TooLargeError)
    error = refusal({"text": ["a", None, "x" * 11]})
    assert (error.facts["limit"], error.facts["unit"]) == (10, "characters")
    assert "text[2]" in error.detail


def test_size_at_the_limit_is_accepted() -> None:
    assert parse({"text": ["x" * 10] * 3, "target_lang": "de"}).texts == ["x" * 10] * 3


def test_size_counts_characters_not_bytes() -> None:
    assert parse({"text": "\U0001f9d1" * 10, "target_lang": "de"}).texts


def test_invalid_fields_are_all_named() -> None:
    error = refusal({"text": ["a", 1], "source_lang": 5, "nonsense": 1})
    assert isinstance(error, InvalidRequestError)
    assert sorted(fields(error)) == ["nonsense", "source_lang", "target_lang", "text[1]"]
    assert len(error.facts["errors"]) == 4


WRONG_FIELDS: list[tuple[dict[str, Any], str, str]] = [
    ({"target_lang": "de"}, "text", "is required"),
    ({"text": "a"}, "target_lang", "is required"),
    ({"text": [], "target_lang": "de"}, "text", "must not be an empty list"),
    ({"text": 1, "target_lang": "de"}, "text", "must be a string"),
    ({"text": "a", "target_lang": ["de"]}, "target_lang", "must be a string; a list of targets is for the proxy"),
    ({"text": ["a", []], "target_lang": "de"}, "text[1]", "must be a string"),
    ({"text": "a", "target_lang": "de", "Text": "b"}, "Text", "is not a field of this request"),
    ({"text": "a", "target_lang": "de", "x" * 999: 1}, "x" * 64, "is not a field of this request"),
]


@pytest.mark.parametrize(("value", "field", "message"), WRONG_FIELDS)
def test_invalid_field_error_says_what_is_valid(value: object, field: str, message: str) -> None:
    assert refusal(value).facts["errors"] == [{"field": field, "message": message}]


def test_at_most_ten_invalid_fields_are_named() -> None:
    wide = Limits(body_bytes=1 << 20, texts=10_000, text_chars=10)
    for value in ({f"f{n}": 0 for n in range(2_000)}, {"text": [1] * 10_000, "target_lang": "de"}):
        started = time.process_time()
        with pytest.raises(InvalidRequestError) as caught:
            parse_translate_request(json.dumps(value).encode(), wide)
        assert time.process_time() - started < 1
        assert len(caught.value.facts["errors"]) <= MAX_FIELDS_NAMED


@given(ANY_JSON | LIKE_A_REQUEST)
def test_any_json_is_a_request_or_a_known_error(value: object) -> None:
    with suppress(BadRequestError, TooLargeError, InvalidRequestError):
        assert parse(value).texts


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_a_known_error(body: bytes) -> None:
    with pytest.raises((BadRequestError, TooLargeError, InvalidRequestError)):
        parse_translate_request(body, LIMITS)


@given(st.sampled_from(["text", "source_lang", "target_lang"]), ANY_JSON)
def test_errors_never_repeat_the_text(wrong: str, value: object) -> None:
    good = {"text": "SECRET-ME", "source_lang": "en", "target_lang": "de"}
    secret = {**good, wrong: value, "oops": "SECRET-TOO"}
    error = refusal(secret)
    assert "SECRET" not in json.dumps([error.detail, error.facts])


GOOD = {"text": "a", "target_lang": "de"}
WRONG_OPTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"format": "pdf"}, "format", "must be one of text, html, markdown, xml"),
    ({"format": None}, "format", "must be one of text, html, markdown, xml"),
    ({"format": "HTML"}, "format", "must be one of text, html, markdown, xml"),
    ({"do_not_translate": "a"}, "do_not_translate", "must be a list of strings"),
    ({"do_not_translate": {"a": "b"}}, "do_not_translate", "must be a list of strings"),
    ({"do_not_translate": ["a", 1]}, "do_not_translate[1]", "must be a string"),
    ({"do_not_translate": ["a", ""]}, "do_not_translate[1]", "has 0 characters; 1 to 200 are allowed"),
    ({"do_not_translate": ["x" * 201]}, "do_not_translate[0]", "has 201 characters; 1 to 200 are allowed"),
    ({"do_not_translate": ["\u3000 \t"]}, "do_not_translate[0]", "is blank; it must hold more than white space"),
    ({"do_not_translate": ["a"] * 257}, "do_not_translate", "has more than 256 entries"),
    ({"terms": []}, "terms", "must be an object of strings"),
    ({"terms": None}, "terms", "must be an object of strings"),
    ({"terms": {"a": "b", "c": 1}}, "terms", "the target of entry 2 must be a string"),
    ({"terms": {"": "b"}}, "terms", "the source of entry 1 has 0 characters; 1 to 200 are allowed"),
    ({"terms": {"a": "x" * 201}}, "terms", "the target of entry 1 has 201 characters; 1 to 200 are allowed"),
    ({"terms": {" ": "b"}}, "terms", "the source of entry 1 is blank; it must hold more than white space"),
    ({"terms": {"a": "b\nc"}}, "terms", "the target of entry 1 contains a line break; it must be on one line"),
    ({"terms": {"a\u2028": "b"}}, "terms", "the source of entry 1 contains a line break; it must be on one line"),
    ({"terms": {str(n): "b" for n in range(257)}}, "terms", "has more than 256 entries"),
]


@pytest.mark.parametrize(("options", "field", "message"), WRONG_OPTIONS)
def test_invalid_option_error_says_what_is_valid(options: dict[str, Any], field: str, message: str) -> None:
    assert refusal({**GOOD, **options}).facts["errors"] == [{"field": field, "message": message}]


def test_options_at_their_limits_are_accepted() -> None:
    plain = parse(GOOD)
    assert (plain.format, plain.do_not_translate, plain.terms) == ("text", [], {})
    most = {"do_not_translate": ["x" * 200] * 256, "terms": {f"{n:0200}": "y" * 200 for n in range(256)}}
    full = parse({**GOOD, "format": "markdown", **most})
    assert (full.format, full.do_not_translate, full.terms) == ("markdown", *most.values())


def test_sizes_are_checked_before_options() -> None:
    assert isinstance(refusal({"text": ["a"] * 4, "format": "pdf", "terms": 1}), TooLargeError)


@pytest.mark.parametrize(
    "options",
    [
        {"do_not_translate": [""] * 300_000},
        {"do_not_translate": [1] * 300_000},
        {"do_not_translate": ["SECRET" * 100] * 256},
        {"terms": {str(n): "" for n in range(100_000)}},
        {"terms": {f"SECRET{n}" * 100: "SECRET" * 100 for n in range(256)}},
        {"terms": {"SECRET" * 100_000: 1}},
    ],
    ids=range(6),
)
def test_hostile_options_are_refused_quickly(options: dict[str, Any]) -> None:
    started = time.process_time()
    error = refusal({**GOOD, **options})
    assert time.process_time() - started < 5, "a bound on the work, not a measurement"
    error_text = json.dumps([error.detail, error.facts])
    assert len(error_text) < 2500
    assert "SECRET" not in error_text


@pytest.mark.parametrize("text", ["Hallo \u2028 \U0001f600", ["a", "b"]])
def test_answer_has_the_form_of_its_request(text: str | list[str]) -> None:
    request = parse({**GOOD, "text": text})
    results = [
        Translation(translation=each, source_lang="en", target_lang="de", model=None, route=["en", "de"])
        for each in request.texts
    ]
    answer = json.loads(request.answer(results))
    each = [json.loads(result.to_json()) for result in results]
    assert answer == (each[0] if isinstance(text, str) else {"results": each})


XML = {"format": "xml"}
NO_COUNTS: tuple[Any, ...] = (-1, 4, "1", 1.5, True, None, [])
WRONG_NEW_OPTIONS: list[tuple[dict[str, Any], str, str]] = [
    *(({"alternatives": value}, "alternatives", "must be 0 to 3") for value in NO_COUNTS),
    ({"alternatives": 1, **XML}, "alternatives", "must be 0 with format xml; only text has alternatives"),
    ({"alternatives": 1, "format": "html"}, "alternatives", "must be 0 with format html; only text has alternatives"),
    ({"split_sentences": "1"}, "split_sentences", "must be one of lines_and_sentences, sentences, none"),
    ({"split_sentences": False}, "split_sentences", "must be one of lines_and_sentences, sentences, none"),
    (
        {"split_sentences": "lines_and_sentences", "format": "markdown"},
        "split_sentences",
        "must be sentences or none with format markdown",
    ),
    ({"context": None}, "context", "must be a string"),
    ({"context": ["a"]}, "context", "must be a string"),
    ({"context": "x" * 4001}, "context", "has more than 4000 characters; send the part nearest to the text"),
    ({"xml": {}}, "xml", "needs format xml; the format is text"),
    ({"xml": [], **XML}, "xml", "must be an object"),
    ({"xml": {"tags": []}, **XML}, "xml.tags", "is not a field of this request"),
    ({"xml": {"x" * 99: 1}, **XML}, f"xml.{'x' * 64}", "is not a field of this request"),
    ({"xml": {"ignore_tags": "x"}, **XML}, "xml.ignore_tags", "must be a list of strings"),
    ({"xml": {"ignore_tags": ["x", 1]}, **XML}, "xml.ignore_tags[1]", "must be a string"),
    (
        {"xml": {"ignore_tags": ["x", "<y>"]}, **XML},
        "xml.ignore_tags[1]",
        "is not the name of a tag, such as par or xliff:g",
    ),
    ({"xml": {"ignore_tags": ["x"] * 257}, **XML}, "xml.ignore_tags", "has more than 256 entries"),
    (
        {"xml": {"splitting_tags": ["x"], "non_splitting_tags": ["x"]}, **XML},
        "xml",
        "has a tag both in splitting_tags and in non_splitting_tags",
    ),
]


@pytest.mark.parametrize(("options", "field", "message"), WRONG_NEW_OPTIONS)
def test_wrong_combination_names_its_field(options: dict[str, Any], field: str, message: str) -> None:
    assert refusal({**GOOD, **options}).facts["errors"] == [{"field": field, "message": message}]


def test_new_options_have_neutral_defaults() -> None:
    plain = parse(GOOD)
    assert (plain.alternatives, plain.split_sentences, plain.context, plain.xml) == (0, None, "", None)
    assert plain == parse({**GOOD, "alternatives": 0, "split_sentences": None, "context": "", "xml": None})


@pytest.mark.parametrize(
    ("text_format", "splitting"),
    [("text", "lines_and_sentences"), ("xml", "lines_and_sentences"), ("html", "sentences"), ("markdown", "sentences")],
)
def test_each_format_has_its_splitting(text_format: str, splitting: str) -> None:
    assert parse({**GOOD, "format": text_format}).splitting == splitting
    assert parse({**GOOD, "format": text_format, "split_sentences": "none"}).splitting == "none"


@pytest.mark.parametrize(
    "names", ['{"ignore_tags": [], "ignore_tags": []}', '{"ignore_tags": [], "ignore\\u005ftags": []}']
)
def test_name_that_stands_twice_in_xml_is_refused(names: str) -> None:
    body = f'{{"text": "a", "target_lang": "de", "format": "xml", "xml": {names}}}'
    with pytest.raises(BadRequestError, match="a name occurs twice"):
        parse_translate_request(body.encode(), LIMITS)


def test_tags_may_be_names_of_fields() -> None:
    tags = {"ignore_tags": ["text", "xml", "format"]}
    assert parse({**GOOD, **XML, "xml": tags}).xml is not None


def test_hostile_xml_options_are_refused_quickly() -> None:
    started = time.process_time()
    for xml in ({f"SECRET{n}": 0 for n in range(2_000)}, {"ignore_tags": ["<SECRET>"] * 256}):
        error = refusal({**GOOD, **XML, "xml": xml})
        assert len(error.facts["errors"]) <= MAX_FIELDS_NAMED
    assert isinstance(refusal({**GOOD, **XML, "xml": {f"SECRET{n}": 0 for n in range(80_000)}}), TooLargeError)
    assert time.process_time() - started < 5, "a bound on the work, not a measurement"


@given(st.integers(0, 3), st.lists(st.text(max_size=10), min_size=1, max_size=3), st.text(max_size=20), st.booleans())
def test_size_counts_every_output(alternatives: int, texts: list[str], context: str, single: bool) -> None:
    fields = {"text": texts[0] if single else texts, "target_lang": "de"}
    plain = TranslateRequest.model_validate(fields).size
    size = TranslateRequest.model_validate({**fields, "alternatives": alternatives, "context": context}).size
    assert (size.chars, size.texts, size.is_long) == (plain.chars, plain.texts, plain.is_long)
    assert size.charged_chars == (1 + alternatives) * plain.charged_chars
    assert size.units >= (1 + alternatives) * plain.units
    assert context or size.units == (1 + alternatives) * plain.units


def test_stream_cannot_have_alternatives() -> None:
    parse(GOOD).refuse_stream()
    with pytest.raises(InvalidRequestError, match="alternatives: must be 0 with Accept"):
        parse({**GOOD, "alternatives": 1}).refuse_stream()


@pytest.mark.parametrize("value", ["0.5", True, -0.01, 1.01, [0.5], {}, 10**400])
def test_min_confidence_is_a_number_from_0_to_1(value: object) -> None:
    error = refusal({**GOOD, "min_confidence": value})
    assert error.facts["errors"] == [{"field": "min_confidence", "message": "must be a number from 0 to 1"}]


def test_min_confidence_cannot_be_nan() -> None:
    with pytest.raises(BadRequestError):
        parse_translate_request(b'{"text":"a","target_lang":"de","min_confidence":NaN}', LIMITS)


@pytest.mark.parametrize("value", [1, "true", [], 0.5])
def test_confidence_is_true_or_false(value: object) -> None:
    error = refusal({**GOOD, "confidence": value})
    assert error.facts["errors"] == [{"field": "confidence", "message": "must be true or false"}]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, False),
        ({"confidence": False, "min_confidence": None}, False),
        ({"confidence": True}, True),
        ({"min_confidence": 0}, True),
        ({"min_confidence": 1}, True),
    ],
)
def test_min_confidence_implies_confidence(fields: dict[str, object], wanted: bool) -> None:
    assert parse({**GOOD, **fields}).wants_confidence is wanted


def test_stream_cannot_withhold_texts() -> None:
    parse({**GOOD, "confidence": True}).refuse_stream()
    with pytest.raises(InvalidRequestError, match="what was sent cannot be withheld"):
        parse({**GOOD, "min_confidence": 0}).refuse_stream()


def test_answer_has_a_confidence_of_unchanged_texts() -> None:
    unscored = Translation(translation="1", source_lang="en", target_lang="de", model=None, route=["en", "de"])
    scored = unscored.model_copy(update={"confidence": 0.25, "model": "m"})
    assert "confidence" not in json.loads(parse(GOOD).answer([unscored]))
    answer = json.loads(parse({**GOOD, "text": ["1", "a"], "confidence": True}).answer([unscored, scored]))
    assert [each["confidence"] for each in answer["results"]] == [1.0, 0.25]
    assert "alternatives_confidence" not in answer["results"][0]
    both = json.loads(parse({**GOOD, "text": ["1"], "alternatives": 1, "confidence": True}).answer([unscored]))
    assert (both["results"][0]["alternatives"], both["results"][0]["alternatives_confidence"]) == ([], [])


def test_answer_has_alternatives_only_if_requested() -> None:
    result = Translation(translation="a", source_lang="en", target_lang="de", model=None, route=["en", "de"])
    more = result.model_copy(update={"alternatives": ["b"]})
    assert "alternatives" not in json.loads(parse(GOOD).answer([result]))
    request = parse({**GOOD, "text": ["a", "b"], "alternatives": 2})
    answer = json.loads(request.answer([result, more]))
    assert [each["alternatives"] for each in answer["results"]] == [[], ["b"]]
    assert result.alternatives is None
