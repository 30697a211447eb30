"""The whole way of a text, on an engine that answers whatever it likes: what must hold whatever that is."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError, GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import Protection, count_literals
from apiserver.scheduling.batch_slots import LONG_SHARE, SHORT_SEGMENTS, BatchSlots
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import TranslateOptions
from apiserver.translation.translator import INLINE_CHARS, RunningModel, Translator
from shared.languages import LanguagePair
from shared.protocol.errors import TooLargeError
from shared.protocol.lanes import Lane
from shared.protocol.messages import TextFormat, Translation
from tests.scripted_engine import Asked, ScriptedEngine
from tests.text_skeleton import skeleton
from tests.waiting import wait_until

EN_DE = LanguagePair("en", "de")
GERMAN = ["Das", "Haus", "meines", "Freundes", "steht", "immer", "noch", "zwischen", "Wald", "und", "Garten"]
GUARDS = QualityGuard(OutputLanguage())
ENTRY = {"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"}
PLAIN = TranslateOptions(TextFormat.TEXT, Protection.of((), {}))

Answer = Callable[[Asked], GenerationResult]


def translator_of(answer: Answer, **changes: Any) -> tuple[Translator, ScriptedEngine]:
    entry = ModelEntry.model_validate({**ENTRY, "segment": {"tokens": 60, "sentences": 1}, **changes})
    engine = ScriptedEngine(entry)
    engine.answer = answer
    frames = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
    metrics = ApiServerMetrics()
    slots = BatchSlots(engine.max_num_seqs, time.monotonic)
    return Translator(RunningModel(entry, engine, frames, sampling_for(entry, engine)), GUARDS, metrics, slots), engine


async def translated(
    translator: Translator, text: str, wish: TranslateOptions = PLAIN, work: WorkItem | None = None, **more: Any
) -> Translation:
    return await translator.complete(await translator.prepare(EN_DE, text, wish), "r", work or WorkItem(), **more)


def german(asked: Asked) -> GenerationResult:
    """Answer with words of German, as many as were asked for, and everything that is no word in its place."""
    words = [
        word if not word.isalpha() or word in {"Tom", "Boston"} else GERMAN[number % len(GERMAN)]
        for number, word in enumerate(asked.text.split(" "))
    ]
    return GenerationResult(" ".join(words), "stop")


def numbered(count: int) -> str:
    """Return as many sentences, no two of them the same."""
    return " ".join(f"House {number} is here." for number in range(1000, 1000 + count))


NASTY = st.sampled_from(
    [
        "", " ", "\n", "Haus", "ja ja ja ja ja ja ja ja", "</s>", "<|im_end|>", "%s", "{x}", "Tom", "7", "\U000f0000",
        "Sure! Here is the translation: Haus", "Haus\n\nNote: free", "“Haus”", "<b>", "家", "\u2028", "  ",
    ]
)  # fmt: skip
PIECES = st.sampled_from(
    [
        "Hello", " ", "  ", "\n", "\r\n", "\t", ". ", "? ", "%s", "%1$s", "{name}", "{{x}}", "${x}", "<x id=1/>", "5 km",
        "a@b.org", "https://x.org/a?b=1", "。", "こんにちは", "مرحبا", "สวัสดี", "\u00a0", "\u3000", "\U000f0001", "🎉", "</s>", "é",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=14).map("".join)


def nasty(seed: int, choices: list[str]) -> Answer:
    """Answer from the choices, or with the text, or by breaking off, as the seed has it."""
    rng = random.Random(seed)  # noqa: S311 - variety, not secrets

    def answer(asked: Asked) -> GenerationResult:
        text = rng.choice([*choices, asked.text, asked.text[::-1], f"Haus {asked.text}"])
        reason = rng.choice(["stop"] * 6 + ["length", "repetition", "abort", "error"])
        return GenerationResult(text, reason, repeats=reason == "repetition", leaked_controls=rng.random() < 0.1)

    return answer


@settings(max_examples=250, deadline=None)
@given(text=TEXTS, seed=st.integers(0, 1 << 30), choices=st.lists(NASTY | st.text(max_size=12), min_size=1, max_size=4))
async def test_white_space_and_placeholders_survive_whatever_the_model_answers(
    text: str, seed: int, choices: list[str]
) -> None:
    translator, _ = translator_of(nasty(seed, choices))
    said: list[str] = []
    answer = await translated(translator, text, on_delta=said.append)
    if answer.translation is None:
        assert said == []
        assert answer.warnings
        return
    assert "".join(said) == answer.translation
    assert skeleton(answer.translation) == skeleton(text)
    # As parts of the answer: a model may put a letter right beside one.
    assert all(answer.translation.count(literal) >= count for literal, count in count_literals(text).items())


@settings(max_examples=100, deadline=None)
@given(text=TEXTS, seed=st.integers(0, 1 << 30), form=st.sampled_from([TextFormat.HTML, TextFormat.MARKDOWN]))
async def test_markup_comes_back_with_every_tag_whatever_the_model_answers(
    text: str, seed: int, form: TextFormat
) -> None:
    markup = f"<p>One <b>{text}</b> two.</p>\n" if form is TextFormat.HTML else f"One **bold** two `{{x}}` {text}\n"
    translator, _ = translator_of(nasty(seed, ["Haus"]))
    answer = await translated(translator, markup, TranslateOptions(form, Protection.of((), {})))
    if answer.translation is not None and form is TextFormat.HTML:
        for tag in ("<p>", "<b>", "</b>", "</p>"):
            assert answer.translation.count(tag) >= 1


@pytest.mark.parametrize(
    "text",
    [
        "One is here.\n\n  Two is there. \t Three is gone.\r\n",
        " Hello {name}, it is 5 km to https://x.org today. ",
        "One. Two. Three. Four. Five. Six. Seven. Eight. Nine. Ten. Eleven.",
    ],
)
async def test_an_honest_model_gives_a_whole_answer_without_warnings(text: str) -> None:
    translator, _ = translator_of(german)
    answer = await translated(translator, text)
    assert answer.translation is not None
    assert answer.warnings == []
    assert skeleton(answer.translation) == skeleton(text)
    assert count_literals(answer.translation) == count_literals(text)


async def test_words_inside_tags_are_translated_before_what_they_stand_in() -> None:
    translator, engine = translator_of(german)
    html = '<p>See <img src=x alt="a red car"> here.</p>'
    answer = await translated(translator, html, TranslateOptions(TextFormat.HTML, Protection.of((), {})))
    assert answer.translation is not None
    assert 'alt="Das Haus meines"' in answer.translation
    assert "a red car" in {asked.text for asked in engine.asked}


async def test_terms_and_protected_names_survive() -> None:
    translator, _ = translator_of(german)
    wish = TranslateOptions(TextFormat.TEXT, Protection.of(["Blue Sky"], {"invoice": "Rechnung"}))
    answer = await translated(translator, "The invoice of Blue Sky is here.", wish)
    assert answer.translation is not None
    assert "Rechnung" in answer.translation
    assert "Blue Sky" in answer.translation
    assert "invoice" not in answer.translation


async def test_a_long_text_holds_a_share_of_the_batch_and_goes_behind_short_ones() -> None:
    translator, engine = translator_of(german, engine={"max_num_seqs": 16})
    engine.gate.clear()
    long = asyncio.create_task(translated(translator, numbered(100)))
    other = asyncio.create_task(translated(translator, numbered(200)[1300:]))
    short = asyncio.create_task(translated(translator, "Three. Four."))
    await wait_until(lambda: engine.running == 16 // LONG_SHARE + 2, 5)
    for _ in range(20):
        await asyncio.sleep(0)
    assert engine.running == 16 // LONG_SHARE + 2
    assert {asked.priority for asked in engine.asked} == {Lane.INTERACTIVE_LONG, Lane.INTERACTIVE_SHORT}
    engine.gate.set()
    for task in (long, other, short):
        assert (await task).warnings == []
    assert engine.most_running == 16 // LONG_SHARE + 2


async def test_of_two_long_texts_the_first_is_done_first() -> None:
    translator, engine = translator_of(german, engine={"max_num_seqs": 8})
    engine.delay = 0.002
    done: list[str] = []

    async def run(name: str, text: str) -> None:
        await translated(translator, text)
        done.append(name)

    first = asyncio.create_task(run("first", numbered(60)))
    await wait_until(lambda: engine.running, 5)
    second = asyncio.create_task(run("second", numbered(20)))
    await asyncio.gather(first, second)
    assert done == ["first", "second"]


async def test_a_place_in_the_batch_that_nobody_waits_for_any_more_is_handed_on() -> None:
    translator, engine = translator_of(german, engine={"max_num_seqs": 4})
    engine.gate.clear()
    tasks = [asyncio.create_task(translated(translator, numbered(20))) for _ in range(3)]
    await wait_until(lambda: engine.running == 1, 5)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.gather(*tasks[:2], return_exceptions=True)
    engine.gate.set()
    assert (await tasks[2]).warnings == []
    assert engine.running == 0


async def test_a_short_text_does_not_queue_behind_the_long() -> None:
    translator, engine = translator_of(german)
    assert (await translated(translator, numbered(SHORT_SEGMENTS))).warnings == []
    assert {asked.priority for asked in engine.asked} == {Lane.INTERACTIVE_SHORT}


async def test_a_long_text_is_planned_off_the_event_loop_and_comes_back_whole() -> None:
    translator, engine = translator_of(german)
    text = numbered(INLINE_CHARS // 10).replace(". ", ".\n")
    answer = await translated(translator, text)
    assert answer.translation is not None
    assert skeleton(answer.translation) == skeleton(text)
    assert len(engine.asked) == INLINE_CHARS // 10


async def test_what_a_text_says_again_is_asked_for_once() -> None:
    translator, engine = translator_of(german)
    answer = await translated(translator, "One is here.\n" * 500 + "Two is there.")
    assert answer.translation is not None
    assert answer.translation.count("\n") == 500
    assert len(engine.asked) == 2


async def test_an_engine_that_dies_ends_the_whole_text() -> None:
    translator, engine = translator_of(german)
    engine.gate.clear()
    task = asyncio.create_task(translated(translator, numbered(30)))
    await wait_until(lambda: engine.running, 5)
    engine.die()
    with pytest.raises(EngineGoneError):
        await task
    assert engine.running == 0


async def test_a_text_that_nobody_waits_for_is_aborted() -> None:
    translator, engine = translator_of(german)
    engine.gate.clear()
    task = asyncio.create_task(translated(translator, numbered(30)))
    await wait_until(lambda: engine.running, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.running == 0
    assert engine.aborted > 0


async def test_a_mark_too_long_for_the_models_context_is_kept_all_the_same() -> None:
    translator, _ = translator_of(german, prompt="hy-mt2")
    url = f"https://example.org/{'a' * 3000}"
    answer = await translated(translator, f"Look at {url} today.")
    assert answer.translation is not None
    assert url in answer.translation


async def test_terms_that_leave_no_room_are_too_large() -> None:
    translator, _ = translator_of(german, prompt="hy-mt2")
    wish = TranslateOptions(TextFormat.TEXT, Protection.of((), {f"word {number}": "x" * 100 for number in range(20)}))
    with pytest.raises(TooLargeError, match="terms"):
        await translator.prepare(EN_DE, "Good morning.", wish)


async def test_what_guards_catch_and_what_came_of_it_is_counted() -> None:
    answers = iter([GenerationResult("x", "length")])
    translator, _ = translator_of(lambda asked: next(answers, None) or german(asked))
    await translated(translator, "One is here.")
    metrics = translator._metrics  # pyright: ignore[reportPrivateUsage]
    assert metrics.guards.labels("en-de", "output-too-long", "mended")._value.get() == 1  # pyright: ignore[reportPrivateUsage]
    assert metrics.segments.labels("en-de", "second")._value.get() == 1  # pyright: ignore[reportPrivateUsage]
