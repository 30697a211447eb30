"""The API server in four tests: canaries, segments, guards, engine deaths."""

from __future__ import annotations

import asyncio

from apiserver.engine.interface import GenerationResult
from tests.apiserver.conftest import PAIRS, Served, SettingsFor, serving
from tests.support.scripted_engine import Asked, ScriptedEngine, ScriptedFactory, in_brackets
from tests.support.waiting import wait_until


async def test_pair_is_ready_only_after_its_canary_came_back(settings_for: SettingsFor) -> None:
    """A model that loads but translates nothing gets no request: ready means that a real translation came back."""

    def says_nothing(engine: ScriptedEngine) -> None:
        engine.answer = lambda _: GenerationResult("", "stop")

    silent = ScriptedFactory(says_nothing)
    async with serving(silent, settings_for()) as served:

        async def is_judged() -> bool:
            return "canary" in await served.why("en-de")

        await wait_until(is_judged, 10, "the canary has failed")
        assert await served.ready_pairs() == set()
        assert (await served.translate("Hello")).status_code == 503


async def test_text_becomes_segments_and_comes_back_whole(served: Served, factory: ScriptedFactory) -> None:
    """A text is cut at its sentences; each is one request of the engine; what is between them stays as it was."""
    engine = factory.engine("en-de")
    engine.asked.clear()
    answer = await served.translate("Hello there.  \n\nGood night.")
    assert answer.json()["translation"] == "[Hello there.]  \n\n[Good night.]"
    assert [each.text for each in engine.asked] == ["Hello there.", "Good night."]


async def test_changed_number_is_asked_again_first(served: Served, factory: ScriptedFactory) -> None:
    """Guards judge the output. What they refuse is sampled again; what stays wrong is a warning, never silence."""
    answers = iter(["Der Zug fährt um 9 Uhr.", "Der Zug fährt um 7 Uhr."])

    def wrong_then_right(asked: Asked) -> GenerationResult:
        return GenerationResult(next(answers), "stop") if "train" in asked.text else in_brackets(asked)

    factory.engine("en-de").answer = wrong_then_right
    answer = await served.translate("The train leaves at 7.")
    assert answer.json()["translation"] == "Der Zug fährt um 7 Uhr."
    assert answer.json()["warnings"] == []


async def test_dead_engine_takes_its_pairs_out_and_comes_back(served: Served, factory: ScriptedFactory) -> None:
    """The pair leaves the report before the restart begins, and returns with its canary; other models go on."""
    dead = factory.engine("en-de")
    factory.gates["en-de"] = asyncio.Event()  # the next engine waits, so that the test sees the time between
    dead.die()
    await served.until_ready({"en-fr", "fr-en"})
    assert (await served.translate("Hello")).status_code == 503
    assert (await served.translate("Hello", "en-fr")).status_code == 200
    factory.gates["en-de"].set()
    await served.until_ready(PAIRS, within=30)
    assert (await served.translate("Hello")).status_code == 200
