"""JSON of strangers: known members as they are, unknown ones unbuilt, few values, no infinite numbers."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing.json_reader import (
    JsonReader,
    NoJsonError,
    NoObjectError,
    check_values,
    refuse_repeated_names,
)
from shared.protocol.answers import Translation, Translations
from shared.protocol.errors import BadRequestError, PairwayError, TooLargeError
from shared.protocol.sse_format import Delta

MOST = 100
READER = JsonReader(("a", "b"))
SCALARS: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.text('",:[]{}\\a\u00e4\u2028', max_size=9)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('"\\,:{', max_size=3), inner, max_size=4),
)


def count_of(value: object) -> int:
    """Return how many names and values are inside a value."""
    if isinstance(value, dict):
        return sum(2 + count_of(each) for each in cast("dict[str, object]", value).values())
    return sum(1 + count_of(each) for each in cast("list[object]", value)) if isinstance(value, list) else 0


@given(st.dictionaries(st.sampled_from("abcd"), VALUES))
def test_known_members_are_as_json_has_them(value: dict[str, object]) -> None:
    members = READER.read(json.dumps(value).encode(), 10_000)
    assert members.keys() == value.keys()
    assert {name: members[name] for name in members.keys() & {"a", "b"}} == {
        name: each for name, each in value.items() if name in {"a", "b"}
    }
    assert JsonReader().read(json.dumps(value).encode(), 10_000) == value


@pytest.mark.parametrize("value", ["[[1]]", '{"b": 1}', "0", "false", '"text"', "[]", "{}", "1e400", "NaN", "9" * 4000])
def test_unknown_members_are_not_built(value: str) -> None:
    assert READER.read(f'{{"x": {value}, "a": 1}}'.encode(), MOST) == {"x": True, "a": 1}


def test_unknown_members_may_be_empty() -> None:
    assert READER.read(b'{"x": null, "y": ""}', MOST) == {"x": None, "y": ""}


def test_last_of_a_repeated_name_counts() -> None:
    assert READER.read(b'{"a": 1, "x": null, "a": 2, "x": 1, "\\u0061": 3}', MOST) == {"a": 3, "x": True}


@pytest.mark.parametrize(
    "body", [b"", b" ", b"{", b"{}{}", b"\xff", b'{"a": "\\ud800"}', b'{"a": 1}x', b'{"a": %s}' % (b"9" * 5000)]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(NoJsonError, match="The body is not JSON: "):
        READER.read(body, MOST)


@pytest.mark.parametrize("body", [b"[]", b'"a"', b"1", b"null", b"true", b"NaN", b"1e400"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(NoObjectError, match="not an object with a"):
        READER.read(body, MOST, "a")


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "Infinity", "-Infinity", f"{'9' * 400}.5"])
def test_infinite_number_is_refused(number: str) -> None:
    with pytest.raises(BadRequestError, match="infinite or NaN"):
        READER.read(f'{{"a": {number}}}'.encode(), MOST)


@pytest.mark.parametrize("number", ["1e300", "1e-400", "-0.0", "123456789" * 40])
def test_large_number_is_read(number: str) -> None:
    assert READER.read(f'{{"a": {number}}}'.encode(), MOST)["a"] == json.loads(number)


@given(VALUES)
def test_values_are_counted_outside_of_strings(value: object) -> None:
    body = json.dumps({"a": value}).encode()
    # Each value inside has a comma or a bracket before it, each name a brace or a comma, and each object's value a colon.
    most = 2 + 2 * count_of(value)
    check_values(body, most + body.count(b"[") + body.count(b"{"))
    if (count := 2 + count_of(value)) > 2:
        with pytest.raises(TooLargeError):
            check_values(body, count - 2)


@pytest.mark.parametrize("pattern", [b"[]", b"{}", b"1", b'""', b'"a"', b'{"a":1}', b"[" * 90 + b"]" * 90, b"null"])
@pytest.mark.parametrize("count", [200, 200_000])
def test_many_values_are_refused(pattern: bytes, count: int) -> None:
    for body in (b'{"a": [%s]}', b'{"x": [%s]}', b"[%s]", b"[%s", b'{"a": "[", "x": "\\"", "b": [%s]}'):
        with pytest.raises(TooLargeError, match="more than 100 JSON names and values"):
            READER.read(body % b",".join([pattern] * count), MOST)


@pytest.mark.parametrize("text", ["[", "{,:", '"', '\\"[', "\\", "\\\\[[", '\\\\"[,', "[\u00e4"])
def test_texts_may_have_any_signs(text: str) -> None:
    long = text * 1000
    for ascii_ in (True, False):
        assert READER.read(json.dumps({"a": long, "b": [long] * 9}, ensure_ascii=ascii_).encode(), MOST)["a"] == long


def test_what_follows_a_fault_is_not_counted() -> None:
    """The parser stops there, so it builds nothing of it."""
    for body in (b'{"a": x, "b": "' + b"[" * 500, b'{"a": \\"' + b"[" * 10):
        with pytest.raises(PairwayError):
            READER.read(body, MOST)


def test_repeated_names_are_refused_at_any_depth() -> None:
    for body in (b'{"a": 1, "a": 1}', b'{"x": [{"a": 1, "\\u0061": 2}]}'):
        with pytest.raises(BadRequestError, match="a name occurs twice"):
            refuse_repeated_names(body)
    refuse_repeated_names(b'{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}], "c": 1e999}')


def test_words_of_texts_do_not_stay_in_the_parser() -> None:
    """Its cache would give the same object again."""
    record = '{"translation": "word", "source_lang": null, "target_lang": "de", "model": null, "route": []}'
    whole = f'{{"results": [{record}]}}'
    words = [
        *(READER.read(b'{"a": "word"}', MOST)["a"] for _ in range(2)),
        *(Translation.model_validate_json(record).translation for _ in range(2)),
        *(Translations.model_validate_json(whole).results[0].translation for _ in range(2)),
        *(Delta.model_validate_json('{"index": 0, "text": "word"}').text for _ in range(2)),
    ]
    assert words == ["word"] * len(words)
    assert len(set(map(id, words))) == len(words)
