"""Events of a stream, in whatever pieces they arrive."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairway.errors import AnswerError, ServerError, StreamCutError
from pairway.event_stream import EventReader

RESULT: dict[str, Any] = {"translation": "Grüße, 世界\u2028", "source_lang": "en", "target_lang": "de", "warnings": []}
DELTAS = [{"index": 0, "text": "Grüße, "}, {"index": 0, "text": "世界\u2028"}]


def event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


STREAM = (
    ": at work\n\n" + "".join(event("delta", each) for each in DELTAS) + event("later", {}) + event("result", RESULT)
)


def reader(*, one: bool = True) -> EventReader:
    return EventReader(one=one, request_id="r1")


@given(st.lists(st.integers(0, len(STREAM.encode())), max_size=8), st.booleans())
def test_stream_may_arrive_in_any_pieces(cuts: list[int], ends_in_crlf: bool) -> None:
    data = (STREAM.replace("\n", "\r\n") if ends_in_crlf else STREAM).encode()
    places = [0, *sorted(cuts), len(data)]
    read = reader()
    deltas = [delta for a, b in pairwise(places) for delta in read.feed(data[a:b])]
    assert "".join(map(str, deltas)) == str(read.result) == RESULT["translation"]


def test_list_has_a_list_as_result() -> None:
    read = reader(one=False)
    read.feed(event("result", {"results": [RESULT, {**RESULT, "translation": None}]}).encode())
    assert [each.text for each in read.result] == [RESULT["translation"], None]


def test_error_event_is_raised_with_its_code() -> None:
    with pytest.raises(ServerError, match="gone") as raised:
        reader().feed(event("error", {"status": 502, "code": "replica-failed", "detail": "gone"}).encode())
    assert (raised.value.code, raised.value.request_id) == ("replica-failed", "r1")


def test_stream_without_result_was_cut() -> None:
    read = reader()
    read.feed(event("delta", DELTAS[0]).encode())
    with pytest.raises(StreamCutError):
        _ = read.result


@pytest.mark.parametrize("data", ["{", "1", "[]", '{"index": 0}'])
def test_event_that_is_not_understood_is_an_error(data: str) -> None:
    with pytest.raises(AnswerError):
        reader().feed(f"event: delta\ndata: {data}\n\n".encode())


def test_endless_event_is_an_error() -> None:
    read, part = reader(), b"x" * (8 << 20)
    for _ in range(8):
        read.feed(part)
    with pytest.raises(AnswerError, match="too long"):
        read.feed(part)
