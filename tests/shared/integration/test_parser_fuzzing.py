"""Parsers that face bytes of strangers: whatever comes is read or refused by an error of ours, and nothing else happens."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from proxy.urls import replica_url
from shared.http.problems import problem_response
from shared.languages import canonical_tag
from shared.parsing.request_parser import parse_translate_request
from shared.protocol.deadline import Deadline
from shared.protocol.errors import BadRequestError, PairwayError
from shared.protocol.headers import authenticate
from shared.protocol.priority import Priority
from shared.protocol.sse_format import BrokenStreamError, Event, EventReader
from shared.protocol.translate_request import Limits, TranslateRequest

LIMITS = Limits(body_bytes=100_000, texts=16, text_chars=1000)
TOKEN = SecretStr("a-token-that-is-long-enough")
# How deep the reader of JSON (pydantic-core) goes, the object itself included.
DEPTH = 201

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from([*TranslateRequest.model_fields, "glossary", "", "\x00", "text\ud800"])
requests = st.dictionaries(fields, json_values | st.sampled_from(["en", "de", "auto", "html", ["a"], {"a": "b"}]))


def read(body: bytes) -> None:
    """Read a request, or have it refused by an error that a client may see."""
    error = None
    try:
        parse_translate_request(body, LIMITS)
    except PairwayError as caught:
        error = caught
    if error is not None:
        assert 400 <= error.http_status < 500
        assert problem_response(error, "id").body, "it can be written"


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    read(body)


@given(requests, st.booleans())
def test_any_json_is_read_or_refused(value: dict[str, Any], ascii_: bool) -> None:
    read(json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "surrogatepass"))


@given(requests, st.data())
def test_mutated_json_is_read_or_refused(value: dict[str, Any], data: st.DataObject) -> None:
    body = bytearray(json.dumps({"text": "Hello", "source_lang": "en", "target_lang": "de", **value}).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    read(bytes(body[: data.draw(st.integers(0, len(body)))]))


def nested(depth: int) -> bytes:
    """Return a request with a field of that depth; the object itself is one level."""
    return b'{"text": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b', "source_lang": "en", "target_lang": "de"}'


@pytest.mark.parametrize("depth", [DEPTH + 1, 4_000])
def test_json_above_the_depth_limit_is_refused(depth: int) -> None:
    with pytest.raises(BadRequestError, match="recursion limit"):
        parse_translate_request(nested(depth), LIMITS)


def test_json_at_the_depth_limit_is_read() -> None:
    with pytest.raises(PairwayError) as caught:
        parse_translate_request(nested(DEPTH - 5), LIMITS)
    assert caught.value.code == "invalid-request"


@pytest.mark.parametrize(
    "text",
    [
        "1" * 4000,
        "1e400",
        "-" + "9" * 5000,
        "1." + "0" * 5000,
        "NaN",
        "Infinity",
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\u0000"',
        '"a\\u0000b"',
        '"\\uD83D\\uDE00"',
        '{"$ref": "#"}',
        '{"__proto__": {}}',
    ],
)
def test_odd_values_are_read_or_refused(text: str) -> None:
    for name in ("text", "source_lang", "target_lang", "terms", "do_not_translate", "pivot", "unknown"):
        members = {"text": '"x"', "source_lang": '"en"', "target_lang": '"de"', name: text}
        read(("{" + ",".join(f'"{key}": {value}' for key, value in members.items()) + "}").encode())


header_values = st.text(alphabet=st.characters(max_codepoint=255), max_size=60)


@given(header_values)
def test_any_headers_are_read_or_refused(value: str) -> None:
    with suppress(PairwayError):
        deadline = Deadline.from_header(value, 30, lambda: 0.0)
        assert 0 < deadline.remaining() <= 30
        assert math.isfinite(deadline.seconds)
    with suppress(PairwayError):
        assert Priority.from_header(value) in Priority
    with suppress(PairwayError):
        authenticate(TOKEN, value, subject="Calls", owner="the fleet's")
        assert value.lower().startswith("bearer ")
        assert value[7:].strip() == TOKEN.get_secret_value()


@given(st.text(max_size=80))
def test_any_language_tag_is_canonical_or_refused(value: str) -> None:
    try:
        tag = canonical_tag(value)
    except ValueError:
        return
    assert canonical_tag(tag) == tag


@given(st.text(max_size=80) | st.from_regex(r"https?://[^ ]{0,60}", fullmatch=True))
def test_any_replica_url_is_read_or_refused(value: str) -> None:
    try:
        url = replica_url(value)
    except ValueError:
        return
    assert replica_url(url) == url
    assert url.isascii()
    assert url.isprintable()


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"data: x\n", b"\n", b"event: delta\r\n", b"\r\n", b":"])))
def test_any_event_stream_is_read_or_refused(parts: list[bytes]) -> None:
    """However a stream is cut, the same events are read; nothing is held without a bound."""
    whole = _events(b"".join(parts))
    assert _events(*parts) == whole


def _events(*parts: bytes) -> list[Event] | None:
    reader = EventReader(2000)
    found: list[Event] = []
    try:
        for part in parts:
            found.extend(reader.feed(part))
    except BrokenStreamError:
        return None
    return found
