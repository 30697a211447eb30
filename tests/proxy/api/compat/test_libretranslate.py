"""LibreTranslate: its errors, the fields of a request, languages, and detection."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from proxy.api.compat.languages import LanguagesUnknownError, UnsupportedLanguageError, parse_code
from proxy.api.compat.libretranslate import (
    BODY,
    KEY_INVALID,
    KEY_NEEDED,
    Question,
    RefusalError,
    code_of,
    codes_of,
    early_authorization,
    find_authorization,
    insert_comma,
    language_answer,
    list_languages,
    missing,
    not_supported,
    over_limit,
    read_question,
    read_texts,
    render_error,
)
from proxy.exchange.fields import Fields, json_fields
from shared.languages import closeness
from shared.parsing.json_reader import NoObjectError
from shared.protocol.answers import Detected
from shared.protocol.errors import (
    CODES,
    BadRequestError,
    KeyRefusedError,
    KeyRequiredError,
    OverloadedError,
    PairwayError,
    RateLimitedError,
    TooLargeError,
)
from shared.protocol.translate_request import TextFormat
from tests.proxy.exchange.peers import SamplePeer
from tests.shared.protocol.error_samples import every_error

# Faults that pass: after their statuses Weblate would ask no more for half an hour.
PASSING = {"rate-limited", "overloaded", "pair-unavailable", "keys-unavailable", "glossaries-unavailable"}
ERRORS = [each for each in every_error() if each.code in CODES]


def rendered(error: PairwayError, agent: str = "curl/8") -> tuple[int, Any, str | None]:
    request = Request({"type": "http", "state": {"headers": {"user-agent": agent}}})
    response = render_error(request, error)
    return response.status_code, json.loads(bytes(response.body)), response.headers.get("retry-after")


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: each.code)
def test_weblate_gets_500_for_faults_that_pass_alone(error: PairwayError) -> None:
    status, content, retry_after = rendered(error)
    assert rendered(error, "Weblate/2026.10.1") == (500 if error.code in PASSING else status, content, retry_after)


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (KeyRequiredError("x"), 400, KEY_NEEDED),
        (KeyRefusedError("x"), 403, KEY_INVALID),
        (missing("target"), 400, "Invalid request: missing target parameter"),
        (
            over_limit(TooLargeError("q", size=5001, limit=5000, unit="characters")),
            400,
            "Invalid request: request (5001) exceeds text limit (5000)",
        ),
        (not_supported("zz"), 400, "zz is not supported"),
        (not_supported(["x" * 100]), 400, "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is not supported"),
        (UnsupportedLanguageError("target", "zz!"), 400, "zz! is not supported"),
        (NoObjectError("The body is JSON, but not an object."), 400, "Invalid JSON format"),
        (RefusalError("as it is"), 400, "as it is"),
        (LanguagesUnknownError("why"), 500, "The list of languages cannot be served now: why."),
        (RateLimitedError("20 per minute", retry_after=60), 429, "Slowdown: 20 per minute"),
        (RateLimitedError("used up", retry_after=61), 403, "used up"),
    ],
)
def test_its_own_words(error: PairwayError, status: int, text: str) -> None:
    assert rendered(error)[:2] == (status, {"error": text})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RateLimitedError("in a while", retry_after=60), 500),
        (RateLimitedError("tomorrow", retry_after=3600), 403),
        (OverloadedError("full", retry_after=1), 500),
        (LanguagesUnknownError("why"), 500),
        (KeyRefusedError("wrong"), 403),
        (KeyRequiredError("none"), 400),
    ],
)
def test_weblate_is_silenced_only_by_lasting_faults(error: PairwayError, status: int) -> None:
    assert rendered(error, "Weblate/5.14.3")[0] == status


def test_retry_after_is_kept() -> None:
    assert rendered(OverloadedError("full", retry_after=1.2))[2] == "2"
    assert rendered(missing("q"))[2] is None


KEY = "pw_0123456789ab_" + 32 * "x"
EMPTY: list[Any] = [None, "", [], 0, False, {}]
NO_NUMBERS: list[Any] = ["two", [], [1], {}, "9" * 5000, "1.5"]
ASKED: dict[str, object] = {"q": "Hello", "source": "en", "target": "de"}


def question(**changes: object) -> Question:
    return read_question(Fields({**ASKED, **changes}))


def test_defaults() -> None:
    expected = Question(["Hello"], False, "en", "en", "de", TextFormat.TEXT, 0)
    assert question() == question(format=None, alternatives=None) == question(format="", alternatives="") == expected
    assert question(q=["a", ""])[:2] == (["a", ""], True)
    assert question(source="AUTO", target="ZT")[2:5] == ("auto", "AUTO", "zh-Hant")


@pytest.mark.parametrize(
    ("value", "number"), [(0, 0), (3, 3), ("2", 2), (" 1 ", 1), (-7, 0), ("-1", 0), (2.0, 2), (True, 1)]
)
def test_alternatives_are_a_number_or_its_text(value: object, number: int) -> None:
    assert question(alternatives=value).alternatives == number


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        *(({"q": empty}, "Invalid request: missing q parameter") for empty in EMPTY),
        *(({name: ""}, f"Invalid request: missing {name} parameter") for name in ("source", "target")),
        ({"q": 1}, "Invalid request: q parameter must be a string or a list of strings"),
        ({"q": ["a", None]}, "Invalid request: q parameter must be a string or a list of strings"),
        ({"q": {"a": 1}}, "Invalid request: q parameter must be a string or a list of strings"),
        ({"source": ["en"]}, "['en'] is not supported"),
        ({"target": 7}, "7 is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"format": ["html"]}, "['html'] format is not supported"),
        *(({"alternatives": value}, "Invalid request: alternatives parameter is not a number") for value in NO_NUMBERS),
        ({"alternatives": 4}, "Invalid request: alternatives parameter must be <= 3"),
        ({"alternatives": "99"}, "Invalid request: alternatives parameter must be <= 3"),
        ({"q": "", "source": "", "target": ""}, "Invalid request: missing q parameter"),
        ({"source": "", "target": ""}, "Invalid request: missing source parameter"),
        ({"alternatives": 4, "target": "zz!"}, "Invalid request: alternatives parameter must be <= 3"),
    ],
)
def test_wrong_fields_are_refused_in_its_words(changes: dict[str, object], text: str) -> None:
    with pytest.raises(RefusalError) as caught:
        question(**changes)
    assert caught.value.detail == text


@pytest.mark.parametrize("changes", [{"target": "zz!"}, {"target": "auto"}, {"source": "x-y"}, {"target": "e" * 999}])
def test_codes_of_no_language_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UnsupportedLanguageError):
        question(**changes)


def test_line_ends_of_forms_are_normalised() -> None:
    text = "a\r\nb\rc\n\r\n"
    assert read_texts(Fields({"q": text}, is_json=False)) == (["a\nb\nc\n\n"], False)
    assert read_texts(Fields({"q": [text, "\r"]}, is_json=False)) == (["a\nb\nc\n\n", "\n"], True)
    assert read_texts(Fields({"q": text})) == ([text], False)


def a_peer(authorization: str | None, query: bytes = b"", content_type: str = "application/json") -> SamplePeer:
    headers = {"content-type": content_type, **({} if authorization is None else {"authorization": authorization})}
    return SamplePeer(headers, query=query)


@pytest.mark.parametrize(
    ("members", "header", "authorization"),
    [
        ({"api_key": "k"}, None, "Bearer k"),
        ({"apiKey": "k"}, None, "Bearer k"),
        ({"api_key": "k", "apiKey": "other"}, None, "Bearer k"),
        ({"api_key": "k"}, "Bearer other", "Bearer k"),
        ({}, "Bearer other", "Bearer other"),
        ({"api_key": None}, None, None),
        ({"api_key": "", "apiKey": ""}, None, None),
        ({"api_key": ["k"]}, None, None),
    ],
)
def test_key_is_a_field_or_the_header(members: dict[str, Any], header: str | None, authorization: str | None) -> None:
    body = json.dumps({"q": "Hello", **members}).encode()
    assert find_authorization(a_peer(header, b"api_key=url"), body) == authorization


@pytest.mark.parametrize("body", [b"", b"--x--\r\n"])
def test_key_is_in_the_query_without_fields(body: bytes) -> None:
    request = a_peer(None, b"q=a&api_key=k", "multipart/form-data; boundary=x")
    assert find_authorization(request, body) == "Bearer k"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic eHl6", "Bearer other", f"Basic {KEY}"])
def test_other_headers_leave_the_key_to_the_body(header: str | None) -> None:
    assert early_authorization(a_peer(header)) is None


def test_key_in_the_header_is_known_early() -> None:
    assert early_authorization(a_peer(f"Bearer {KEY}")) == f"Bearer {KEY}"


@pytest.mark.parametrize("text", ["Hello", 'a "quoted" one', '"target": "de" "api_key": "x"', "}{", ""])
@pytest.mark.parametrize("gap", ["", " ", "\n"])
def test_subtitle_edits_comma_is_inserted(text: str, gap: str) -> None:
    body = f'{{"q": {json.dumps(text)}, "source": "en", "target": "pt-BR"{gap}"api_key": "pw_x" }}'.encode()
    members = {"q": text, "source": "en", "target": "pt-BR", "api_key": "pw_x"}
    assert json_fields(body, BODY, 100).members == members


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "9" * 5000])
def test_impossible_number_of_alternatives_is_refused(number: str) -> None:
    """It was an error of ours, with a stack trace in the log for each."""
    body = f'{{"q": "a", "source": "en", "target": "de", "alternatives": {number}}}'.encode()
    with pytest.raises(BadRequestError):
        json_fields(body, BODY, 100)


@pytest.mark.parametrize("value", [1e300, "9" * 5000, 10**400])
def test_huge_number_of_alternatives_is_refused(value: object) -> None:
    with pytest.raises(RefusalError, match="alternatives parameter"):
        question(alternatives=value)


def test_no_other_body_is_changed() -> None:
    for body in (b'{"target": "de", "api_key": "x"}', b'{"q": "a" "api_key": "x"}', b'{"target": "de" "q": 1', b""):
        assert insert_comma(body) == body


def test_list_has_names_and_sorted_targets() -> None:
    assert list_languages({"de": ["en", "fr"], "en": ["de"]}) == [
        {"code": "de", "name": "German", "targets": ["en", "fr"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    assert list_languages({}) == []


@pytest.mark.parametrize(
    ("served", "codes"),
    [
        ("zh", {"zh", "zh-CN", "zh-Hans"}),
        ("zh-CN", {"zh", "zh-CN", "zh-Hans"}),
        ("zh-Hant", {"zh-Hant", "zh-TW", "zh-HK"}),
        ("zh-TW", {"zh-Hant", "zh-TW", "zh-HK"}),
        ("pt", {"pt", "pt-BR"}),
        ("pt-PT", {"pt", "pt-BR", "pt-PT"}),
        ("no", {"nb", "no"}),
        ("nb", {"nb", "no"}),
        ("he", {"he", "iw"}),
        ("fil", {"fil", "tl"}),
        ("de", {"de"}),
        ("sr-Latn", {"sr-Latn"}),
    ],
)
def test_language_is_listed_under_all_its_codes(served: str, codes: set[str]) -> None:
    assert set(codes_of(served)) == codes
    listed = {str(each["code"]): each["targets"] for each in list_languages({served: ["en"], "en": [served]})}
    assert listed == {code: ["en"] for code in codes} | {"en": sorted(codes)}
    assert all(closeness(parse_code(code, "source"), served) for code in codes), "what is listed is accepted"


def test_two_tags_of_one_language_share_their_targets() -> None:
    listed = {each["code"]: each["targets"] for each in list_languages({"zh": ["en"], "zh-CN": ["de", "zh-TW"]})}
    assert listed.keys() == {"zh", "zh-CN", "zh-Hans"}
    assert all(targets == ["de", "en", "zh-HK", "zh-Hant", "zh-TW"] for targets in listed.values())


def test_no_language_is_its_own_target() -> None:
    listed = list_languages({"pt": ["pt-BR", "en"]})
    assert [each["targets"] for each in listed] == [["en"], ["en"]]


@pytest.mark.parametrize(
    ("tag", "code"),
    [("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh-TW", "zh-Hant"), ("pt-BR", "pt-BR"), ("pt", "pt"), ("de", "de")],
)
def test_detected_language_has_its_code(tag: str, code: str) -> None:
    assert code_of(tag) == code
    assert code in codes_of(tag)


def test_language_of_a_text() -> None:
    assert language_answer(None) == {"confidence": 0.0, "language": "en"}
    assert language_answer(Detected(lang="zh", confidence=0.98765)) == {"confidence": 98.8, "language": "zh-Hans"}
