"""Keys in bodies, and the fields beside them."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.exchange.exchange import RequestExchange
from proxy.exchange.fields import BodyFormat, Fields, json_fields, parse_fields, read_query
from proxy.exchange.key_places import MAX_KEY_BYTES, MAX_TRIES, find_key, has_fields, has_member
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import BadRequestError, InvalidRequestError, TooLargeError
from tests.proxy.exchange.peers import Parts, SamplePeer

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=AbC"
NAMES = ("api_key", "apiKey")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ['"api_key": "no"', "&api_key=no", 'say "api_key', "api_key", "\\", '--AbC\r\nname="api_key"\r\n\r\nno']
)
KEYS = st.text(st.sampled_from('pw_09azAZ é"&=%+'), min_size=1, max_size=20)


@given(text=TEXTS, key=KEYS, name=st.sampled_from(NAMES), is_last=st.booleans(), is_ascii=st.booleans())
@example(text='say "api_key', key="k", name="api_key", is_last=False, is_ascii=True)
def test_key_of_json_is_found(text: str, key: str, name: str, *, is_last: bool, is_ascii: bool) -> None:
    members = {"q": [text, "api_key"], text: text, "source": name}
    with_key = {**members, name: key} if is_last else {name: key, **members}
    expected = with_key.get("api_key") or with_key.get("apiKey")
    if with_key[name] == key:
        assert find_key(JSON, json.dumps(with_key, ensure_ascii=is_ascii).encode(), NAMES) == expected


@given(text=TEXTS, key=KEYS, name=st.sampled_from(NAMES), is_last=st.booleans())
def test_key_of_a_form_is_found(text: str, key: str, name: str, *, is_last: bool) -> None:
    fields = [("q", text), ("x_api_key", "no"), ("source", name)]
    body = urlencode([*fields, (name, key)] if is_last else [(name, key), *fields])
    assert find_key(FORM, body.encode(), NAMES) == parse_qs(body)[name][0]


@given(text=TEXTS.filter(lambda text: "--AbC" not in text), key=KEYS.map(str.strip).filter(bool), quotes=st.booleans())
def test_key_of_a_multipart_form_is_found(text: str, key: str, *, quotes: bool) -> None:
    name = '"api_key"' if quotes else "api_key"
    parts = [('"q"', text), (name, key), ('"source"', "api_key")]
    head = "--AbC\r\nContent-Disposition: form-data; name="
    body = (
        "".join(f"{head}{each}\r\nContent-Type: text/plain\r\n\r\n{value}\r\n" for each, value in parts) + "--AbC--\r\n"
    )
    assert find_key(MULTIPART, body.encode(), NAMES) == key


def test_key_between_delimiters_of_hyphens_is_found() -> None:
    boundary = f"{'-' * 68}b-"
    parts = f'--{boundary}\r\nContent-Disposition: form-data; name="q"\r\n\r\n{"-" * 29_000}\r\n'
    parts += f'--{boundary}\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nk\r\n--{boundary}--\r\n'
    assert find_key(f"multipart/form-data; boundary={boundary}", parts.encode(), NAMES) == "k"
    assert find_key(f"multipart/form-data; boundary={boundary}", f"a preamble\r\n{parts}".encode(), NAMES) == "k"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (JSON, b""),
        (JSON, b'{"api_key": null}'),
        (JSON, b'{"api_key": ["k"], "q": "api_key"}'),
        (JSON, b'{"api_key": "\\x"}'),
        (JSON, b'{"q": "a \\"api_key": "k"}'),
        (JSON, b'{"api_key": "%s"}' % (b"k" * (MAX_KEY_BYTES + 1))),
        (FORM, b"q=api_key=k"),
        (FORM, b"api_key=" + b"k" * (MAX_KEY_BYTES + 1)),
        (FORM, b"api_key"),
        (MULTIPART, b'--x\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nk\r\n--x--'),
        ("multipart/form-data", b'--x\r\nContent-Disposition: form-data; name="api_key"\r\n\r\nk\r\n--x--'),
        (MULTIPART, b'--AbC\r\nContent-Disposition: form-data; name="xapi_key"\r\n\r\nk\r\n--AbC--'),
    ],
)
def test_what_is_no_key_is_not_found(kind: str, body: bytes) -> None:
    assert find_key(kind, body, NAMES) == ""


def test_repeated_key_is_the_last_as_in_json() -> None:
    assert find_key(JSON, b'{"api_key": "a", "api_key": "b"}', NAMES) == "b"
    assert find_key(FORM, b"api_key=a&api_key=b", NAMES) == "b"


def test_search_ends_after_some_tries() -> None:
    decoys = b'"api_key",' * MAX_TRIES
    assert find_key(JSON, b'{"api_key": "k", "q": [' + decoys[:-11] + b"]}", NAMES) == "k"
    assert find_key(JSON, b'{"api_key": "k", "q": [' + decoys[:-1] + b"]}", NAMES) == ""


def test_json_in_a_form_is_json() -> None:
    assert find_key(FORM, b' {"api_key": "k"}', NAMES) == "k"


def test_member_is_a_name_and_no_value() -> None:
    assert has_member(b'{"q" : "a"}', "q")
    assert not has_member(b'{"text": "q", "a": ["q"], "b": "say \\"q\\": no"}', "q")


def test_empty_forms_have_no_fields() -> None:
    assert not has_fields(JSON, b"")
    assert not has_fields(MULTIPART, b"--AbC--\r\n")
    assert has_fields(JSON, b"{}")
    assert has_fields(MULTIPART, b'--AbC\r\nContent-Disposition: form-data; name="q"')


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
