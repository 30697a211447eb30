"""A stopped real EngineCore loses its pairs and has them again when it resumes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import psutil
import pytest

from apiserver.settings import ApiServerSettings
from shared.protocol.report import ENGINE_STALLED
from tests.apiserver.conftest import REAL_ENGINE, Real, engine_cores
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.xdist_group("engine"), *REAL_ENGINE]

PAIRS = {"en-de", "de-en"}
# On an idle machine both take 2.2–2.6 s and 0.2–0.5 s; far below canary_timeout, after which the engine would be buried.
SEEN_WITHIN = BACK_WITHIN = 10


@pytest.fixture
async def core(real: Real) -> AsyncGenerator[psutil.Process]:
    """The EngineCore of the session's engine, which goes on whatever the test did."""
    await real.served.until_ready(PAIRS, within=30)
    (core,) = engine_cores()
    try:
        yield core
    finally:
        core.resume()
        await real.served.until_ready(PAIRS, within=30)


async def out(real: Real) -> bool:
    return not await real.served.ready_pairs()


async def test_stopped_idle_engine_loses_its_pairs_until_it_resumes(real: Real, core: psutil.Process) -> None:
    core.suspend()
    await wait_until(lambda: out(real), SEEN_WITHIN, "nobody asks, and yet it is seen")
    assert await real.served.why("en-de") == ENGINE_STALLED
    answer = await real.served.translate("Good morning!")
    assert (answer.status_code, answer.json()["code"]) == (503, "pair-unavailable")
    core.resume()
    await real.served.until_ready(PAIRS, within=BACK_WITHIN)
    assert (await real.served.translate("Good morning!")).status_code == 200
    assert engine_cores() == [core], "it was not started again"


async def test_stopped_busy_engine_loses_its_pairs(real: Real, core: psutil.Process) -> None:
    before = (await real.served.translate("Where is the station?")).json()["translation"]
    core.suspend()
    waiting = [real.served.translate(f"Number {n}.", headers={"X-Timeout-Ms": "800"}) for n in range(5)]
    answers = await asyncio.gather(*waiting)
    assert {answer.status_code for answer in answers} == {504}
    patient = asyncio.create_task(real.served.translate("Where is the station?"))
    await wait_until(lambda: out(real), SEEN_WITHIN, "work waits and no step is made")
    report = await real.served.report()
    assert report["models"]["en-de"]["step_age_s"] > ApiServerSettings.model_fields["stall_seconds"].default / 2
    core.resume()
    await real.served.until_ready(PAIRS, within=BACK_WITHIN)
    assert (await patient).json()["translation"] == before
    assert real.engine.progress().running == 0
