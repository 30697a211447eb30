"""Both clients against a real proxy of fake replicas: every call, and what ends one early."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pairway
import pytest
from pairway import AsyncClient, Client

from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.processes import ROOT
from tests.support.waiting import wait_until

T = TypeVar("T")


@pytest.fixture(scope="module", name="fake")
async def _fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "en>fr", "de>en")
    async with replicas(one):
        yield one


@pytest.fixture(scope="module", name="running")
async def _running(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], cache_bytes=0, max_texts=50) as one:
        yield one


@pytest.fixture(autouse=True)
def _fresh(fake: FakeReplica, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    fake.requests.clear()
    fake.translate = Script()
    fake.aborts = 0


class Both:
    """Both clients as one that is awaited: the blocking one runs in a thread."""

    def __init__(self, kind: str, url: str, **settings: Any) -> None:
        self.client: Any = (Client if kind == "blocking" else AsyncClient)(url, **settings)
        self._blocks = kind == "blocking"

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.client, name)
        return (lambda *args, **named: asyncio.to_thread(method, *args, **named)) if self._blocks else method

    async def streamed(self, *args: Any, **named: Any) -> tuple[list[pairway.Delta], Any]:
        if self._blocks:
            return await asyncio.to_thread(self._streamed, *args, **named)
        async with self.client.stream(*args, **named) as stream:
            return [delta async for delta in stream], stream.result

    def _streamed(self, *args: Any, **named: Any) -> tuple[list[pairway.Delta], Any]:
        with self.client.stream(*args, **named) as stream:
            return list(stream), stream.result


@pytest.fixture(params=["blocking", "async"], name="client")
async def _client(request: pytest.FixtureRequest, running: RunningProxy) -> AsyncGenerator[Both]:
    both = Both(request.param, running.url, key="my-word")
    yield both
    await both.close()


async def test_text_is_translated(client: Both) -> None:
    found = await client.translate("Hello", to="de", source="en", alternatives=1, confidence=True)
    assert (str(found), found.alternatives, found.confidence) == ("[en>de by fake] Hello", ["0. Hello"], 0.8)
    assert (found.model, found.route, found.warnings) == ("model-fake", ["en", "de"], [])


async def test_list_is_translated_in_order(client: Both, fake: FakeReplica) -> None:
    texts = [f"text {number}" for number in range(230)]
    found = await client.translate(texts, to=["de", "fr"], source="en", concurrency=3)
    for target in ("de", "fr"):
        assert [str(each) for each in found[target]] == [f"[en>{target} by fake] {text}" for text in texts]
    assert {received.headers["x-priority"] for received in fake.requests} == {"standard"}


async def test_text_over_the_limit_is_put_together(client: Both) -> None:
    text = "\n\n".join(f"Paragraph {number}." + "x" * 5000 for number in range(60))
    found = await client.translate(text, to="de", source="en")
    assert str(found).replace("[en>de by fake] ", "") == text


async def test_language_is_detected(client: Both) -> None:
    text = "The weather is very nice today and we are going for a long walk."
    assert str(await client.detect(text)) == "en"
    assert [str(each) for each in await client.detect([text, "123"])] == ["en", ""]
    found = await client.translate(text, to="de")
    assert (found.detected.lang, found.source) == ("en", "en")


async def test_stream_has_deltas_and_then_the_result(client: Both) -> None:
    deltas, result = await client.streamed("Hello there", to="de", source="en")
    assert "".join(map(str, deltas)) == str(result) == "[en>de by fake] Hello there"
    deltas, results = await client.streamed(["a", "b"], to="de", source="en")
    for index in (0, 1):
        assert "".join(str(delta) for delta in deltas if delta.index == index) == str(results[index])


async def test_stream_that_fails_before_its_first_delta_is_a_problem(client: Both) -> None:
    with pytest.raises(pairway.UnknownPairError):
        await client.streamed("Hello", to="ja", source="en")


async def test_stream_that_is_cut_is_an_error_and_not_repeated(client: Both, fake: FakeReplica) -> None:
    fake.translate = Script(breaks_after=1)
    with pytest.raises((pairway.StreamCutError, pairway.ServerError)):
        await client.streamed("Hello there", to="de", source="en")
    assert len(fake.requests) == 1


async def test_languages_and_health_are_shown(client: Both) -> None:
    listed = await client.languages()
    assert [str(each) for each in listed] == ["de: en, fr", "en: de, fr"]
    health = await client.health()
    assert (str(health), health.pairs["en-de"].ready) == ("degraded", 1), "it has no Redis"


async def test_usage_is_a_named_problem_where_keys_are_off(client: Both) -> None:
    with pytest.raises(pairway.RequestError, match="Keys are off"):
        await client.usage()


@pytest.mark.parametrize("kind", ["blocking", "async"])
async def test_glossary_lives_from_create_to_delete(kind: str, fake: FakeReplica, redis: RedisServer) -> None:
    async with proxy([fake], redis.url) as running:
        client = Both(kind, running.url, key="my-word")
        await glossary_life(client, fake)
        await client.close()


async def glossary_life(client: Both, fake: FakeReplica) -> None:
    glossary = await client.create_glossary("Products", {("en", "de"): {"invoice": "Rechnung"}})
    assert [str(each) for each in (await client.glossary(glossary.id)).dictionaries] == ["en-de"]
    await client.translate("The invoice is late.", to="de", source="en", glossary=glossary)
    assert fake.requests[-1].body["terms"] == {"invoice": "Rechnung"}
    await client.add_glossary_entries(glossary.id, "en", "de", {"cup": "Tasse"})
    assert await client.glossary_entries(glossary.id, "en", "de") == {"invoice": "Rechnung", "cup": "Tasse"}
    await client.replace_glossary_entries(glossary.id, "en", "fr", {"cup": "tasse"})
    await client.delete_glossary_entries(glossary.id, "en", "de")
    renamed = await client.rename_glossary(glossary.id, "Goods")
    assert (str(renamed), [str(each) for each in renamed.dictionaries]) == ("Goods", ["en-fr"])
    assert glossary.id in {each.id for each in await client.glossaries()}
    await client.delete_glossary(glossary.id)
    with pytest.raises(pairway.UnknownGlossaryError):
        await client.glossary(glossary.id)


async def test_connection_is_used_again(client: Both, running: RunningProxy) -> None:
    before = running.serving.connections
    for _ in range(5):
        await client.translate("Hello", to="de", source="en")
        await client.streamed("Hello", to="de", source="en")
    assert running.serving.connections <= before + 2


async def test_refused_texts_wait_until_there_is_capacity(client: Both, fake: FakeReplica) -> None:
    fake.translate = Script(problem=(503, "overloaded"), retry_after=1)

    async def recovers() -> None:
        await wait_until(lambda: bool(fake.requests), 10, "a refused request")
        fake.translate = Script()

    found, _ = await asyncio.gather(client.translate("Hello", to="de", source="en"), recovers())
    assert str(found) == "[en>de by fake] Hello"


async def test_deadline_covers_all_of_a_call(client: Both, fake: FakeReplica) -> None:
    fake.translate = Script(fault="hang")
    with pytest.raises(pairway.DeadlineError):
        await client.translate("Hello", to="de", source="en", timeout=0.3)
    await wait_until(lambda: fake.aborts > 0, 10, "the replica's work ends")


@pytest.mark.parametrize("kind", ["blocking", "async"])
async def test_server_that_is_away_is_an_error_at_once(kind: str) -> None:
    both = Both(kind, "http://127.0.0.1:1")
    with pytest.raises(pairway.UnreachableError, match="make up"):
        await both.translate("Hello", to="de")
    await both.close()


@pytest.mark.parametrize("kind", ["blocking", "async"])
async def test_key_is_sent_and_in_no_error(kind: str, fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url) as running:
        key, _ = await new_key(running, chars_per_day=100)
        both = Both(kind, running.url, key=key)
        await both.translate("Hello", to="de", source="en")
        used = await both.usage()
        assert (used["chars_per_day"].used, str(used["chars_per_day"])) == (5, "5 of 100")
        await both.close()
        both = Both(kind, running.url, key=key[:-1] + ("A" if key[-1] != "A" else "B"))
        with pytest.raises(pairway.KeyRefusedError) as raised:
            await both.translate("Hello", to="de", source="en")
        assert key[-12:-1] not in f"{raised.value} {raised.value!r} {vars(raised.value)}"
        await both.close()


async def test_cancelled_list_ends_the_servers_work(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate = Script(fault="hang")
    async with AsyncClient(running.url) as client:
        work = asyncio.create_task(client.translate(["a", "b", "c"], to="de", source="en", batch=1))
        await wait_until(lambda: len(fake.requests) == 3, 10, "three requests")
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await wait_until(lambda: fake.aborts == 3, 10, "the replica's work ends")


async def test_first_error_of_a_list_ends_the_others(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate = Script(fault="hang")
    async with AsyncClient(running.url) as client:
        texts = ["The weather is very nice today.", "这是一个很长的中文句子，没有人翻译这种语言。"]
        with pytest.raises(pairway.LanguageUndetectedError):
            await client.translate(texts, to="de", batch=1, concurrency=2)
        assert await client.translate(["123"], to="de"), "the client is as good as before"
    await wait_until(lambda: fake.aborts == len(fake.requests), 10, "the replica's work ends")


async def test_closed_stream_ends_the_servers_work(client: Both, fake: FakeReplica) -> None:
    fake.translate = Script(breaks_after=2, breaks_with="hang")
    stream = client.client.stream(["a", "b"], to="de", source="en")
    if isinstance(stream, pairway.AsyncTranslationStream):
        async for _ in stream:
            break
        await stream.close()
    else:
        await asyncio.to_thread(next, iter(stream))
        await asyncio.to_thread(stream.close)
    await wait_until(lambda: fake.aborts == 1, 10, "the replica's work ends")


@pytest.mark.parametrize("text", [["a", "b", "c"], "a"])
async def test_interrupted_program_ends_the_servers_work(
    running: RunningProxy, fake: FakeReplica, text: Any, tmp_path: Path
) -> None:
    fake.translate = Script(fault="hang")
    texts = [text] if isinstance(text, str) else text
    program = tmp_path / "program.py"
    program.write_text(
        f"import pairway, sys\nwith pairway.Client({running.url!r}) as client:\n"
        f"    try:\n        client.translate({text!r}, to='de', source='en', batch=1)\n"
        "    except KeyboardInterrupt:\n        print('interrupted', flush=True)\n        sys.stdin.read()\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        program,
        env={"PYTHONPATH": str(ROOT / "client")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    await wait_until(lambda: len(fake.requests) == len(texts), 30, "its requests")
    process.send_signal(signal.SIGINT)
    await wait_until(lambda: fake.aborts == len(texts), 10, "the replica's work ends while the program lives")
    out, _ = await process.communicate(b"")
    assert out == b"interrupted\n"
