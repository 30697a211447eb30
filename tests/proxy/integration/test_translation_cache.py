"""The cache of translations on the real proxy: what comes from it, what must never, and what DeepL's client costs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from proxy.call import RequestCost, TranslationCall
from proxy.keys.caller import Caller
from proxy.translation.service import AnswerSource
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.proxies import RunningProxy, fleet_fixtures, proxy
from tests.support.event_streams import request_stream
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.waiting import again_where_paused, wait_until

MIB = 1024 * 1024


fake, running, fresh = fleet_fixtures("en>de", "fr>en", name="one", cache_bytes=MIB)


@pytest.fixture(scope="module")
async def plain(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
    """A proxy without a cache."""
    async with proxy([fake]) as one:
        yield one


async def ask(running: RunningProxy, text: object, **more: Any) -> tuple[str | None, dict[str, Any]]:
    """Return where a good answer came from, and the answer."""
    body = {"text": text, "source_lang": "en", "target_lang": "de", **more}
    response = await running.client.post("/translate", json=body)
    assert response.status_code == 200, response.text
    return response.headers.get("x-cache"), response.json()


def requested_texts(fake: FakeReplica) -> list[object]:
    return [received.body["text"] for received in fake.requests]


async def metric(running: RunningProxy, name: str) -> float:
    lines = (await running.client.get("/metrics")).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(f"pairway_proxy_{name}"))


async def all_in_flight(running: RunningProxy, count: int) -> None:
    """Wait until the proxy has so many requests in flight."""

    async def all_there() -> bool:
        return await metric(running, "requests_in_flight") == count

    await wait_until(all_there, 5, f"{count} requests are there")


async def test_repeated_text_is_translated_once(running: RunningProxy, fake: FakeReplica) -> None:
    first = await ask(running, "once")
    again = await ask(running, "once")
    assert (first[0], again[0]) == ("miss", "hit")
    assert first[1] == again[1]
    assert requested_texts(fake) == ["once"]


async def test_list_sends_only_the_texts_not_in_the_cache(running: RunningProxy, fake: FakeReplica) -> None:
    await ask(running, "l1")
    await ask(running, ["l3", "l1"])
    names = ("cache_hits", "cache_misses", "texts", "characters")
    hits, misses, texts, characters = [await metric(running, f"{name}_total") for name in names]
    fake.requests.clear()
    listed = [f"l{number}" for number in (0, 1, 2, 3, 0)]
    source, answer = await ask(running, listed)
    assert source == "partial"
    assert requested_texts(fake) == [["l0", "l2", "l0"]]
    assert [each["translation"] for each in answer["results"]] == [f"[en>de by one] {text}" for text in listed]
    assert await metric(running, "cache_hits_total") - hits == 2
    assert await metric(running, "cache_misses_total") - misses == 3
    assert await metric(running, "texts_total") - texts == 5
    assert await metric(running, "characters_total") - characters == 10
    assert await ask(running, listed) == ("hit", answer)
    assert (await ask(running, "l2"))[0] == "hit"
    assert (await ask(running, ["l2"]))[1] == {"results": [answer["results"][2]]}


@pytest.mark.parametrize(
    "other",
    [
        {"format": "html"},
        {"format": "markdown"},
        {"do_not_translate": ["Pairway"]},
        {"terms": {"a": "b"}},
        {"pivot": False},
        {"alternatives": 1},
        {"split_sentences": "none"},
        {"context": "At the bank."},
        {"source_lang": "en-GB"},
        {"target_lang": "de-AT"},
    ],
    ids=str,
)
async def test_other_options_miss_the_cache(running: RunningProxy, fake: FakeReplica, other: dict[str, Any]) -> None:
    await ask(running, "a word")
    fake.requests.clear()
    assert (await ask(running, "a word", **other))[0] == "miss"
    assert requested_texts(fake) == ["a word"]


async def test_alternatives_are_cached(running: RunningProxy, fake: FakeReplica) -> None:
    answers = [await ask(running, "some words", alternatives=number) for number in (2, 2, 1)]
    assert [source for source, _ in answers] == ["miss", "hit", "miss"]
    assert answers[0][1] == answers[1][1]
    assert [len(answer["alternatives"]) for _, answer in answers] == [2, 2, 1]
    fake.requests.clear()
    partial, mixed = await ask(running, ["some words", "other words"], alternatives=2)
    assert (partial, [len(each["alternatives"]) for each in mixed["results"]]) == ("partial", [2, 2])


async def test_detected_language_is_not_cached(running: RunningProxy, fake: FakeReplica) -> None:
    text = "The weather is fine and we went for a long walk in the park."
    for _ in range(2):
        assert (await ask(running, text, source_lang="auto"))[0] == "miss"
    assert len(fake.requests) == 2


async def test_pivot_translation_is_cached(running: RunningProxy, fake: FakeReplica) -> None:
    first = await ask(running, "bonjour", source_lang="fr")
    fake.requests.clear()
    assert await ask(running, "bonjour", source_lang="fr") == ("hit", first[1])
    assert first[1]["route"] == ["fr", "en", "de"]
    assert not fake.requests


async def test_unusable_output_is_not_cached_but_warnings_are(running: RunningProxy, fake: FakeReplica) -> None:
    one = {"source_lang": "en", "target_lang": "de", "model": "model-one", "route": ["en", "de"]}
    warned = [{"code": "odd", "message": "It is odd."}]
    results = [{**one, "translation": None, "warnings": warned}, {**one, "translation": "Gut", "warnings": warned}]
    fake.translate = Script(raw=(200, json.dumps({"results": results}).encode()))
    assert (await ask(running, ["bad", "good"]))[1] == {"results": results}
    fake.translate = Script()
    source, answer = await ask(running, ["bad", "good"])
    assert source == "partial"
    assert [each["translation"] for each in answer["results"]] == ["[en>de by one] bad", "Gut"]
    assert answer["results"][1]["warnings"] == warned


async def test_failure_is_not_cached_and_names_the_texts_it_counts(running: RunningProxy, fake: FakeReplica) -> None:
    await ask(running, "f1")
    fake.translate = Script(problem=(413, "too-large"))
    status, problem, headers = await running.translate(["f0", "f1"])
    assert (status, problem["code"]) == (413, "too-large")
    assert problem["detail"].endswith("(Positions and totals refer only to the 1 of 2 texts not in the cache.)")
    assert "x-cache" not in headers
    fake.translate = Script()
    assert (await ask(running, ["f0", "f1"]))[0] == "partial"


async def test_stream_answers_from_the_cache_when_all_is_known(running: RunningProxy, fake: FakeReplica) -> None:
    body = {"text": ["s0", "s1"], "source_lang": "en", "target_lang": "de"}
    await ask(running, "s0")
    fake.requests.clear()
    first = await request_stream(running.client, body)
    assert requested_texts(fake) == [["s0", "s1"]], "a stream is translated as a whole"
    again = await request_stream(running.client, body)
    assert first.result == again.result
    assert (first.headers["x-cache"], again.headers["x-cache"]) == ("miss", "hit")
    assert len(fake.requests) == 1
    assert (await ask(running, "s1"))[0] == "hit"


async def test_model_upgrade_misses_old_entries(fake: FakeReplica) -> None:
    two = FakeReplica("en>de", name="two")
    two.ranks = {"en>de": 1}
    async with replicas(two), proxy([fake, two], cache_bytes=MIB) as running:
        assert [(await ask(running, "old"))[0] for _ in range(2)] == ["miss", "hit"]
        fake.revision = "2"
        await running.sweeps()
        assert [(await ask(running, "old"))[0] for _ in range(2)] == ["miss", "hit"]
        two.revision = "2"  # another model's, which only stands in
        await running.sweeps()
        assert (await ask(running, "old"))[0] == "hit"
        fake.pairs["en>de"] = False  # now the model that stood in is the preferred one
        await running.sweeps()
        assert (await ask(running, "old"))[0] == "miss"
        source, answer = await ask(running, "old")
        assert (source, answer["model"]) == ("hit", "model-two")
        fake.pairs["en>de"], fake.revision = True, None  # what exactly answers is not known
        await running.sweeps()
        assert [(await ask(running, "old"))[0] for _ in range(2)] == ["miss", "miss"]
        fake.revision = "1"
        await running.sweeps()
        assert (await ask(running, "old"))[0] == "hit", "the first revision is back, and its entry was still there"


async def test_two_models_of_one_rank_are_both_cached(fake: FakeReplica) -> None:
    """While a model change goes from server to server, both models serve the pair."""
    two = FakeReplica("en>de", name="two")
    async with replicas(two), proxy([fake, two], cache_bytes=MIB) as running:
        models = {(await ask(running, f"text {number}"))[1]["model"] for number in range(40)}
        assert models == {"model-one", "model-two"}
        assert {(await ask(running, f"text {number}"))[0] for number in range(40)} == {"hit"}
        await two.stop()
        await running.sweeps()
        source, answer = await ask(running, "text 1")
        assert (source, answer["model"]) == ("miss", "model-one"), "a model that is gone is in no answer"


async def test_fallback_models_answer_is_not_cached(fake: FakeReplica) -> None:
    two = FakeReplica("en>de", name="two")
    two.ranks = {"en>de": 1}
    async with replicas(two), proxy([fake, two], cache_bytes=MIB) as running:
        fake.translate = Script(problem=(503, "overloaded"), retry_after=30)
        for _ in range(2):
            source, answer = await ask(running, "stood in")
            assert (source, answer["model"]) == ("miss", "model-two")


async def test_cache_is_bounded(fake: FakeReplica) -> None:
    async with proxy([fake], cache_bytes=MIB) as running:
        await ask(running, [f"{number} {'word ' * 8_000}" for number in range(40)])
        assert MIB / 2 < await metric(running, "cache_bytes") <= MIB
        entries, gone = await metric(running, "cache_entries"), await metric(running, "cache_evictions_total")
        assert entries + gone == 40


async def translate_for(running: RunningProxy, caller: Caller, text: str) -> AnswerSource | None:
    """Ask as a caller of that kind; return what was said of the source."""
    request = TranslateRequest(text=text, source_lang="en", target_lang="de")
    cost = RequestCost.of(request, Priority.INTERACTIVE)
    call = TranslationCall(
        request, cost, caller, Priority.INTERACTIVE, Deadline.after(5, time.monotonic), "id", RequestSample()
    )
    return (await running.context.translation.service.translate(call)).source


async def test_opted_out_caller_is_neither_cached_nor_coalesced(running: RunningProxy, fake: FakeReplica) -> None:
    private, public = Caller("key 1", cached=False), Caller("key 2")
    assert await translate_for(running, private, "opted out") is None
    assert await translate_for(running, public, "opted out") is AnswerSource.MISS
    assert await translate_for(running, private, "opted out") is None
    assert len(fake.requests) == 3
    # So that the replica gives its texts to no second model.
    assert [request.headers.get("cache-control") for request in fake.requests] == ["no-store", None, "no-store"]
    fake.translate = Script(delay=0.2)
    await asyncio.gather(*(translate_for(running, private, "beside") for _ in range(3)))
    assert len(fake.requests) == 6


async def test_equal_requests_are_coalesced_without_a_cache(plain: RunningProxy, fake: FakeReplica) -> None:
    released = asyncio.Event()
    fake.translate = Script(released=released)
    coalesced = await metric(plain, "coalesced_total")
    asked = asyncio.gather(*(ask(plain, "together") for _ in range(20)))
    await all_in_flight(plain, 20)
    released.set()
    answers = await asked
    assert len(fake.requests) == 1
    assert sorted(str(source) for source, _ in answers) == ["None"] + ["coalesced"] * 19
    assert len({json.dumps(answer) for _, answer in answers}) == 1
    assert await metric(plain, "coalesced_total") == coalesced + 19
    before = len(fake.requests)
    assert (await ask(plain, "together"))[0] is None
    assert len(fake.requests) == before + 1


async def test_coalesced_requests_keep_their_deadline_and_id(plain: RunningProxy, fake: FakeReplica) -> None:
    released = asyncio.Event()
    fake.translate = Script(released=released)
    patient = asyncio.create_task(plain.translate("mine", x_request_id="patient"))
    await wait_until(lambda: fake.requests, 3)
    status, problem, headers = await plain.translate("mine", x_timeout_ms="100", x_request_id="hasty")
    assert (status, problem["code"], problem["request_id"]) == (504, "deadline-exceeded", "hasty")
    assert headers["x-request-id"] == "hasty"
    released.set()
    status, _, headers = await patient
    assert (status, headers["x-request-id"]) == (200, "patient")
    assert [received.headers["x-request-id"] for received in fake.requests] == ["patient"]


async def test_streams_are_never_coalesced(plain: RunningProxy, fake: FakeReplica) -> None:
    fake.translate = Script(delay=0.2)
    body = {"text": "streamed", "source_lang": "en", "target_lang": "de"}
    heard = await asyncio.gather(request_stream(plain.client, body), request_stream(plain.client, body))
    assert all(each.result for each in heard)
    assert len(fake.requests) == 2


async def test_replica_request_is_aborted_when_the_last_caller_leaves(plain: RunningProxy, fake: FakeReplica) -> None:
    fake.translate = Script(delay=20)
    tasks = [asyncio.create_task(plain.translate("given up")) for _ in range(3)]

    await all_in_flight(plain, 3)
    await wait_until(lambda: fake.requests, 3)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await wait_until(lambda: fake.aborts == 1, 3, "the replica sees the hang-up")
    assert len(fake.requests) == 1
    assert len(plain.context.translation.coalescer) == 0
    assert plain.context.process.body_budget.reserved == 0


async def test_request_that_was_joined_outlives_its_client(plain: RunningProxy, fake: FakeReplica) -> None:
    released = asyncio.Event()
    fake.translate = Script(released=released)
    gone = 'requests_total{class="client",outcome="client-gone",pair="en-de",route="en-de"}'
    before = await metric(plain, gone)
    first = asyncio.create_task(plain.translate("carried on"))
    await wait_until(lambda: fake.requests, 3)
    second = asyncio.create_task(plain.translate("carried on"))

    await all_in_flight(plain, 2)
    connections = plain.serving.connections
    first.cancel()
    await wait_until(lambda: plain.serving.connections < connections, 3, "the first has gone")
    released.set()
    status, answer, headers = await second
    assert (status, answer["source_lang"], headers["x-cache"]) == (200, "en", "coalesced")
    assert (len(fake.requests), fake.aborts) == (1, 0)
    assert await metric(plain, gone) == before + 1


async def test_repeated_post_after_a_timeout_costs_one_translation(plain: RunningProxy, fake: FakeReplica) -> None:
    """As DeepL's client does: a read time-out, the connection closed, the same once more on another one."""
    fake.translate = Script(delay=3.0)
    body = {"text": "again and again", "source_lang": "en", "target_lang": "de"}

    async def post_until_answered() -> None:
        timeouts = fake.aborts = 0
        fake.requests.clear()
        answer: httpx.Response | None = None
        while answer is None:
            assert timeouts < 5, "each costs a translation of its own"
            async with httpx.AsyncClient(base_url=plain.url, timeout=1.2, trust_env=False) as client:
                try:
                    answer = await client.post("/translate", json=body)
                except httpx.ReadTimeout:
                    timeouts += 1
        assert (timeouts > 0, answer.status_code) == (True, 200)
        assert answer.headers["x-cache"] == "coalesced"
        assert (len(fake.requests), fake.aborts) == (1, 0)

    await again_where_paused(post_until_answered)  # a client that is paused is not back at once
