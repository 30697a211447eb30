"""Canary checks: what is wrong with each pair, and whether the engine hangs."""

from __future__ import annotations

import time

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.canary_checks import CanaryChecks, CanaryRound
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.translation.running_model import RunningModel
from apiserver.translation.translator import Translator
from shared.languages import LanguagePair
from shared.protocol.errors import BadRequestError
from tests.support.scripted_engine import Asked, ScriptedEngine

ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de", "de-en"], "prompt": "demo-tags"})


async def check(
    engine: ScriptedEngine, seconds: float = 10.0, entry: ModelEntry = ENTRY
) -> tuple[CanaryRound, dict[str, str | None]]:
    """Check both pairs on the engine; return the round and what is wrong with each pair."""
    encoders = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
    admission = ModelAdmission(engine.max_num_seqs, QueueBounds(1.0, 300), time.monotonic)
    guard, sampling, slots = QualityGuard(OutputLanguage()), sampling_for(entry, engine), admission.new_slots(4)
    model = RunningModel(entry, engine, encoders, sampling, guard, ApiServerMetrics(), admission, slots)
    translator = Translator(model)
    issues: dict[str, str | None] = {}

    def note(pair: LanguagePair, issue: str | None) -> None:
        issues[str(pair)] = issue

    return await CanaryChecks(entry, seconds, time.monotonic).check(translator, entry.all_pairs, note), issues


async def test_translated_canaries_pass() -> None:
    outcome, issues = await check(ScriptedEngine(ENTRY))
    assert issues == {"en-de": None, "de-en": None}
    assert outcome.passed == 2
    assert not outcome.engine_hangs


async def test_untranslated_canary_is_an_issue_of_its_pair() -> None:
    engine = ScriptedEngine(ENTRY)
    answer = engine.answer
    engine.answer = lambda asked: (
        GenerationResult(asked.text, "stop") if asked.before == "<s><en><de>" else answer(asked)
    )
    outcome, issues = await check(engine)
    assert issues["de-en"] is None
    assert issues["en-de"]
    assert outcome.passed == 1


async def test_canary_with_a_lost_name_passes() -> None:
    entry = ENTRY.model_copy(update={"canaries": {"en": "My name is Zuzana.", "de": "Ich habe 3 Katzen."}})
    engine = ScriptedEngine(entry)
    engine.answer = lambda asked: GenerationResult(
        "Mein Name ist Anna." if "name" in asked.text else "I have many cats.", "stop"
    )
    outcome, issues = await check(engine, entry=entry)
    assert issues == {"en-de": None, "de-en": None}
    assert outcome.passed == 2


async def test_refused_canary_says_why() -> None:
    def refuse(_: Asked) -> GenerationResult:
        raise BadRequestError("too long")

    engine = ScriptedEngine(ENTRY)
    engine.answer = refuse
    outcome, issues = await check(engine)
    assert set(issues.values()) == {"its canary was refused: too long"}
    assert outcome.passed == 0


async def test_unexpected_error_is_an_issue() -> None:
    def fail(_: Asked) -> GenerationResult:
        raise RuntimeError("no")

    engine = ScriptedEngine(ENTRY)
    engine.answer = fail
    _, issues = await check(engine)
    assert set(issues.values()) == {"its canary failed: RuntimeError"}


async def test_engine_death_is_an_issue() -> None:
    engine = ScriptedEngine(ENTRY)
    engine.die()
    _, issues = await check(engine)
    assert set(issues.values()) == {"its engine died during the canary"}


async def test_engine_without_a_step_in_time_hangs() -> None:
    engine = ScriptedEngine(ENTRY)
    engine.gate.clear()
    outcome, issues = await check(engine, seconds=0.05)
    assert set(issues.values()) == {"its canary translation took longer than 0.05 s"}
    assert outcome.engine_hangs
