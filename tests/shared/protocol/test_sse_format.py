"""Events on the wire: any text survives, however the bytes are cut; who may have events."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.protocol import sse_format
from shared.protocol.sse_format import BrokenStreamError, Event, EventReader

# Everything that str.splitlines would split at, and more.
ODD = "\n\r\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff\U000f0000\U0001f600: data"
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50) | st.text(ODD, max_size=20)


def read(stream: bytes, cuts: list[int] | None = None, limit: int = 1 << 20) -> list[Event]:
    reader = EventReader(limit)
    found: list[Event] = []
    start = 0
    for cut in [*sorted(cuts or []), len(stream)]:
        found += reader.feed(stream[start:cut])
        start = max(start, cut)
    return found


@given(st.lists(st.tuples(st.integers(0, 200), TEXTS), max_size=6), st.data())
def test_any_text_survives_any_cut_of_the_bytes(parts: list[tuple[int, str]], data: st.DataObject) -> None:
    stream = b"".join(sse_format.encode_delta(index, text) + sse_format.KEEP_ALIVE for index, text in parts)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    found = read(stream, cuts)
    assert [event.name for event in found] == ["delta"] * len(parts)
    deltas = [sse_format.Delta.model_validate_json(event.data) for event in found]
    assert [(delta.index, delta.text) for delta in deltas] == parts


def test_encode_writes_one_line_for_any_line_ends() -> None:
    assert sse_format.encode_delta(0, ODD).count(b"\n") == 3


@given(TEXTS)
def test_encode_survives_python_splitlines(text: str) -> None:
    whole = json.dumps({"translation": text}, ensure_ascii=False).encode()
    for event in (sse_format.encode_delta(0, text), sse_format.encode("result", whole)):
        _, data, end = event.decode().splitlines()
        assert end == ""
        assert text in json.loads(data.removeprefix("data: ")).values()


@given(st.recursive(TEXTS | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=8))
def test_encode_joins_json_lines(value: object) -> None:
    spread = json.dumps(value, indent=2).replace("\n", "\r\n").encode()
    (event,) = read(sse_format.encode("result", spread))
    assert json.loads(event.data) == value


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_reader_distinguishes_fields_and_comments(end: bytes) -> None:
    lines = [b": comment", b"", b"event: delta", b"id: 7", b"data: {", b"data:1}", b"retry: 5", b"", b"data: bare", b""]
    assert read(end.join(lines) + end) == [Event("delta", b"{\n1}"), Event("message", b"bare")]


@pytest.mark.parametrize(
    "stream", [b"", b"\n\n\n", b": x\n\n", b"event: delta\n\n", b"data: no end", b"data: no end\n"]
)
def test_reader_skips_events_without_data_or_end(stream: bytes) -> None:
    assert read(stream) == []


def test_event_name_is_reset_after_each_event() -> None:
    assert [event.name for event in read(b"event: error\ndata: 1\n\ndata: 2\n\n")] == ["error", "message"]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 200, b"data: 12345678\n" * 20, b"x" * 200, b"event:" + b"y" * 200]
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_event_above_the_limit_is_refused_early(stream: bytes, step: int) -> None:
    with pytest.raises(BrokenStreamError, match="100 bytes"):
        read(stream, list(range(0, len(stream), step)), limit=100)


def test_limit_holds_for_single_events() -> None:
    assert len(read(b"data: 1\n\n" * 1000, limit=20)) == 1000


@pytest.mark.parametrize("step", [1, 65_536])
def test_reader_work_is_linear(step: int) -> None:
    stream = b"event: result\ndata: " + b"x" * (300_000 if step == 1 else 30_000_000) + b"\n\n"
    reader = EventReader(1 << 26)
    started = time.process_time()
    found = [event for at in range(0, len(stream), step) for event in reader.feed(stream[at : at + step])]
    assert time.process_time() - started < 3
    assert len(found) == 1


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ([], False),
        ([""], False),
        (["*/*"], False),
        (["text/*"], False),
        (["application/json"], False),
        (["text/html, application/xhtml+xml, */*;q=0.8"], False),
        (["text/event-stream"], True),
        (["Text/Event-Stream"], True),
        (["text/event-stream;charset=utf-8"], True),
        (["text/event-stream, */*"], True),
        (["*/*, text/event-stream"], True),
        (["application/json, text/event-stream"], True),
        (["application/json", "text/event-stream"], True),
        (["text/event-stream;q=0"], False),
        (["text/event-stream; q=0.0, */*"], False),
        (["text/event-stream;q=0.5, application/json"], False),
        (["text/event-stream;q=0.5, */*"], False),
        (["text/event-stream;q=0.5, application/*;q=0.4"], True),
        (["text/event-stream;q=0.5, application/json;q=0.4, */*"], True),
        (["text/event-stream;q=0.5, application/json;q=0, */*"], True),
        (["text/event-stream;q=high"], True),
        (["text/event-stream;q=nan"], True),
        (["text/event-stream;q=-1"], True),
        (["text/event-streams"], False),
        ([";q=1,,;,text/event-stream"], True),
    ],
)
def test_accepts_events_compares_with_json(accept: list[str], wanted: bool) -> None:
    assert sse_format.accepts_events(",".join(accept)) is wanted


@given(st.lists(st.text(max_size=40), max_size=3))
def test_accepts_events_takes_any_header(accept: list[str]) -> None:
    assert sse_format.accepts_events(",".join(accept)) in {True, False}


def test_sink_passes_on_parts_under_their_own_numbers() -> None:
    heard: list[tuple[int, str]] = []
    sink = sse_format.DeltaSink(lambda index, text: heard.append((index, text)))
    part = sink.renumbered([3, 1])
    part(0, "")
    assert (heard, part.started, sink.started) == ([], False, False)
    part(1, "a")
    part(0, "b")
    assert (heard, part.started, sink.started) == ([(1, "a"), (3, "b")], True, True)
    assert not sink.renumbered([0]).started, "each part by itself"


@pytest.mark.parametrize("index", [-1, 2])
def test_sink_refuses_parts_of_texts_that_were_not_sent(index: int) -> None:
    part = sse_format.DeltaSink(lambda _index, _text: None).renumbered([3, 1])
    with pytest.raises(sse_format.BrokenStreamError, match="there are 2"):
        part(index, "x")
    assert not part.started


def test_sink_reports_progress_of_empty_parts_too() -> None:
    sink, progress = sse_format.DeltaSink(lambda _index, _text: None), list[None]()
    sink.on_progress = lambda: progress.append(None)
    sink(0, "")
    sink(0, "a")
    assert len(progress) == 2
