"""A reload beside what serves: load, prove, switch, unload, roll back; and what goes wrong."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from apiserver.changes.memory import MARGIN_BYTES
from apiserver.engine.interface import GenerationResult
from tests.apiserver.conftest import PAIRS
from tests.apiserver.integration.operated_server import (
    CATALOG,
    ENGINE,
    RENAMED,
    TOKEN,
    WITHIN,
    Operated,
    failing_stop,
    problem,
)
from tests.support.scripted_engine import ScriptedEngine
from tests.support.waiting import wait_until


def says_nothing(engine: ScriptedEngine) -> None:
    """Let the new model fail its canaries, and no other."""
    if engine.entry.name == "en-de-v2":
        engine.answer = lambda _: GenerationResult("", "stop")


async def test_reload_and_rollback_under_load_lose_nothing(operated: Operated) -> None:
    for engine in (operated.factory.engine("en-de"), operated.factory.engine("en-fr")):
        engine.delay = 0.05
    operated.factory.prepare = lambda engine: setattr(engine, "delay", 0.05)
    answers: list[httpx.Response] = []
    done = asyncio.Event()

    async def ask() -> None:
        while not done.is_set():
            answers.append(await operated.served.translate("Hello"))

    load = [asyncio.create_task(ask()) for _ in range(4)]
    assert (await operated.reload(RENAMED)).status_code == 202
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de-v2"
    assert (await operated.reload(CATALOG)).status_code == 202
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de"
    done.set()
    await asyncio.gather(*load)
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.json()["model"] for answer in answers} == {"en-de", "en-de-v2"}
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}


async def test_revision_says_which_of_one_name_serves(operated: Operated) -> None:
    async def revision() -> str:
        (line,) = (line for line in (await operated.models())["models"] if line["name"] == "en-de")
        return line["revision"]

    before = await revision()
    assert (await operated.reload(CATALOG.replace("./v1", "./v2"))).status_code == 202
    assert (await operated.ended())["outcome"] == "done"
    after = await revision()
    assert after != before
    assert (await operated.served.report())["models"]["en-de"]["revision"] == after
    await operated.reload(CATALOG)
    await operated.ended()
    assert await revision() == before, "the old catalog and its folder are the old model"


async def test_reload_changes_what_differs_alone(operated: Operated) -> None:
    answer = await operated.reload()
    assert (answer.status_code, answer.json()["reload"]) == (202, None)
    assert answer.json()["last_reload"]["outcome"] == "done"
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    assert (await operated.models())["catalog"]["entries"] == [
        {"name": "en-de", "state": "changed"},
        {"name": "en-fr", "state": "same"},
    ]
    changed = CATALOG.replace("path: ./fr, pairs: [en-fr, fr-en]", "path: ./fr, pairs: [fr-en, en-fr]")
    answer = await operated.reload(changed)
    assert [change["entry"] for change in answer.json()["reload"]["changes"]] == ["en-de", "en-fr"]
    last = await operated.ended()
    assert [(change["entry"], change["outcome"]) for change in last["changes"]] == [
        ("en-de", "switched"),
        ("en-fr", "switched"),
    ]
    assert operated.factory.starts == ["en-de", "en-fr", "en-de", "en-fr"]
    assert await operated.served.ready_pairs() == PAIRS
    assert (await operated.reload()).json()["reload"] is None


async def test_new_model_has_report_and_metrics(operated: Operated) -> None:
    before = (await operated.served.report())["pairs"]
    await operated.reload(RENAMED)
    last = await operated.change_ended()
    assert (last["outcome"], last["step"], last["replaces"]) == ("switched", "done", ["en-de"])
    assert set(last["seconds"]) == {"loading", "proving", "unloading"}
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


async def test_new_entry_serves_beside_with_the_catalogs_ranks(operated: Operated) -> None:
    first = f"  first: {{path: ./v2, pairs: [en-de, de-fr], prompt: demo-tags, {ENGINE}}}\n"
    await operated.reload(CATALOG.replace("models:\n", f"models:\n{first}"))
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "first"
    assert await operated.served.ready_pairs() == {*PAIRS, "de-fr"}
    ranks = {
        model["name"]: {label: pair["rank"] for label, pair in model["pairs"].items()}
        for model in (await operated.models())["models"]
    }
    assert ranks["first"] == {"en-de": 0, "de-fr": 0}
    assert ranks["en-de"] == {"en-de": 1, "de-en": 0}


async def test_order_of_the_catalog_is_taken_over(operated: Operated) -> None:
    head, german, french = CATALOG.strip().splitlines()
    await operated.reload(f"{head}\n{french}\n{german}")
    assert [model["name"] for model in (await operated.models())["models"]] == ["en-fr", "en-de"]
    assert operated.factory.starts == ["en-de", "en-fr"]


async def test_removed_entry_is_unloaded_on_demand_alone(operated: Operated) -> None:
    without = CATALOG.replace(CATALOG.strip().splitlines()[2], "")
    refused = await operated.reload(without)
    assert problem(refused) == (409, "change-refused")
    assert "no longer has en-fr" in refused.json()["detail"]
    assert refused.json()["missing_pairs"] == ["en-fr", "fr-en"]
    entries = (await operated.models())["catalog"]["entries"]
    assert entries == [{"name": "en-de", "state": "same"}, {"name": "en-fr", "state": "gone"}]
    assert (await operated.reload(remove=True)).status_code == 202
    last = await operated.change_ended()
    assert (last["entry"], last["replaces"], last["outcome"]) == (None, ["en-fr"], "removed")
    assert set((await operated.served.report())["pairs"]) == {"en-de", "de-en"}
    assert operated.factory.engine("en-fr").stopped
    assert 'model_changes_total{outcome="removed"} 1.0' in await operated.metrics()


async def test_removal_waits_for_nobody_that_is_not_ready(operated: Operated) -> None:
    both = CATALOG + f"  also: {{path: ./v2, pairs: [en-de, de-en], prompt: demo-tags, {ENGINE}}}\n"
    await operated.reload(both)
    assert (await operated.ended())["outcome"] == "done"
    operated.factory.gates["also"] = asyncio.Event()
    operated.factory.engine("also").die()
    await operated.reload(both.replace(CATALOG.strip().splitlines()[1] + "\n", ""), remove=True)
    last = await operated.change_ended()
    assert (last["replaces"], last["outcome"]) == (["en-de"], "failed")
    assert last["why"] == "de-en would have no ready model"
    assert await operated.model_of() == "en-de"


async def test_requests_in_flight_finish_on_the_old_model(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(RENAMED)
    await operated.until_step("unloading")
    assert await operated.model_of() == "en-de-v2"
    assert (await operated.served.report())["in_flight"] == 1
    assert (await operated.states())["en-de"] == "draining"
    assert problem(await operated.cancel()) == (409, "change-refused")
    assert not old.stopped
    old.gate.set()
    assert (await waiting).json()["model"] == "en-de"
    await operated.ended()
    assert old.stopped


async def test_old_engine_that_does_not_stop_fails_no_change(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operated.factory.engine("en-de"), "stop", failing_stop(operated.factory.engine("en-de")))
    await operated.reload(RENAMED)
    last = await operated.change_ended()
    assert last["outcome"] == "switched"
    assert "the old engine of en-de no longer serves, but did not stop cleanly" in last["why"]
    assert "OSError: it does not end" in last["why"]
    assert await operated.states() == {"en-de-v2": "serving", "en-fr": "serving"}
    await operated.reload(CATALOG)
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de"


async def test_rollback_just_after_the_switch_waits(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(RENAMED)
    await operated.until_step("unloading")
    rollback = asyncio.create_task(operated.reload(CATALOG))
    old.gate.set()
    assert (await rollback).status_code == 202
    assert (await waiting).json()["model"] == "en-de"
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de"


async def test_old_engine_that_dies_in_its_drain_fails_no_request(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(RENAMED)
    await operated.until_step("unloading")
    old.die()
    assert (await waiting).json()["model"] == "en-de-v2"
    assert (await operated.ended())["outcome"] == "done"


async def test_second_reload_is_refused_while_one_runs(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    assert (await operated.reload(RENAMED)).status_code == 202
    assert (await operated.states())["en-de-v2"] == "loading"
    answer = await operated.reload()
    assert problem(answer) == (409, "change-refused")
    assert "A reload runs (en-de-v2: loading)" in answer.json()["detail"]
    gate.set()
    assert (await operated.ended())["outcome"] == "done"


async def test_five_reloads_at_once_are_one(operated: Operated) -> None:
    operated.catalog.write_text(RENAMED)
    answers = await asyncio.gather(*(operated.reload() for _ in range(5)))
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]
    assert (await operated.ended())["outcome"] == "done"


async def test_new_model_that_does_not_start_is_unloaded(operated: Operated) -> None:
    operated.factory.failures["en-de-v2"] = [OSError("no such weights")]
    await operated.reload(RENAMED)
    last = await operated.change_ended()
    assert last["outcome"] == "failed"
    assert "no such weights" in last["why"]
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}
    assert 'model="en-de-v2"' not in await operated.metrics()
    assert await operated.served.ready_pairs() == PAIRS


async def test_reload_stops_at_the_first_failure(operated: Operated) -> None:
    operated.factory.failures["en-de"] = [OSError("broken")]
    await operated.reload(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    last = await operated.ended()
    assert last["outcome"] == "failed"
    assert [(change["outcome"], change["step"]) for change in last["changes"]] == [
        ("failed", "done"),
        (None, "waiting"),
    ]
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    assert await operated.served.ready_pairs() == PAIRS


async def test_new_model_with_a_wrong_canary_never_serves(operated: Operated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apiserver.hosting.model_host.CANARY_RETRY_SECONDS", 0.1)
    operated.factory.prepare = says_nothing
    await operated.reload(RENAMED)
    last = await operated.change_ended()
    assert last["outcome"] == "failed"
    assert "en-de: the canary's translation is empty" in last["why"]
    assert operated.factory.engine("en-de-v2").stopped == 1
    assert await operated.model_of() == "en-de"
    assert 'model_changes_total{outcome="failed"} 1.0' in await operated.metrics()


async def test_new_model_whose_engine_dies_is_unloaded(operated: Operated) -> None:
    operated.factory.prepare = lambda engine: engine.gate.clear()
    await operated.reload(RENAMED)
    await operated.until_step("proving")
    operated.factory.engine("en-de-v2").die()
    last = await operated.change_ended()
    assert last["outcome"] == "failed"
    assert "died" in last["why"]
    assert await operated.model_of() == "en-de"


async def test_old_engine_that_dies_while_loading_is_replaced(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.reload(RENAMED)
    operated.factory.engine("en-de").die()
    gate.set()
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de-v2"


async def test_cancelled_reload_leaves_the_old_model(operated: Operated) -> None:
    assert problem(await operated.cancel()) == (409, "change-refused")
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.reload(RENAMED)
    await operated.until_step("loading")
    assert (await operated.cancel()).status_code == 202
    last = await operated.ended()
    assert last["outcome"] == "cancelled"
    assert last["changes"][0]["why"] == "an operator cancelled it"
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}
    assert await operated.model_of() == "en-de"


async def test_cancelled_reload_begins_nothing_more(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(CATALOG.replace("max_num_seqs: 4", "max_num_seqs: 5"))
    await operated.until_step("unloading")
    assert (await operated.cancel()).status_code == 202
    old.gate.set()
    assert (await waiting).status_code == 200
    last = await operated.ended()
    assert last["outcome"] == "cancelled"
    assert [change["outcome"] for change in last["changes"]] == ["switched", "cancelled"]
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]


async def test_two_engines_of_one_name_are_one_series(operated: Operated) -> None:
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    operated.factory.prepare = lambda engine: engine.gate.clear()
    await operated.reload()
    await operated.until_step("proving")
    lines = [line for line in (await operated.metrics()).splitlines() if "#" not in line]
    names = [line.rsplit(" ", 1)[0] for line in lines]
    assert len(names) == len(set(names))
    operated.factory.engine("en-de").gate.set()
    assert (await operated.ended())["outcome"] == "done"
    assert 'pair_ready{model="en-de",pair="en-de"} 1.0' in await operated.metrics()


async def test_reload_goes_on_after_its_client_left(operated: Operated) -> None:
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    operated.catalog.write_text(RENAMED)
    _, writer = await asyncio.open_connection("127.0.0.1", operated.served.port)
    head = f"POST /models/reload HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
    writer.write(head.encode() + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
    await writer.drain()
    writer.close()
    await operated.until_step("loading")
    gate.set()
    assert (await operated.ended())["outcome"] == "done"


async def test_server_that_stops_leaves_no_engine_behind(operated: Operated) -> None:
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.reload(RENAMED)
    await wait_until(lambda: "en-de-v2" in operated.factory.starts, WITHIN)
    operated.served.app.state.context.model_server.drain()
    answer = await operated.reload()
    assert problem(answer) == (409, "change-refused")
    assert "stopping" in answer.json()["detail"]  # the fixture checks that no engine is left


async def test_signal_reloads_and_logs_a_refusal(operated: Operated, caplog: pytest.LogCaptureFixture) -> None:
    reloader = operated.served.app.state.context.reloader
    (operated.catalog.parent / "v1" / "model.safetensors").write_text("better")
    reloader.reload_by_signal()
    assert await wait_until(operated.ended, WITHIN) != {}
    assert operated.factory.starts == ["en-de", "en-fr", "en-de"]
    operated.catalog.write_text("models: 3")
    reloader.reload_by_signal()
    await wait_until(lambda: "catalog not reloaded" in caplog.text, WITHIN)


async def test_swap_unloads_first_and_says_why_pairs_are_out(operated: Operated) -> None:
    operated.memory.available = MARGIN_BYTES + 2
    old, waiting = await operated.with_request_in_flight()
    gate = operated.factory.gates["en-de-v2"] = asyncio.Event()
    assert (await operated.reload(RENAMED, swap=True)).status_code == 202
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
    assert (await operated.ended())["outcome"] == "done"
    assert await operated.model_of() == "en-de-v2"
    assert 'model="en-de"' not in await operated.metrics()


async def test_swap_that_fails_restores_every_old_model(operated: Operated) -> None:
    operated.factory.failures["multi"] = [OSError("no such weights")]
    pairs = "[en-de, de-en, en-fr, fr-en]"
    multi = f"models:\n  multi: {{path: ./v2, pairs: {pairs}, prompt: demo-tags, {ENGINE}}}\n"
    await operated.reload(multi, swap=True)
    last = await operated.change_ended()
    assert (last["outcome"], last["replaces"]) == ("failed", ["en-de", "en-fr"])
    assert "no such weights" in last["why"]
    assert "en-de, en-fr was started again and serves" in last["why"]
    assert set(last["seconds"]) == {"draining", "loading", "restoring"}
    assert await operated.model_of() == "en-de"
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}


async def test_swap_whose_old_engine_does_not_stop_restores_it(
    operated: Operated, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operated.factory.engine("en-de"), "stop", failing_stop(operated.factory.engine("en-de")))
    await operated.reload(RENAMED, swap=True)
    last = await operated.change_ended()
    assert last["outcome"] == "failed"
    assert "OSError: it does not end; en-de was started again and serves" in last["why"]
    assert await operated.model_of() == "en-de"
    assert await operated.states() == {"en-de": "serving", "en-fr": "serving"}


async def test_swap_cancelled_in_its_drain_serves_on(operated: Operated) -> None:
    old, waiting = await operated.with_request_in_flight()
    await operated.reload(RENAMED, swap=True)
    assert (await operated.cancel()).status_code == 202
    assert (await operated.ended())["outcome"] == "cancelled"
    old.gate.set()
    assert (await waiting).json()["model"] == "en-de"
    await operated.served.until_ready()
    assert len(operated.factory.engines["en-de"]) == 1


async def test_swap_cancelled_while_loading_restores(operated: Operated) -> None:
    operated.factory.gates["en-de-v2"] = asyncio.Event()
    await operated.reload(RENAMED, swap=True)
    await operated.until_step("loading")
    assert (await operated.cancel()).status_code == 202
    last = await operated.change_ended()
    assert last["outcome"] == "cancelled"
    assert "en-de was started again and serves" in last["why"]
    assert await operated.model_of() == "en-de"


async def test_swap_with_nothing_to_unload_is_loaded_beside(operated: Operated) -> None:
    also = f"  also: {{path: ./v2, pairs: [en-de], prompt: demo-tags, {ENGINE}}}\n"
    await operated.reload(CATALOG + also, swap=True)
    last = await operated.change_ended()
    assert (last["outcome"], last["replaces"]) == ("switched", [])
    assert "draining" not in last["seconds"]
