"""A reload that unloads the old model first."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.changes.memory import MARGIN_BYTES
from tests.apiserver.integration.operated_server import (
    CATALOG,
    ENGINE,
    RENAMED,
    WITHIN,
    Operated,
    failing_stop,
    problem,
)
from tests.support.waiting import wait_until


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
