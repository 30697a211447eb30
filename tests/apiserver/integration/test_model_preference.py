"""Several models for one pair: the catalog's first serves it while it can, the next one else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.apiserver.conftest import Served, SettingsFor, serving
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until

CATALOG = """
models:
  best: {path: org/best, pairs: [en-de], prompt: demo-tags, engine: {max_num_seqs: 4}}
  spare: {path: org/spare, pairs: [en-de, en-fr], prompt: demo-tags, engine: {max_num_seqs: 4}}
"""
PAIRS = {"en-de", "en-fr"}


@pytest.fixture
async def both(factory: ScriptedFactory, settings_for: SettingsFor) -> AsyncIterator[Served]:
    async with serving(factory, settings_for(CATALOG, restart_backoff=30.0)) as running:
        await running.until_ready(PAIRS)
        await wait_until(lambda: len(factory.engines) == 2 and factory.engine("spare").steps >= 2, 5)
        yield running


async def model_for(served: Served, pair: str) -> str:
    answer = await served.translate("Hello", pair)
    assert answer.status_code == 200, answer.text
    return answer.json()["model"]


async def test_first_model_of_the_catalog_serves_a_shared_pair(both: Served) -> None:
    assert await model_for(both, "en-de") == "best"
    assert await model_for(both, "en-fr") == "spare"
    assert (await both.report())["pairs"]["en-de"]["model"] == "best"


async def test_next_model_takes_over_when_the_engine_dies(both: Served, factory: ScriptedFactory) -> None:
    factory.engine("best").die()
    assert await model_for(both, "en-de") == "spare"
    report = (await both.report())["pairs"]["en-de"]
    assert (report["ready"], report["model"]) == (True, "spare")


async def test_report_ranks_models_over_the_whole_catalog(
    both: Served, factory: ScriptedFactory, settings_for: SettingsFor
) -> None:
    assert {label: pair["rank"] for label, pair in (await both.report())["pairs"].items()} == {"en-de": 0, "en-fr": 0}
    factory.engine("best").die()
    assert (await both.report())["pairs"]["en-de"]["rank"] == 1
    async with serving(ScriptedFactory(), settings_for(CATALOG, models="spare", weight=2.5)) as alone:
        report = await alone.report()
    assert {label: pair["rank"] for label, pair in report["pairs"].items()} == {"en-de": 1, "en-fr": 0}
    assert report["weight"] == 2.5


async def test_requests_in_flight_move_to_the_next_model(both: Served, factory: ScriptedFactory) -> None:
    factory.engine("best").gate.clear()
    asked = asyncio.create_task(both.translate(["Hello", "there"]))
    await wait_until(lambda: factory.engine("best").running == 2, 5)
    factory.engine("best").die()
    answer = await asked
    assert answer.status_code == 200, answer.text
    assert [result["model"] for result in answer.json()["results"]] == ["spare", "spare"]


async def test_pair_without_a_model_left_is_unavailable(both: Served, factory: ScriptedFactory) -> None:
    factory.engine("spare").die()
    await wait_until(lambda: len(factory.engines["spare"]) == 1 and factory.engine("spare").stopped, 5)
    factory.engine("best").die()
    answer = await both.translate("Hello")
    assert (answer.status_code, answer.json()["code"]) == (503, "pair-unavailable")
    report = (await both.report())["pairs"]["en-de"]
    assert report["ready"] is False
    # A pause of 30 s (± 20 %), and a start of less than one.
    assert 20 <= report["ready_in_s"] <= 38
    assert 20 <= int(answer.headers["retry-after"]) <= 38
