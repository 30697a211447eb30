"""A model is changed while serving: beside the old one or in its place, held, rolled back; and what goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from apiserver.changes.memory import ENGINE_OVERHEAD_BYTES, MARGIN_BYTES
from apiserver.engine.interface import GenerationResult
from apiserver.settings import ApiServerSettings
from tests.apiserver.conftest import PAIRS, serving
from tests.apiserver.integration.operated_server import CATALOG, CHANGE, TOKEN, WITHIN, Operated, problem
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until

PROXY_TOKEN = "a-proxys-token-long-enough"


def says_nothing(engine: ScriptedEngine) -> None:
    """Let the new model fail its canaries, and no other."""
    if engine.entry.name == "en-de-v2":
        engine.answer = lambda _: GenerationResult("", "stop")


def failing_stop(engine: ScriptedEngine) -> Callable[[], Coroutine[Any, Any, None]]:
    """Return a stop that ends the engine, and raises."""

    async def stop() -> None:
        await ScriptedEngine.stop(engine)
        raise OSError("it does not end")

    return stop


# ---- who may, and what


async def test_changes_without_a_token_setting_are_off(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings]
) -> None:
    async with serving(factory, settings_for()) as served:
        answer = await served.client.get("/models", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "operator-off")
        assert "APISERVER_OPERATOR_TOKEN" in answer.json()["detail"]


async def test_proxys_token_does_not_change_models(
    factory: ScriptedFactory, settings_for: Callable[..., ApiServerSettings]
) -> None:
    async with serving(factory, settings_for(token=PROXY_TOKEN, operator_token=TOKEN)) as served:
        for method, path in (
            ("GET", "/models"),
            ("POST", "/models/changes"),
            ("POST", "/models/changes/current/switch"),
            ("DELETE", "/models/changes/current"),
            ("POST", "/models/rollback"),
            ("POST", "/models/reload"),
        ):
            shown = {"Authorization": f"Bearer {PROXY_TOKEN}"}
            assert problem(await served.client.request(method, path, headers=shown)) == (403, "key-refused")
            assert problem(await served.client.request(method, path)) == (401, "key-required")
        answer = await served.client.get("/report", headers={"Authorization": f"Bearer {TOKEN}"})
        assert problem(answer) == (403, "key-refused"), "an operator is no proxy"


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        ({"model": "en-ja", "entry": "en-de-v2"}, 404, "unknown-model", "it hosts en-de, en-fr"),
        ({"model": "en-de", "entry": "nothing"}, 404, "unknown-model", "it has en-de, en-fr, en-de-v2, narrow"),
        ({"model": "en-de", "entry": "../../etc"}, 404, "unknown-model", "no model ../../etc"),
        ({"model": "en-de", "entry": "en-fr"}, 409, "change-refused", "hosted here already"),
        ({"model": "en-de", "entry": "narrow"}, 409, "change-refused", "does not serve de-en"),
        ({"model": "en-de"}, 422, "invalid-request", "entry"),
        ({**CHANGE, "path": "/models/x"}, 422, "invalid-request", "path: is not a field"),
        ({**CHANGE, "hold": True, "swap": True}, 422, "invalid-request", "exclude each other"),
    ],
)
async def test_wrong_order_changes_nothing(
    operated: Operated, body: dict[str, Any], status: int, code: str, words: str
) -> None:
    answer = await operated.call("POST", "/models/changes", body)
    assert problem(answer) == (status, code)
    assert words in answer.json()["detail"]
    assert operated.factory.starts == ["en-de", "en-fr"]
    assert (await operated.models())["last_change"] is None


async def test_wrong_catalog_is_refused_with_its_lines(operated: Operated) -> None:
    operated.catalog.write_text(CATALOG + "  bad: {path: ./v2}\n  worse: 3\n")
    for answer in (await operated.change(), await operated.call("POST", "/models/reload", {})):
        assert problem(answer) == (409, "catalog-refused")
        assert len(answer.json()["issues"]) >= 2
        assert ":7:" in answer.json()["detail"]
    assert await operated.model_of() == "en-de"


async def test_nothing_to_switch_abandon_or_roll_back_is_said(operated: Operated) -> None:
    for method, path in (
        ("POST", "/models/changes/current/switch"),
        ("DELETE", "/models/changes/current"),
        ("POST", "/models/rollback"),
    ):
        answer = await operated.call(method, path, {} if path.endswith("rollback") else None)
        assert problem(answer) == (409, "change-refused")


# ---- beside


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
    old = operated.factory.engine("en-de")
    old.gate.clear()
    waiting = asyncio.create_task(operated.served.translate("Hello"))
    await wait_until(lambda: old.running == 1, WITHIN)
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
    old = operated.factory.engine("en-de")
    old.gate.clear()
    waiting = asyncio.create_task(operated.served.translate("Hello"))
    await wait_until(lambda: old.running == 1, WITHIN)
    await operated.change()
    await operated.until_step("unloading")
    rollback = asyncio.create_task(operated.call("POST", "/models/rollback", {}))
    old.gate.set()
    assert (await rollback).status_code == 202
    assert (await waiting).json()["model"] == "en-de"
    assert (await operated.ended())["kind"] == "rollback"
    assert await operated.model_of() == "en-de"


async def test_old_engine_that_dies_in_its_drain_fails_no_request(operated: Operated) -> None:
    old = operated.factory.engine("en-de")
    old.gate.clear()
    waiting = asyncio.create_task(operated.served.translate("Hello"))
    await wait_until(lambda: old.running == 1, WITHIN)
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


# ---- held


async def test_held_candidate_waits_for_the_switch(operated: Operated) -> None:
    server = operated.served.app.state.context.model_server
    (pair,) = (pair for pair in server.hosts[0].entry.all_pairs if str(pair) == "en-de")
    assert (await operated.change(hold=True)).status_code == 202
    await operated.until_step("held")
    assert server.candidate_for(pair).entry.name == "en-de-v2"
    assert (await operated.states())["en-de-v2"] == "candidate"
    assert await operated.model_of() == "en-de"
    assert set((await operated.served.report())["models"]) == {"en-de", "en-fr"}
    assert 'pair_ready{model="en-de-v2"' not in await operated.metrics()
    assert (await operated.call("POST", "/models/changes/current/switch")).status_code == 202
    assert (await operated.ended())["outcome"] == "switched"
    assert server.candidate_for(pair) is None
    assert await operated.model_of() == "en-de-v2"


async def test_held_candidate_can_be_abandoned(operated: Operated) -> None:
    await operated.change(hold=True)
    await operated.until_step("held")
    assert (await operated.call("DELETE", "/models/changes/current")).status_code == 202
    last = await operated.ended()
    assert (last["outcome"], last["why"]) == ("abandoned", "an operator abandoned it")
    assert operated.factory.engine("en-de-v2").stopped == 1
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}
    assert problem(await operated.call("POST", "/models/rollback", {})) == (409, "change-refused")


async def test_held_candidate_whose_engine_died_is_no_switch(operated: Operated) -> None:
    await operated.change(hold=True)
    await operated.until_step("held")
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    operated.factory.engine("en-de-v2").die()
    answer = await operated.call("POST", "/models/changes/current/switch")
    assert problem(answer) == (409, "change-refused")
    assert "not ready" in answer.json()["detail"]
    operated.factory.gates["en-de-v2"].set()

    async def switches() -> bool:
        return (await operated.call("POST", "/models/changes/current/switch")).status_code == 202

    await wait_until(switches, WITHIN, "its engine is started again")
    assert (await operated.ended())["outcome"] == "switched"


# ---- memory, swap


async def test_change_without_memory_is_refused_with_figures(operated: Operated) -> None:
    operated.memory.available = ENGINE_OVERHEAD_BYTES + MARGIN_BYTES  # nothing for weights and cache
    answer = await operated.change()
    assert problem(answer) == (409, "change-refused")
    detail = answer.json()["detail"]
    assert "MiB are available" in detail
    assert '"swap": true' in detail
    assert answer.json()["needed_bytes"] > answer.json()["available_bytes"] - answer.json()["margin_bytes"]
    assert operated.factory.starts == ["en-de", "en-fr"]


async def test_swap_unloads_first_and_says_why_pairs_are_out(operated: Operated) -> None:
    operated.memory.available = MARGIN_BYTES + 2
    old = operated.factory.engine("en-de")
    old.gate.clear()
    waiting = asyncio.create_task(operated.served.translate("Hello"))
    await wait_until(lambda: old.running == 1, WITHIN)
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    assert (await operated.change(swap=True)).status_code == 202
    await operated.until_step("draining")

    async def is_out() -> bool:
        pair = (await operated.served.report())["pairs"]["en-de"]
        return pair["why"] == "its model is being changed" and pair["ready_in_s"] is not None

    await wait_until(is_out, WITHIN, "the pair says why")
    refused = await operated.served.translate("Hello")
    assert problem(refused) == (503, "pair-unavailable")
    assert "being changed" in refused.json()["detail"]
    assert int(refused.headers["retry-after"]) >= 1
    assert (await operated.served.translate("Hello", "en-fr")).status_code == 200
    old.gate.set()
    assert (await waiting).json()["model"] == "en-de", "what was in flight is finished"
    await operated.until_step("loading")
    assert old.stopped
    assert 'pair_ready{model="en-de",pair="en-de"} 0.0' in await operated.metrics()
    gate.set()
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de-v2"
    assert 'model="en-de"' not in await operated.metrics()


async def test_swap_that_fails_restores_the_old_model(operated: Operated) -> None:
    operated.factory.failures["en-de-v2"] = [OSError("no such weights")]
    await operated.change(swap=True)
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "no such weights" in last["why"]
    assert "en-de was started again and serves" in last["why"]
    assert set(last["seconds"]) == {"draining", "loading", "restoring"}
    assert await operated.model_of() == "en-de"
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}


async def test_swap_whose_old_engine_does_not_stop_restores_it(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operated.factory.engine("en-de"), "stop", failing_stop(operated.factory.engine("en-de")))
    await operated.change(swap=True)
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "OSError: it does not end; en-de was started again and serves" in last["why"]
    assert await operated.model_of() == "en-de"
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}


async def test_swap_abandoned_in_its_drain_serves_on(operated: Operated) -> None:
    old = operated.factory.engine("en-de")
    old.gate.clear()
    waiting = asyncio.create_task(operated.served.translate("Hello"))
    await wait_until(lambda: old.running == 1, WITHIN)
    await operated.change(swap=True)
    assert (await operated.call("DELETE", "/models/changes/current")).status_code == 202
    assert (await operated.ended())["outcome"] == "abandoned"
    old.gate.set()
    assert (await waiting).json()["model"] == "en-de"
    await operated.served.until_ready()
    assert len(operated.factory.engines["en-de"]) == 1


async def test_swap_abandoned_while_loading_restores(operated: Operated) -> None:
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.change(swap=True)
    await operated.until_step("loading")
    assert (await operated.call("DELETE", "/models/changes/current")).status_code == 202
    last = await operated.ended()
    assert last["outcome"] == "abandoned"
    assert "en-de was started again and serves" in last["why"]
    assert await operated.model_of() == "en-de"


async def test_two_models_of_a_gpu_need_shares(operated: Operated) -> None:
    operated.memory.kind = "cuda"
    operated.catalog.write_text(CATALOG.replace("kv_cache_memory_bytes: 1048576", ""))
    answer = await operated.change()
    assert problem(answer) == (409, "change-refused")
    assert "en-de-v2 may take a whole cuda device" in answer.json()["detail"]


async def test_reload_checks_the_shares_of_every_model(operated: Operated) -> None:
    operated.memory.kind = "cuda"
    operated.catalog.write_text(
        CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5").replace(
            "path: ./fr, pairs: [en-fr, fr-en], prompt: demo-tags, engine: {max_num_seqs: 5, kv_cache_memory_bytes: 1048576",
            "path: ./fr, pairs: [en-fr, fr-en], prompt: demo-tags, engine: {gpu_memory_utilization: 1.0",
        )
    )
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    assert (await operated.call("POST", "/models/reload", {})).status_code == 202
    assert (await operated.ended())["outcome"] == "switched", "one whole device is allowed"
    operated.catalog.write_text(
        operated.catalog.read_text().replace("max_num_seqs: 5", "max_num_seqs: 6").replace(": 1.0", ": 0.9")
    )
    starts = list(operated.factory.starts)
    answer = await operated.call("POST", "/models/reload", {})
    assert problem(answer) == (409, "change-refused")
    assert "en-fr 1, en-fr (new) 0.9" in answer.json()["detail"]
    assert operated.factory.starts == starts, "not even the first model, which fits"


# ---- reload, rollback


async def test_reload_changes_what_differs_alone(operated: Operated) -> None:
    answer = await operated.call("POST", "/models/reload", {})
    assert (answer.status_code, answer.json()["change"]) == (202, None)
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    operated.catalog.write_text(
        CATALOG.replace("path: ./fr, pairs: [en-fr, fr-en]", "path: ./fr, pairs: [fr-en, en-fr]")
    )
    answer = await operated.call("POST", "/models/reload", {})
    assert answer.json()["change"]["entry"] == "en-de"
    assert answer.json()["waiting"] == ["en-fr"]
    last = await operated.ended()
    assert (last["kind"], last["entry"], last["outcome"]) == ("reload", "en-fr", "switched")
    assert operated.factory.starts == ["en-de", "en-fr", "en-de", "en-fr"]
    assert await operated.served.ready_pairs() == PAIRS
    assert (await operated.call("POST", "/models/reload", {})).json()["change"] is None


async def test_reload_stops_at_the_first_failure(operated: Operated) -> None:
    operated.catalog.write_text(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    operated.factory.failures["en-de"] = [OSError("broken")]
    await operated.call("POST", "/models/reload", {})
    last = await operated.ended()
    assert (last["entry"], last["outcome"]) == ("en-de", "failed")
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    assert await operated.served.ready_pairs() == PAIRS


async def test_two_engines_of_one_name_are_one_series(operated: Operated) -> None:
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    revision = (await operated.served.report())["models"]["en-de"]["revision"]
    assert (await operated.change(entry="en-de", hold=True)).status_code == 202
    await operated.until_step("held")
    lines = [line for line in (await operated.metrics()).splitlines() if "#" not in line]
    names = [line.rsplit(" ", 1)[0] for line in lines]
    assert len(names) == len(set(names))
    await operated.call("POST", "/models/changes/current/switch")
    assert (await operated.ended())["outcome"] == "switched"
    assert (await operated.served.report())["models"]["en-de"]["revision"] != revision
    assert 'pair_ready{model="en-de",pair="en-de"} 1.0' in await operated.metrics()


async def test_rollback_to_overwritten_weights_fails(operated: Operated) -> None:
    await operated.change()
    await operated.ended()
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("overwritten")
    assert (await operated.call("POST", "/models/rollback", {"model": "en-de-v2"})).status_code == 202
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert "no longer those that served" in last["why"]
    assert await operated.model_of() == "en-de-v2"


async def test_signal_reloads_and_logs_a_refusal(operated: Operated, caplog: pytest.LogCaptureFixture) -> None:
    changer = operated.served.app.state.context.changer
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    changer.reload_by_signal()
    assert await wait_until(operated.ended, WITHIN) != {}
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    operated.catalog.write_text("models: 3")
    changer.reload_by_signal()
    await wait_until(lambda: "catalog not reloaded" in caplog.text, WITHIN)


async def test_rollback_needs_no_catalog(operated: Operated) -> None:
    await operated.change()
    await operated.ended()
    operated.catalog.unlink()
    await operated.call("POST", "/models/rollback", {})
    assert (await operated.ended())["outcome"] == "switched"
    assert await operated.model_of() == "en-de"
