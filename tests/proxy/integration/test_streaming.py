"""POST /translate with Accept: text/event-stream on the real proxy: what comes when, and how each fault ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from proxy.balancing.outlier_detection import find_suspects
from tests.proxy.integration.inputs import BAD_INPUT, ENGLISH, FRENCH, GERMAN
from tests.proxy.proxies import RunningProxy, fleet_of, proxy
from tests.support.event_streams import ACCEPT_EVENTS, StreamedAnswer, open_stream, request_stream
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.waiting import again_where_paused, wait_until

Fakes = tuple[FakeReplica, FakeReplica]


@pytest.fixture(scope="module")
async def fakes() -> AsyncGenerator[Fakes]:
    one, two = (FakeReplica("en>de", "fr>de", "de>en", name=name) for name in ("one", "two"))
    one.canary = two.canary = "Where is the station?"
    async with replicas(one, two):
        yield one, two


@pytest.fixture(scope="module")
async def running(fakes: Fakes) -> AsyncGenerator[RunningProxy]:
    async with proxy(fakes, max_texts=5, max_text_chars=1000, max_body_bytes=8192) as one:
        yield one


@pytest.fixture(autouse=True)
def fresh(fakes: Fakes) -> None:
    for fake in fakes:
        fake.requests.clear()
        fake.translate = Script()
        fake.foreign_load = 0


async def ask(running: RunningProxy, text: object, source: str = "en", **headers: str) -> StreamedAnswer:
    return await request_stream(running.client, {"text": text, "source_lang": source, "target_lang": "de"}, **headers)


def request_count(fakes: Fakes) -> int:
    return sum(len(fake.requests) for fake in fakes)


def scripted(fakes: Fakes, **changes: Any) -> None:
    for fake in fakes:
        fake.translate = Script(**changes)


@pytest.mark.parametrize(("sent", "status", "code", "detail"), [pytest.param(*row[1:], id=row[0]) for row in BAD_INPUT])
async def test_bad_input_is_plain_problem(
    running: RunningProxy, sent: bytes, status: int, code: str, detail: str
) -> None:
    response = await running.client.post("/translate", content=sent, headers=ACCEPT_EVENTS)
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"
    assert detail or problem["detail"]


async def trusted(running: RunningProxy) -> None:
    """Wait until nothing that another test did speaks against a replica."""
    stats, registry = running.context.local_stats, running.context.fleet.registry
    await wait_until(lambda: not list(find_suspects(stats, registry.snapshot)), 5, "no suspects")


@pytest.mark.parametrize("breaks", ["reset", "end", "error"])
async def test_stream_broken_before_first_delta_fails_over(running: RunningProxy, fakes: Fakes, breaks: Any) -> None:
    one, two = fakes
    one.translate = Script(breaks_after=0, breaks_with=breaks)
    two.foreign_load = 50
    await running.sweeps(2)
    await trusted(running)
    running.holds_for_quick(one, two)
    heard = await ask(running, "Hello there")
    assert heard.result["translation"] == "[en>de by two] Hello there"
    assert (len(one.requests), len(two.requests)) == (1, 1)


@pytest.mark.parametrize("source", ["en", "auto"])
@pytest.mark.parametrize("breaks", ["reset", "end", "error"])
async def test_stream_broken_after_delta_ends_with_error_event(
    running: RunningProxy, fakes: Fakes, breaks: Any, source: str
) -> None:
    scripted(fakes, breaks_after=1, breaks_with=breaks)
    heard = await ask(running, [ENGLISH, ENGLISH], source)
    assert (heard.status, heard.names[-1]) == (200, "error")
    assert heard.last[1]["code"] == "replica-failed"
    assert heard.last[1]["request_id"] == heard.headers["x-request-id"]
    assert request_count(fakes) == 1


async def test_stream_broken_everywhere_before_delta_is_502(running: RunningProxy, fakes: Fakes) -> None:
    scripted(fakes, breaks_after=0)
    heard = await ask(running, "Hello")
    assert (heard.status, heard.problem["code"]) == (502, "replica-failed")
    assert request_count(fakes) == 2


@pytest.mark.parametrize("code", ["too-large", "unusable-output"])
async def test_final_problem_is_relayed_as_problem_and_event(running: RunningProxy, fakes: Fakes, code: str) -> None:
    scripted(fakes, problem=(413, code))
    heard = await ask(running, "Hello")
    assert (heard.status, heard.problem["code"]) == (413, code)
    scripted(fakes, problem=(413, code), breaks_after=1, breaks_with="error")
    heard = await ask(running, "Hello")
    assert (heard.status, heard.names, heard.last[1]["code"]) == (200, ["delta", "error"], code)
    assert request_count(fakes) == 2


async def test_premature_deadline_in_stream_is_failure(running: RunningProxy, fakes: Fakes) -> None:
    scripted(fakes, problem=(504, "deadline-exceeded"), breaks_after=1, breaks_with="error")
    heard = await ask(running, "Hello")
    assert (heard.names[-1], heard.last[1]["code"]) == ("error", "replica-failed")


async def test_silence_after_delta_ends_at_deadline(running: RunningProxy, fakes: Fakes) -> None:
    scripted(fakes, breaks_after=1, breaks_with="hang")

    async def is_cut_off() -> None:
        aborts = sum(fake.aborts for fake in fakes)
        heard = await ask(running, "Hello", x_timeout_ms="300")
        assert (heard.names, heard.last[1]["code"]) == (["delta", "error"], "deadline-exceeded")
        await wait_until(lambda: sum(fake.aborts for fake in fakes) == aborts + 1, 3, "the replica saw the end")

    await again_where_paused(is_cut_off)


async def test_silence_before_first_delta_is_504(running: RunningProxy, fakes: Fakes) -> None:
    scripted(fakes, breaks_after=0, breaks_with="hang")
    heard = await ask(running, "Hello", x_timeout_ms="300")
    assert (heard.status, heard.problem["code"]) == (504, "deadline-exceeded")


RAW_STREAMS = {
    "no event": b"hello\n\n",
    "an unreadable delta": b"event: delta\ndata: {\n\n",
    "a delta of another shape": b'event: delta\ndata: {"index": "0", "text": "x"}\n\n',
    "a negative index": b'event: delta\ndata: {"index": -1, "text": "x"}\n\n',
    "a delta of a text that was not sent": b'event: delta\ndata: {"index": 1, "text": "x"}\n\n',
    "an unreadable error": b"event: error\ndata: []\n\n",
    "no UTF-8": b"event: delta\ndata: \xff\xff\n\n",
    "a huge event": b"event: delta\ndata: " + b"x" * (65 << 20),
}


@pytest.mark.parametrize("raw", RAW_STREAMS.values(), ids=RAW_STREAMS)
async def test_unreadable_stream_is_502_without_its_content(running: RunningProxy, fakes: Fakes, raw: bytes) -> None:
    scripted(fakes, raw_stream=raw)
    heard = await ask(running, "Hello")
    assert (heard.status, heard.problem["code"]) == (502, "replica-failed")
    assert "xx" not in json.dumps(heard.problem)


async def test_unknown_events_are_skipped(running: RunningProxy, fakes: Fakes) -> None:
    known = (
        b'event: delta\ndata: {"index": 0, "text": "Ha", "new": 1}\n\nevent: result\ndata: {"translation": "Ha"}\n\n'
    )
    scripted(fakes, raw_stream=b"event: progress\ndata: {}\n\nid: 3\n" + known + b"event: delta\ndata: late\n\n")
    assert (await ask(running, "Hello")).result == {"translation": "Ha"}


@pytest.mark.parametrize("text", ["Hello", ["Hello", "there", ""]])
async def test_json_answer_to_stream_request_is_streamed(running: RunningProxy, fakes: Fakes, text: object) -> None:
    scripted(fakes, streams=False)
    heard = await ask(running, text)
    assert request_count(fakes) == 1
    assert heard.result == (await running.translate(text))[1] or heard.deltas


@pytest.mark.parametrize("raw", [b"", b"[]", b"no JSON", b'{"results": 1}'])
async def test_unreadable_json_to_stream_request_is_502(running: RunningProxy, fakes: Fakes, raw: bytes) -> None:
    scripted(fakes, raw=(200, raw))
    heard = await ask(running, "Hello")
    assert (heard.status, heard.problem["code"]) == (502, "replica-failed")


@pytest.mark.parametrize("source", ["en", "auto"])
async def test_client_leaving_stream_cancels_upstream_request(running: RunningProxy, fakes: Fakes, source: str) -> None:
    scripted(fakes, breaks_after=1, breaks_with="hang")
    aborts = sum(fake.aborts for fake in fakes)
    wanted = {"text": ENGLISH, "source_lang": source, "target_lang": "de"}
    async with open_stream(running.serving.port, wanted) as listener:
        await listener.until(b"event: delta")
    await wait_until(lambda: sum(fake.aborts for fake in fakes) == aborts + 1, 3, "the replica saw the end")
    stats, registry = running.context.local_stats, running.context.fleet.registry
    await wait_until(lambda: all(not stats.load(fake.url, registry.snapshot) for fake in fakes), 3, "none in flight")


async def test_stream_is_counted_in_metrics(fakes: Fakes) -> None:
    async with proxy(fakes) as counted:
        assert (await ask(counted, "Hello")).result
        scripted(fakes, breaks_after=1)
        assert (await ask(counted, "Hello")).names[-1] == "error"
        metrics = (await counted.client.get("/metrics")).text
    assert 'pairway_proxy_requests_total{class="ok",outcome="ok",pair="en-de",route="en-de"} 1.0' in metrics
    assert (
        'pairway_proxy_requests_total{class="failed",outcome="replica-failed",pair="en-de",route="en-de"} 1.0'
        in metrics
    )
    assert sum('attempts_total{outcome="broken-answer"' in line for line in metrics.splitlines()) == 1
    assert "pairway_proxy_requests_in_flight 0.0" in metrics


async def test_stream_result_equals_plain_answer(running: RunningProxy, fakes: Fakes) -> None:
    one, two = fakes
    two.name = "one"  # whoever answers, says the same
    try:
        for text in ("Hello", ["Hello", "", "there"], [ENGLISH, GERMAN, FRENCH, "123"], GERMAN, "123", [""]):
            for source in ("en", "auto"):
                if (text, source) == ("Hello", "auto") or (text == ["Hello", "", "there"] and source == "auto"):
                    continue  # too short to tell
                heard = await ask(running, text, source)
                assert heard.result == (await running.translate(text, source))[1]
    finally:
        two.name = "two"
    assert one.requests


async def test_deltas_precede_result(running: RunningProxy, fakes: Fakes) -> None:
    scripted(fakes, breaks_after=3, breaks_with="hang")
    wanted = {"text": ["Hello", "there"], "source_lang": "en", "target_lang": "de"}
    async with open_stream(running.serving.port, wanted) as listener:
        taken = await listener.until(b'"index":1')
        assert b"event: result" not in taken


async def test_language_groups_stream_under_their_own_indices(running: RunningProxy, fakes: Fakes) -> None:
    heard = await ask(running, [FRENCH, GERMAN, ENGLISH, "42", FRENCH], "auto")
    results = heard.result["results"]
    assert [one["source_lang"] for one in results] == ["fr", "de", "en", None, "fr"]
    assert [one.get("detected", {}).get("lang") for one in results] == ["fr", "de", "en", None, "fr"]
    # By their texts: where the machine pauses, a group may be asked for again.
    assert len({str(received.body["text"]) for fake in fakes for received in fake.requests}) == 2
    assert [index for name, data in heard.events if name == "delta" for index in [data["index"]]][:2] == [1, 3]


async def test_broken_group_ends_stream_and_cancels_others(fakes: Fakes) -> None:
    del fakes
    english, french = FakeReplica("en>de", name="english"), FakeReplica("fr>de", name="french")
    async with replicas(english, french), proxy([english, french]) as running:
        english.translate = Script(breaks_after=1, breaks_with="hang")
        released = asyncio.Event()
        french.translate = Script(breaks_after=1, released=released)
        asked = asyncio.create_task(ask(running, [ENGLISH, FRENCH], "auto"))
        await wait_until(lambda: english.requests, 5, "the other group is asked for")
        released.set()
        heard = await asked
        assert (heard.names[-1], heard.last[1]["code"]) == ("error", "replica-failed")
        await wait_until(lambda: english.aborts == 1, 3, "the other group was cancelled")


async def test_unknown_pair_among_detected_texts_is_404(fakes: Fakes) -> None:
    del fakes
    async with fleet_of("en>de", "de>fr", name="one") as (running, one):
        wanted = {"text": ["123", GERMAN, ENGLISH], "source_lang": "auto", "target_lang": "fr", "pivot": False}
        heard = await request_stream(running.client, wanted)
        assert (heard.status, heard.problem["code"]) == (404, "unknown-pair")
        assert one.requests == []


async def test_upstream_connection_is_reused_after_stream(running: RunningProxy, fakes: Fakes) -> None:
    one, two = fakes
    two.pairs = dict.fromkeys(two.pairs, False)
    try:
        await running.sweeps(2)
        assert (await ask(running, "Hello")).result
        taken = one.connections
        for _ in range(3):
            assert (await ask(running, "Hello")).result
        assert one.connections - taken <= 1  # probes have theirs
    finally:
        two.pairs = dict.fromkeys(two.pairs, True)
        await running.sweeps(2)


async def test_started_stream_of_down_replica_waits_for_deadline() -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], probe_timeout=0.2) as running:
        for fake in (one, two):
            fake.translate = Script(breaks_after=1, breaks_with="hang")

        async def is_held() -> None:
            for fake in (one, two):
                fake.requests.clear()
                fake.report.fault = None
                await running.sees(fake, "ready")
            stream = asyncio.create_task(ask(running, "Hello", x_timeout_ms="2500"))
            await wait_until(lambda: one.requests or two.requests, 3, "one has it")
            holder = one if one.requests else two
            holder.report.fault = "hang"
            await running.sees(holder, "down")
            heard = await stream
            assert (heard.names, heard.last[1]["code"]) == (["delta", "error"], "deadline-exceeded")
            assert len(one.requests) + len(two.requests) == 1

        await again_where_paused(is_held)
