"""What a replica's refusals mean, by the problem's code, not the status alone; streamed answers."""

from __future__ import annotations

import asyncio

import pytest

from proxy.upstream.response_classifier import (
    MAX_PROBLEM_BYTES,
    AttemptOutcome,
    BrokenAnswerError,
    ReplicaResponse,
    classify,
    most_useful_error,
)
from proxy.upstream.stream_reader import StreamReader
from shared.protocol.answers import Problem
from shared.protocol.deadline import Deadline
from shared.protocol.errors import OverloadedError, PairUnavailableError, ReplicaFailedError
from tests.proxy.samples import pair
from tests.proxy.upstream.callers import EVENTS, RESULT, Callers, chunk, delta
from tests.proxy.upstream.wire_server import Peer, answering, ending, wire_server
from tests.support.waiting import wait_until

LEFT = Deadline.after(10, lambda: 0.0)


def problem(code: str, status: int) -> Problem:
    return Problem(type="t", title="t", status=status, code=code, detail="d")


@pytest.mark.parametrize(
    ("status", "code", "outcome", "elsewhere", "error_code"),
    [
        (400, "bad-request", AttemptOutcome.ANSWERED, False, "bad-request"),
        (413, "too-large", AttemptOutcome.ANSWERED, False, "too-large"),
        (422, "invalid-request", AttemptOutcome.ANSWERED, False, "invalid-request"),
        (502, "unusable-output", AttemptOutcome.ANSWERED, False, "unusable-output"),
        (405, "method-not-allowed", AttemptOutcome.ANSWERED, True, "replica-failed"),
        (404, "unknown-pair", AttemptOutcome.REFUSED, True, "pair-unavailable"),
        (503, "pair-unavailable", AttemptOutcome.REFUSED, True, "pair-unavailable"),
        (503, "overloaded", AttemptOutcome.FULL, True, "overloaded"),
        (429, "rate-limited", AttemptOutcome.FULL, True, "overloaded"),
        (504, "deadline-exceeded", AttemptOutcome.FAILED, True, "deadline-exceeded"),
        (500, "internal", AttemptOutcome.FAILED, True, "replica-failed"),
        (502, "replica-failed", AttemptOutcome.FAILED, True, "replica-failed"),
        (401, "key-required", AttemptOutcome.FAILED, True, "replica-failed"),
        (403, "key-refused", AttemptOutcome.FAILED, True, "replica-failed"),
        (401, None, AttemptOutcome.FAILED, True, "replica-failed"),
        (404, None, AttemptOutcome.ANSWERED, True, "replica-failed"),
        (503, None, AttemptOutcome.FAILED, True, "replica-failed"),
    ],
)
def test_classify_uses_problem_code(
    status: int, code: str | None, outcome: AttemptOutcome, elsewhere: bool, error_code: str
) -> None:
    refusal = classify(pair("en>de"), status, problem(code, status) if code else None, None, LEFT)
    assert (refusal.outcome, refusal.elsewhere, refusal.error.code) == (outcome, elsewhere, error_code)


@pytest.mark.parametrize(
    ("reason", "outcome", "why"),
    [
        ("full", AttemptOutcome.FULL, "Every replica for this pair is full."),
        ("late", AttemptOutcome.ANSWERED, "d"),
        ("memory", AttemptOutcome.ANSWERED, "d"),
    ],
)
def test_refusal_of_one_request_says_nothing_about_the_pair(reason: str, outcome: AttemptOutcome, why: str) -> None:
    refused = Problem.model_validate({**problem("overloaded", 503).model_dump(), "reason": reason})
    refusal = classify(pair("en>de"), 503, refused, 2.0, LEFT)
    assert (refusal.outcome, refusal.error.detail, refusal.error.retry_after) == (outcome, why, 2.0)
    assert refusal.error.facts == {"reason": reason}


def test_classify_bounds_retry_after_of_full_replica() -> None:
    refusal = classify(pair("en>de"), 503, problem("overloaded", 503), 7.0, LEFT)
    assert refusal.error.retry_after == 7.0
    endless = classify(pair("en>de"), 503, problem("overloaded", 503), 86_400.0, LEFT)
    assert endless.error.retry_after == 60.0


def test_classify_excuses_replica_after_deadline() -> None:
    over = Deadline.after(0, lambda: 0.0)
    refusal = classify(pair("en>de"), 504, problem("deadline-exceeded", 504), None, over)
    assert (refusal.outcome, refusal.elsewhere) == (AttemptOutcome.NONE, False)


def test_most_useful_error_prefers_temporary_ones() -> None:
    failed, gone = ReplicaFailedError("x"), PairUnavailableError("en-de", "x", retry_after=1)
    full = OverloadedError("x", retry_after=1)
    assert most_useful_error([failed, gone, full]) is full
    assert most_useful_error([failed, gone]) is gone
    assert most_useful_error([failed]) is failed
    sooner = OverloadedError("x", retry_after=0.5)
    assert most_useful_error([full, sooner]) is sooner


@pytest.mark.parametrize("bytes_more", [0, 1])
def test_long_problem_is_none(bytes_more: int) -> None:
    start = problem("overloaded", 503).model_dump_json().encode().removesuffix(b"}") + b',"x":"'
    body = start.ljust(MAX_PROBLEM_BYTES - 2 + bytes_more, b"a") + b'"}'
    assert (ReplicaResponse(503, body).problem is None) is bool(bytes_more)


class Deltas(list[tuple[int, str]]):
    """What a reader passed on."""

    def reader(self) -> StreamReader:
        return StreamReader(lambda index, text: self.append((index, text)))


async def test_stream_is_passed_on_as_it_comes(callers: Callers) -> None:
    deltas, ready = Deltas(), asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(EVENTS, delta(0, "a"))
            await ready.wait()
            await peer.send(delta(1, "b"), chunk(RESULT) + b"0\r\n\r\n")

    async with wire_server(script) as server:
        caller = callers(server.url)
        task = asyncio.ensure_future(caller.begin(reader=deltas.reader()))
        await wait_until(lambda: deltas == [(0, "a")], 5, "the first delta is there")
        ready.set()
        response = await task
        assert (response.status, response.body) == (200, b"{}")
        assert deltas == [(0, "a"), (1, "b")]
        assert (await caller.begin(reader=Deltas().reader())).status == 200
        assert server.connections == 1


@pytest.mark.parametrize("last", [b"0\r\n\r\n", b"", b"zz", chunk(b"event: error\ndata: 7\n\n")])
async def test_stream_without_result_is_broken(callers: Callers, last: bytes) -> None:
    deltas = Deltas()
    async with wire_server(ending(EVENTS, delta(0, "a"), last)) as server:
        with pytest.raises(BrokenAnswerError):
            await callers(server.url).begin(reader=deltas.reader())
    assert deltas == [(0, "a")]


async def test_result_counts_whatever_comes_after(callers: Callers) -> None:
    async with wire_server(answering(EVENTS, delta(0, "a"), chunk(RESULT) + b"nonsense")) as server:
        caller = callers(server.url)
        assert (await caller.begin(reader=Deltas().reader())).body == b"{}"
        assert not caller.endpoint.idle


async def test_error_of_the_callback_ends_the_stream(callers: Callers) -> None:
    def refuse(index: int, text: str) -> None:
        raise LookupError(text, index)

    async with wire_server(answering(EVENTS, delta(0, "a"))) as server:
        with pytest.raises(LookupError):
            await callers(server.url).begin(reader=StreamReader(refuse))
        await wait_until(lambda: server.closed_by_client == 1, 5, "the connection was closed")


async def test_reader_gets_an_answer_that_does_not_stream(callers: Callers) -> None:
    body = b'{"translation": "x", "source_lang": "en", "target_lang": "de", "model": null, "route": []}'
    for status, got in ((200, [(0, "x")]), (503, [])):
        deltas = Deltas()
        answer = b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body)
        async with wire_server(answering(answer)) as server:
            assert (await callers(server.url).begin(reader=deltas.reader())).body == body
        assert deltas == got
