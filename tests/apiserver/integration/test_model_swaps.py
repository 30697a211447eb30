"""A new model that loads in the old one's place."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.changes.memory import MARGIN_BYTES
from tests.apiserver.integration.operated_server import WITHIN, Operated, failing_stop, problem
from tests.support.waiting import wait_until


async def test_swap_unloads_first_and_says_why_pairs_are_out(operated: Operated) -> None:
    operated.memory.available = MARGIN_BYTES + 2
    old, waiting = await operated.with_request_in_flight()
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
    old, waiting = await operated.with_request_in_flight()
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
