"""Fields of a request: JSON, forms, the query, and what cannot be read."""

from __future__ import annotations

import pytest

from proxy.exchange.exchange import RequestExchange
from proxy.exchange.fields import BodyFormat, Fields, json_fields, parse_fields, read_query
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import BadRequestError, InvalidRequestError, TooLargeError
from tests.proxy.exchange.peers import Parts, SamplePeer

READER = JsonReader(("q", "n", "x"))
FORMAT = BodyFormat(READER)


def test_json_keeps_its_types() -> None:
    assert json_fields(b'{"q": ["a", ""], "n": null, "x": 1}', FORMAT, 100) == Fields(
        {"q": ["a", ""], "n": None, "x": 1}
    )


@pytest.mark.parametrize("body", [b"", b"[]", b'"q"', b"{", b"\xff", b'{"q": NaN}', b"null"])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequestError):
        json_fields(body, FORMAT, 100)


def test_json_of_too_many_values_is_refused() -> None:
    with pytest.raises(TooLargeError):
        json_fields(b'{"q": [%s]}' % b",".join([b"[]"] * 50), FORMAT, 100)


def test_broken_json_is_repaired_once() -> None:
    assert json_fields(
        b'{"q": "a" "n": 1}', BodyFormat(READER, repair=lambda body: body.replace(b'" "', b'", "')), 100
    ).members == {
        "q": "a",
        "n": 1,
    }
    with pytest.raises(BadRequestError):
        json_fields(b"{", BodyFormat(READER, repair=lambda _: b"{{"), 100)
    with pytest.raises(BadRequestError):
        json_fields(b"{", BodyFormat(READER, repair=lambda body: body), 100)


def test_repeated_names_of_a_query_are_a_list() -> None:
    expected = Fields({"q": ["a", "b", "c"], "target": "de"}, is_json=False, in_url=True)
    assert read_query(b"q=a&q=b&q=c&target=de") == expected


async def test_form_without_fields_leaves_the_query() -> None:
    """PHP's curl sends one."""
    peer, parts = SamplePeer({"content-type": "multipart/form-data; boundary=x"}, query=b"q=a"), Parts()
    with RequestExchange(peer, parts.context) as exchange:
        found = await parse_fields(exchange, FORMAT, b"--x--\r\n")
    assert found == Fields({"q": "a"}, is_json=False, in_url=True)


@pytest.mark.parametrize("value", [1, 0, False, ["x"], [], {}])
def test_optional_string_of_another_type_is_refused(value: object) -> None:
    with pytest.raises(InvalidRequestError, match="a: must be a string"):
        Fields({"a": value}).optional_string("a")


def test_optional_string_may_be_missing() -> None:
    fields = Fields({"a": None, "b": "", "c": "x"})
    assert [fields.optional_string(name) for name in "abcd"] == ["", "", "x", ""]


def test_text_of_other_types_is_empty() -> None:
    fields = Fields({"a": None, "b": 1, "c": "x", "d": ["x"]})
    assert [fields.text(name) for name in "abcde"] == ["", "", "x", "", ""]
