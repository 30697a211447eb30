"""A new model that is held beside the old one, until an operator switches."""

from __future__ import annotations

import asyncio

from tests.apiserver.integration.operated_server import WITHIN, Operated, problem
from tests.support.waiting import wait_until


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
