"""A model is changed beside the old one, and rolled back; and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx
import pytest

from apiserver.engine.interface import GenerationResult
from apiserver.settings import ApiServerSettings
from tests.apiserver.conftest import PAIRS
from tests.apiserver.integration.operated_server import CHANGE, TOKEN, WITHIN, Operated, failing_stop, problem
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until


def says_nothing(engine: ScriptedEngine) -> None:
    """Let the new model fail its canaries, and no other."""
    if engine.entry.name == "en-de-v2":
        engine.answer = lambda _: GenerationResult("", "stop")


async def test_change_and_rollback_under_load_lose_nothing(operated: Operated) -> None:
    for engine in (operated.factory.engine("en-de"), operated.factory.engine("en-fr")):
        engine.delay = 0.05
    operated.factory.prepare = lambda engine: setattr(engine, "delay", 0.05)
    answers: list[httpx.Response] = []
    done = asyncio.Event()

    async def ask() -> None:
        while not done.is_set():
            answers.append(await operated.served.translate("Hello"))

    load = [asyncio.create_task(ask()) for _ in range(4)]
    assert (await operated.change()).status_code == 202
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de-v2"
    assert (await operated.call("POST", "/models/rollback", {})).status_code == 202
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de"
    done.set()
    await asyncio.gather(*load)
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["model"] for answer in answers} == {"en-de", "en-de-v2"}
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving", "en-de-v2": "previous"}


async def test_changed_model_keeps_rank_report_and_metrics(operated: Operated) -> None:
    before = (await operated.served.report())["pairs"]
    assert (await operated.change()).status_code == 202
    last = await operated.ended()
    assert (last["outcome"], last["step"]) == ("switched", "done")
    assert set(last["seconds"]) == {"loading", "proving", "unloading"}
    assert "APISERVER_MODELS" in last["note"]
    report = await operated.served.report()
    assert set(report["models"]) == {"en-de-v2", "en-fr"}
    assert {label: pair["rank"] for label, pair in report["pairs"].items()} == {
        label: pair["rank"] for label, pair in before.items()
    }
    assert report["pairs"]["en-de"]["model"] == "en-de-v2"
    metrics = await operated.metrics()
    assert 'model="en-de"' not in metrics
    assert 'pairway_apiserver_pair_ready{model="en-de-v2",pair="en-de"} 1.0' in metrics
    assert 'pairway_apiserver_model_changes_total{outcome="switched"} 1.0' in metrics
    assert 'pairway_apiserver_model_changes_total{outcome="failed"} 0.0' in metrics
    assert (await operated.served.client.get("/livez")).status_code == 200


async def test_requests_in_flight_finish_on_the_old_model(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    assert (await operated.change()).status_code == 202
    await operated.until_step("unloading")
    assert await operated.model_of() == "en-de-v2"
    assert (await operated.served.report())["in_flight"] == 1
    assert problem(await operated.call("DELETE", "/models/changes/current")) == (409, "change-refused")
    assert not old.stopped
    old.gate.set()
    assert (await waiting).json()["model"] == "en-de"
    await operated.ended()
    assert old.stopped


async def test_old_engine_that_does_not_stop_fails_no_change(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operated.factory.engine("en-de"), "stop", failing_stop(operated.factory.engine("en-de")))
    await operated.change()
    last = await operated.ended()
    assert last["outcome"] == "switched"
    assert "the old engine of en-de did not stop cleanly" in last["why"]
    assert "OSError: it does not end" in last["why"]
    assert 'model_changes_total{outcome="switched"} 1.0' in await operated.metrics()
    assert await operated.states() == {"en-de-v2": "serving", "en-fr": "serving", "en-de": "previous"}
    assert (await operated.call("POST", "/models/rollback", {})).status_code == 202
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de"


async def test_rollback_just_after_the_switch_waits(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.change()
    await operated.until_step("unloading")
    rollback = asyncio.create_task(operated.call("POST", "/models/rollback", {}))
    old.gate.set()
    assert (await rollback).status_code == 202
    assert (await waiting).json()["model"] == "en-de"
    assert (await operated.ended())["kind"] == "rollback"
    assert await operated.model_of() == "en-de"


async def test_old_engine_that_dies_in_its_drain_fails_no_request(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.change()
    await operated.until_step("unloading")
    old.die()
    assert (await waiting).json()["model"] == "en-de-v2"
    assert (await operated.ended())["outcome"] == "switched"


async def test_second_change_is_refused_while_one_runs(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    assert (await operated.change()).status_code == 202
    for path, body in (("changes", CHANGE), ("rollback", {}), ("reload", {})):
        answer = await operated.call("POST", f"/models/{path}", body)
        assert problem(answer) == (409, "change-refused")
        assert "en-de to en-de-v2 runs (loading)" in answer.json()["detail"]
    gate.set()
    assert (await operated.ended())["outcome"] == "switched"


async def test_two_changes_at_once_are_one(operated: Operated) -> None:
    answers = await asyncio.gather(*(operated.change() for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]
    assert (await operated.ended())["outcome"] == "switched"


async def test_candidate_that_does_not_start_is_unloaded(operated: Operated) -> None:
    operated.factory.failures["en-de-v2"] = [OSError("no such weights")]
    await operated.change()
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "no such weights" in last["why"]
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}
    assert 'model="en-de-v2"' not in await operated.metrics()
    assert await operated.served.ready_pairs() == PAIRS


async def test_candidate_with_a_wrong_canary_never_serves(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apiserver.hosting.model_host.CANARY_RETRY_SECONDS", 0.1)
    operated.factory.prepare = says_nothing
    await operated.change()
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "en-de: the canary's translation is empty" in last["why"]
    assert operated.factory.engine("en-de-v2").stopped == 1
    assert await operated.model_of() == "en-de"
    assert 'model_changes_total{outcome="failed"} 1.0' in await operated.metrics()


async def test_candidate_whose_engine_dies_is_unloaded(operated: Operated) -> None:
    def closed(engine: ScriptedEngine) -> None:
        engine.gate.clear()

    operated.factory.prepare = closed
    await operated.change()
    await operated.until_step("proving")
    operated.factory.engine("en-de-v2").die()
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "died" in last["why"]
    assert await operated.model_of() == "en-de"


async def test_old_engine_that_dies_while_loading_is_replaced(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.change()
    operated.factory.engine("en-de").die()
    gate.set()
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de-v2"


async def test_change_goes_on_after_its_client_left(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    reader, writer = await asyncio.open_connection("127.0.0.1", operated.served.port)
    body = b'{"model": "en-de", "entry": "en-de-v2"}'
    head = f"POST /models/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
    writer.write(head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await writer.drain()
    writer.close()
    del reader
    await operated.until_step("loading")
    gate.set()
    assert (await operated.ended())["outcome"] == "switched"


async def test_server_that_stops_leaves_no_candidate_behind(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings], operated: Operated
) -> None:
    del settings_for
    factory.gates["en-de-v2"] = asyncio.Event()
    await operated.change()
    await wait_until(lambda: "en-de-v2" in factory.starts, WITHIN)
    operated.served.app.state.context.model_server.drain()
    answer = await operated.change()
    assert problem(answer) == (409, "change-refused")
    assert "stopping" in answer.json()["detail"]  # the fixture checks that no engine is left
