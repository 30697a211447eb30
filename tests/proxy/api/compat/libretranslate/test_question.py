"""Fields of a request: types, defaults, the order of refusals, and Subtitle Edit's missing comma."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from proxy.api.compat.fields import Fields, json_fields
from proxy.api.compat.language_codes import UnsupportedLanguageError
from proxy.api.compat.libretranslate.errors import RefusalError
from proxy.api.compat.libretranslate.question import (
    READER,
    Question,
    check_limits,
    early_authorization,
    find_authorization,
    insert_comma,
    read_question,
    read_texts,
)
from shared.protocol.errors import BadRequestError
from shared.protocol.translate_request import Limits, TextFormat

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


def test_limits_are_named_with_size() -> None:
    limits = Limits(body_bytes=99, texts=2, text_chars=3)
    check_limits(limits, ["abc", "abc"])
    for texts, sizes in ((["a"] * 3, "(3) exceeds text limit (2)"), (["a", "abcd"], "(4) exceeds text limit (3)")):
        with pytest.raises(RefusalError) as caught:
            check_limits(limits, texts)
        assert caught.value.detail == f"Invalid request: request {sizes}"


def a_request(authorization: str | None, query: bytes = b"", content_type: str = "application/json") -> Request:
    headers = {} if authorization is None else {"authorization": authorization}
    state = {"headers": {**headers, "content-type": content_type}}
    return Request({"type": "http", "state": state, "query_string": query})


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
    assert find_authorization(a_request(header, b"api_key=url"), body) == authorization


@pytest.mark.parametrize("body", [b"", b"--x--\r\n"])
def test_key_is_in_the_query_without_fields(body: bytes) -> None:
    request = a_request(None, b"q=a&api_key=k", "multipart/form-data; boundary=x")
    assert find_authorization(request, body) == "Bearer k"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Basic eHl6", "Bearer other", f"Basic {KEY}"])
def test_other_headers_leave_the_key_to_the_body(header: str | None) -> None:
    assert early_authorization(a_request(header)) is None


def test_key_in_the_header_is_known_early() -> None:
    assert early_authorization(a_request(f"Bearer {KEY}")) == f"Bearer {KEY}"


@pytest.mark.parametrize("text", ["Hello", 'a "quoted" one', '"target": "de" "api_key": "x"', "}{", ""])
@pytest.mark.parametrize("gap", ["", " ", "\n"])
def test_subtitle_edits_comma_is_inserted(text: str, gap: str) -> None:
    body = f'{{"q": {json.dumps(text)}, "source": "en", "target": "pt-BR"{gap}"api_key": "pw_x" }}'.encode()
    members = {"q": text, "source": "en", "target": "pt-BR", "api_key": "pw_x"}
    assert json_fields(body, READER, 100, insert_comma).members == members


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "9" * 5000])
def test_impossible_number_of_alternatives_is_refused(number: str) -> None:
    """It was an error of ours, with a stack trace in the log for each."""
    body = f'{{"q": "a", "source": "en", "target": "de", "alternatives": {number}}}'.encode()
    with pytest.raises(BadRequestError):
        json_fields(body, READER, 100, insert_comma)


@pytest.mark.parametrize("value", [1e300, "9" * 5000, 10**400])
def test_huge_number_of_alternatives_is_refused(value: object) -> None:
    with pytest.raises(RefusalError, match="alternatives parameter"):
        question(alternatives=value)


def test_no_other_body_is_changed() -> None:
    for body in (b'{"target": "de", "api_key": "x"}', b'{"q": "a" "api_key": "x"}', b'{"target": "de" "q": 1', b""):
        assert insert_comma(body) == body
