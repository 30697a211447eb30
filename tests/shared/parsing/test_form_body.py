"""Forms and query strings: names, values, limits, and what cannot be read."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import unquote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.parsing import form_body
from shared.parsing.form_body import MAX_FIELDS, parse_multipart, parse_urlencoded
from shared.protocol.errors import BadRequestError

TYPE = "multipart/form-data; boundary=xx"


def part(name: str, value: str, extra: str = "") -> str:
    return f'--xx\r\nContent-Disposition: form-data; name="{name}"{extra}\r\n\r\n{value}\r\n'


def test_urlencoded_keeps_order_repeats_and_blanks() -> None:
    assert parse_urlencoded(b"q=a+b&q=%C3%A4&target=&x") == [("q", "a b"), ("q", "ä"), ("target", ""), ("x", "")]


@pytest.mark.parametrize("encoded", [b"\xff=1", b"q=%ff", b"&".join([b"q=1"] * (MAX_FIELDS + 1))])
def test_unreadable_urlencoded_is_refused(encoded: bytes) -> None:
    with pytest.raises(BadRequestError):
        parse_urlencoded(encoded)


@given(
    st.lists(
        st.sampled_from([b"a", b"%41", b"%c3%A4", b"%", b"%4", b"%zz", b"+", b"%2B", "\u4f60".encode()]), max_size=40
    ),
    st.integers(3, 9),
)
def test_urlencoded_is_the_same_in_any_slices(parts: list[bytes], size: int) -> None:
    encoded = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(form_body, "SLICE_BYTES", size)
        pairs = parse_urlencoded(b"q=" + encoded)
    assert pairs == [("q", unquote_plus(encoded.decode(), errors="strict"))]


def test_multipart_keeps_order_and_repeats() -> None:
    body = (part("q", "Grüße\r\nzwei") + part("q", "b") + "--xx--\r\n").encode()
    assert parse_multipart(body, TYPE) == [("q", "Grüße\r\nzwei"), ("q", "b")]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (part("q", "a", '; filename="a.txt"') + "--xx--\r\n", TYPE),
        ("".join(part("q", "a") for _ in range(MAX_FIELDS + 1)) + "--xx--\r\n", TYPE),
        (part("q", "a"), "multipart/form-data"),
        ("no form", TYPE),
    ],
)
def test_unreadable_multipart_is_refused(body: str, content_type: str) -> None:
    with pytest.raises(BadRequestError, match="form cannot be read"):
        parse_multipart(body.encode(), content_type)


@pytest.mark.parametrize(
    "charset", ["unicode_escape", "raw_unicode_escape", "utf-7", "utf-16", "punycode", "none", "\0"]
)
def test_multipart_of_another_charset_is_refused(charset: str) -> None:
    body = (part("q", "Hi \\ud800") + "--xx--\r\n").encode()
    with pytest.raises(BadRequestError, match="must be UTF-8"):
        parse_multipart(body, f"{TYPE}; charset={charset}")


def test_multipart_of_other_bytes_is_refused() -> None:
    with pytest.raises(BadRequestError, match="must be UTF-8"):
        parse_multipart((part("q", "für") + "--xx--\r\n").encode("latin-1"), TYPE)


@pytest.mark.parametrize("charset", ["UTF-8", "utf8", '"utf-8"'])
def test_multipart_may_name_its_charset(charset: str) -> None:
    body = (part("q", "für") + "--xx--\r\n").encode()
    assert parse_multipart(body, f"{TYPE}; charset={charset}") == [("q", "für")]


@given(st.binary(max_size=200), st.sampled_from([TYPE, "multipart/form-data; boundary=", "multipart/form-data"]))
def test_any_bytes_are_a_form_or_refused(body: bytes, content_type: str) -> None:
    for parse in (
        lambda: parse_multipart(b"--xx\r\n" + body, content_type),
        lambda: parse_multipart(body, content_type),
    ):
        try:
            pairs = parse()
        except BadRequestError:
            continue
        assert all(isinstance(each, str) for pair in pairs for each in pair)
    with suppress(BadRequestError):
        parse_urlencoded(body)
