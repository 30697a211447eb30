"""Translator: whole texts on a scripted engine, and what must hold for any output."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.calibration import Calibration
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError, GenerationResult
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.formats.document import Block
from apiserver.formats.xml_tokens import XmlSyntaxError, xml_tokens
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import count_literals
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.batch_slots import LONG_SHARE, SHORT_SEGMENTS
from apiserver.translation.planner import INLINE_WRITE_CHARS, Plan, TextStep
from apiserver.translation.running_model import RunningModel
from apiserver.translation.text_translation import TextTranslation
from apiserver.translation.translator import INLINE_PLAN_CHARS, Translator
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.errors import InvalidRequestError, TooLargeError
from shared.protocol.priority import CONTEXT_CHARS_PER_UNIT, Lane
from shared.protocol.translate_request import TextFormat
from tests.apiserver.work_items import work_of
from tests.support.scripted_engine import Asked, ScriptedEngine, in_brackets
from tests.support.waiting import wait_until
from tests.text_skeleton import skeleton

GERMAN = ["Das", "Haus", "meines", "Freundes", "steht", "immer", "noch", "zwischen", "Wald", "und", "Garten"]
GUARDS = QualityGuard(OutputLanguage())
ENTRY = {"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"}

Answer = Callable[[Asked], GenerationResult]


def translator_of(
    answer: Answer, calibration: Calibration | None = None, **changes: Any
) -> tuple[Translator, ScriptedEngine]:
    entry = ModelEntry.model_validate({**ENTRY, "segment": {"tokens": 60, "sentences": 1}, **changes})
    engine = ScriptedEngine(entry)
    engine.answer = answer
    encoders = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
    admission = ModelAdmission(engine.max_num_seqs, QueueBounds(1.0, 300), time.monotonic)
    slots = admission.new_slots(engine.max_num_seqs)
    sampling = sampling_for(entry, engine)
    calibrations = {} if calibration is None else {str(pair): calibration for pair in entry.all_pairs}
    model = RunningModel(entry, engine, encoders, sampling, GUARDS, ApiServerMetrics(), admission, slots, calibrations)
    return Translator(model), engine


async def translate(
    translator: Translator, text: str, on_delta: Callable[[str], None] | None = None, **fields: Any
) -> Translation:
    def send(_: int, part: str) -> None:
        if on_delta is not None:
            on_delta(part)

    (translation,) = await translator.translate(work_of(text, on_delta=send, **fields))
    return translation


def german_words(asked: Asked) -> GenerationResult:
    """Answer with words of German, as many as were asked for, and everything that is no word in its place."""
    words = [
        word if not word.isalpha() or word in {"Tom", "Boston"} else GERMAN[number % len(GERMAN)]
        for number, word in enumerate(asked.text.split(" "))
    ]
    return GenerationResult(" ".join(words), "stop")


def sentences(count: int) -> str:
    """Return as many sentences, no two of them the same."""
    return " ".join(f"House {number} is here." for number in range(1000, 1000 + count))


OUTPUTS = st.sampled_from(
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
EN_DE, DE_DE = LanguagePair("en", "de"), LanguagePair("de", "de")
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=14).map("".join)


def random_outputs(seed: int, choices: list[str]) -> Answer:
    """Answer from the choices, or with the text, or by breaking off, as the seed has it."""
    rng = random.Random(seed)  # noqa: S311 - variety, not secrets

    def answer(asked: Asked) -> GenerationResult:
        text = rng.choice([*choices, asked.text, asked.text[::-1], f"Haus {asked.text}"])
        reason = rng.choice(["stop"] * 6 + ["length", "repetition", "abort", "error"])
        return GenerationResult(text, reason, repeats=reason == "repetition", leaked_controls=rng.random() < 0.1)

    return answer


@given(
    text=TEXTS, seed=st.integers(0, 1 << 30), choices=st.lists(OUTPUTS | st.text(max_size=12), min_size=1, max_size=4)
)
async def test_any_output_keeps_white_space_and_placeholders(text: str, seed: int, choices: list[str]) -> None:
    translator, _ = translator_of(random_outputs(seed, choices))
    deltas: list[str] = []
    answer = await translate(translator, text, on_delta=deltas.append)
    if answer.translation is None:
        assert deltas == []
        assert answer.warnings
        return
    assert "".join(deltas) == answer.translation
    assert skeleton(answer.translation) == skeleton(text)
    # As parts of the answer: a model may put a letter right beside one.
    # Of a text without words, in the source's notation.
    assert any(
        all(answer.translation.count(literal) >= count for literal, count in count_literals(text, pair).items())
        for pair in (EN_DE, DE_DE)
    )


@given(text=TEXTS, seed=st.integers(0, 1 << 30), text_format=st.sampled_from([TextFormat.HTML, TextFormat.MARKDOWN]))
async def test_any_output_keeps_every_tag(text: str, seed: int, text_format: TextFormat) -> None:
    markup = (
        f"<p>One <b>{text}</b> two.</p>\n" if text_format is TextFormat.HTML else f"One **bold** two `{{x}}` {text}\n"
    )
    translator, _ = translator_of(random_outputs(seed, ["Haus"]))
    answer = await translate(translator, markup, format=text_format)
    if answer.translation is not None and text_format is TextFormat.HTML:
        for tag in ("<p>", "<b>", "</b>", "</p>"):
            assert answer.translation.count(tag) >= 1


@pytest.mark.parametrize(
    "text",
    [
        "Tea is here.\n\n  Dad is there. \t Cake is gone.\r\n",
        " Hello {name}, it is 5.5 km to https://x.org again. ",
        "Red. Tea. Hat. Car. Dog. Cat. Sun. Sea. Air. Ice. Oak.",
    ],
)
async def test_good_outputs_give_no_warnings(text: str) -> None:
    translator, _ = translator_of(german_words)
    answer = await translate(translator, text)
    assert answer.translation is not None
    assert answer.warnings == []
    assert skeleton(answer.translation) == skeleton(text)
    assert count_literals(answer.translation, DE_DE) == count_literals(text, EN_DE)


async def test_text_inside_tags_is_translated() -> None:
    translator, engine = translator_of(german_words)
    html = '<p>See <img src=x alt="a red car"> here.</p>'
    answer = await translate(translator, html, format=TextFormat.HTML)
    assert answer.translation is not None
    assert 'alt="Das Haus meines"' in answer.translation
    assert "a red car" in {asked.text for asked in engine.asked}


async def test_terms_and_names_are_kept() -> None:
    translator, _ = translator_of(german_words)
    text, terms = "The invoice of Blue Sky is here.", {"invoice": "Rechnung"}
    answer = await translate(translator, text, do_not_translate=["Blue Sky"], terms=terms)
    assert answer.translation is not None
    assert "Rechnung" in answer.translation
    assert "Blue Sky" in answer.translation
    assert "invoice" not in answer.translation


async def test_long_text_holds_a_share_of_the_batch() -> None:
    translator, engine = translator_of(german_words, engine={"max_num_seqs": 16})
    engine.gate.clear()
    long = asyncio.create_task(translate(translator, sentences(100)))
    other = asyncio.create_task(translate(translator, sentences(200)[1300:]))
    short = asyncio.create_task(translate(translator, "Red. Tea."))
    await wait_until(lambda: engine.running == 16 // LONG_SHARE + 2, 5)
    for _ in range(20):
        await asyncio.sleep(0)
    assert engine.running == 16 // LONG_SHARE + 2
    assert {asked.priority for asked in engine.asked} == {Lane.INTERACTIVE_LONG, Lane.INTERACTIVE_SHORT}
    engine.gate.set()
    for task in (long, other, short):
        assert (await task).warnings == []
    assert engine.most_running == 16 // LONG_SHARE + 2


async def test_first_of_two_long_texts_finishes_first() -> None:
    translator, engine = translator_of(german_words, engine={"max_num_seqs": 8})
    engine.delay = 0.002
    done: list[str] = []

    async def run(name: str, text: str) -> None:
        await translate(translator, text)
        done.append(name)

    first = asyncio.create_task(run("first", sentences(60)))
    await wait_until(lambda: engine.running, 5)
    second = asyncio.create_task(run("second", sentences(20)))
    await asyncio.gather(first, second)
    assert done == ["first", "second"]


async def test_slot_of_a_cancelled_text_is_passed_on() -> None:
    translator, engine = translator_of(german_words, engine={"max_num_seqs": 4})
    engine.gate.clear()
    tasks = [asyncio.create_task(translate(translator, sentences(20))) for _ in range(3)]
    await wait_until(lambda: engine.running == 1, 5)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.gather(*tasks[:2], return_exceptions=True)
    engine.gate.set()
    assert (await tasks[2]).warnings == []
    assert engine.running == 0


async def test_short_text_uses_the_short_lane() -> None:
    translator, engine = translator_of(german_words)
    assert (await translate(translator, sentences(SHORT_SEGMENTS))).warnings == []
    assert {asked.priority for asked in engine.asked} == {Lane.INTERACTIVE_SHORT}


async def test_long_text_is_planned_in_a_thread() -> None:
    translator, engine = translator_of(german_words)
    text = sentences(INLINE_PLAN_CHARS // 10).replace(". ", ".\n")
    answer = await translate(translator, text)
    assert answer.translation is not None
    assert skeleton(answer.translation) == skeleton(text)
    assert len(engine.asked) == INLINE_PLAN_CHARS // 10


async def test_plan_of_a_cancelled_text_ends_before_the_next() -> None:
    translator, engine = translator_of(german_words)
    encode, go_on, planned = engine.encode_text, threading.Event(), list[str]()

    def encode_slowly(text: str, *, first: bool = True) -> list[int]:
        planned.append(text)
        if "first" in text:
            go_on.wait()
        return encode(text, first=first)

    engine.encode_text = encode_slowly
    text = ("The {} house stands between the forest and the garden of my friend." + "\n") * (INLINE_PLAN_CHARS // 60)
    first, second = (
        asyncio.create_task(translate(translator, text.format(*[word] * 99))) for word in ("first", "next")
    )
    try:
        await wait_until(lambda: planned, 5)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        await asyncio.sleep(0.05)
        assert not any("next" in words for words in planned), "one text is planned at a time"
    finally:
        go_on.set()
    assert (await second).warnings == []


async def test_equal_segments_are_requested_once() -> None:
    translator, engine = translator_of(german_words)
    answer = await translate(translator, "Tea is here.\n" * 500 + "Dad is there.")
    assert answer.translation is not None
    assert answer.translation.count("\n") == 500
    assert len(engine.asked) == 2


async def test_dead_engine_ends_the_text() -> None:
    translator, engine = translator_of(german_words)
    engine.gate.clear()
    task = asyncio.create_task(translate(translator, sentences(30)))
    await wait_until(lambda: engine.running, 5)
    engine.die()
    with pytest.raises(EngineGoneError):
        await task
    assert engine.running == 0


async def test_cancelled_text_is_aborted() -> None:
    translator, engine = translator_of(german_words)
    engine.gate.clear()
    task = asyncio.create_task(translate(translator, sentences(30)))
    await wait_until(lambda: engine.running, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert engine.running == 0
    assert engine.aborted > 0


async def test_placeholder_longer_than_the_context_is_kept() -> None:
    translator, _ = translator_of(german_words, prompt="hy-mt2")
    url = f"https://example.org/{'a' * 3000}"
    answer = await translate(translator, f"Look at {url} today.")
    assert answer.translation is not None
    assert url in answer.translation


async def test_terms_longer_than_the_context_are_refused() -> None:
    translator, _ = translator_of(german_words, prompt="hy-mt2")
    terms = {f"word {number}": "x" * 100 for number in range(20)}
    with pytest.raises(TooLargeError, match="terms"):
        await translator.plan(work_of("Good morning.", terms=terms))


async def test_guard_outcomes_are_counted() -> None:
    answers = iter([GenerationResult("x", "length")])
    translator, _ = translator_of(lambda asked: next(answers, None) or german_words(asked))
    await translate(translator, "One is here.")
    metrics = translator._model.metrics  # pyright: ignore[reportPrivateUsage]
    assert metrics.guards.labels("en-de", "output-too-long", "mended").value == 1
    assert metrics.segments.labels("en-de", "second").value == 1


@given(
    parts=st.lists(
        st.sampled_from(
            [
                "<b>",
                "</b>",
                "<i>",
                "</i>",
                "One house is. ",
                "Two are here",
                "&amp;",
                '<x id="1"></x>',
                "<br/>",
                ". ",
                "\n",
            ]
        ),
        max_size=12,
    ),
    seed=st.integers(0, 1 << 30),
    splitting=st.sampled_from([None, "sentences", "none"]),
    prompt=st.sampled_from(["demo-tags", "hy-mt2"]),
)
async def test_any_output_keeps_xml_well_formed(
    parts: list[str], seed: int, splitting: str | None, prompt: str
) -> None:
    text = "".join(parts)
    translator, _ = translator_of(random_outputs(seed, ["Haus <&> Tom", "Tom & Boston"]), prompt=prompt)
    tags = tags_of(text)
    if tags is None:
        with pytest.raises(InvalidRequestError, match="not well-formed"):
            await translator.plan(work_of(text, format="xml"))
        return
    answer = await translate(translator, text, format="xml", split_sentences=splitting, xml={"ignore_tags": ["x"]})
    if answer.translation is not None:
        assert tags_of(answer.translation) == tags
        assert answer.translation.count('<x id="1"></x>') == text.count('<x id="1"></x>')


def tags_of(text: str) -> Counter[str] | None:
    """Return the tags; None if the text is not well-formed."""
    try:
        return Counter(text[token.start : token.end] for token in xml_tokens(text) if token.name)
    except XmlSyntaxError:
        return None


@pytest.mark.parametrize(("text", "field"), [("a & b", "text"), (["a", "<b>"], "text[1]")])
async def test_malformed_xml_is_refused_with_its_place(text: str | list[str], field: str) -> None:
    translator, engine = translator_of(german_words)
    with pytest.raises(InvalidRequestError) as caught:
        await translator.translate(work_of(text, format="xml"))
    (error,) = caught.value.facts["errors"]
    assert error["field"] == field
    assert "line 1, column" in error["message"]
    assert engine.asked == []


async def test_text_cut_against_the_wish_has_a_warning() -> None:
    translator, _ = translator_of(german_words)
    whole = await translate(translator, "Tea is here.\nDad is there.", split_sentences="none")
    assert whole.warnings == []
    assert "\n" not in (whole.translation or "\n")
    long = await translate(translator, sentences(9), split_sentences="none")
    assert [notice.code for notice in long.warnings] == ["text-cut"]


def one_sentence(_: Asked) -> GenerationResult:
    """Answer in German, whatever the prompt is."""
    return GenerationResult("Das Haus steht.", "stop")


async def test_context_reaches_the_prompt_of_every_segment() -> None:
    translator, engine = translator_of(one_sentence, prompt="hy-mt2")
    answer = await translate(translator, "Tea is here.\nDad is there.", context="At the bank.")
    assert answer.warnings == []
    assert [asked.text.count("At the bank.") for asked in engine.asked] == [1, 1]
    plain_engine = translator_of(one_sentence, prompt="hy-mt2")
    await translate(plain_engine[0], "Tea is here.\nDad is there.")
    assert [each.max_tokens for each in engine.asked] == [each.max_tokens for each in plain_engine[1].asked]


async def test_context_is_charged_for_each_prompt_that_repeats_it() -> None:
    context, texts = "At the bank of the river. " * 8, ["Tea is here."] * 20

    async def tokens_and_units(**fields: Any) -> tuple[int, float]:
        translator, engine = translator_of(one_sentence, prompt="hy-mt2")
        work = work_of(texts, **fields)
        await translator.translate(work)
        return sum(len(asked.text) for asked in engine.asked), work.cost

    bare_tokens, bare_units = await tokens_and_units()
    tokens, units = await tokens_and_units(context=context)
    assert tokens - bare_tokens > len(texts) * len(context), "each text's prompt repeats it"
    assert units - bare_units == pytest.approx(len(texts) * len(context) / CONTEXT_CHARS_PER_UNIT)


async def test_prompts_begin_with_the_context() -> None:
    """The engine's prefix cache computes a context once if nothing before it differs."""
    translator, engine = translator_of(one_sentence, prompt="hy-mt2")
    await translator.translate(work_of(["Tea is here.", "Dad is there."], context="At the bank."))
    assert len(engine.asked) == 2
    assert {asked.text.partition("At the bank.")[0] for asked in engine.asked} == {"[Background Information]\n"}


@pytest.mark.parametrize(
    ("prompt", "context", "terms", "why"),
    [
        ("demo-tags", "At the bank.", {}, "have no place for it"),
        ("hy-mt2", "word " * 200, {}, "it has 1"),
        ("hy-mt2", "At the bank.", {"house": "Heim"}, "for sentences with terms"),
    ],
)
async def test_unused_context_has_a_warning(prompt: str, context: str, terms: dict[str, str], why: str) -> None:
    translator, engine = translator_of(one_sentence, prompt=prompt)
    answer = await translate(translator, "The house is here.", context=context, terms=terms)
    (notice,) = [notice for notice in answer.warnings if notice.code == "context-unused"]
    assert why in notice.message
    assert context not in engine.asked[0].text


async def test_text_without_segments_needs_no_context() -> None:
    translator, _ = translator_of(german_words)
    assert (await translate(translator, "42", context="At the bank.")).warnings == []


async def test_long_steps_are_written_in_a_thread() -> None:
    """In Markdown, that takes 3 µs a character."""
    translator, _ = translator_of(in_brackets)
    threads: list[threading.Thread] = []

    def escape(text: str) -> str:
        threads.append(threading.current_thread())
        return text

    step = TextStep("1" * (INLINE_WRITE_CHARS + 1), Block("", (), "", escape), translatable=False)
    plan = Plan.of(LanguagePair("en", "de"), [step])
    model = translator._model  # pyright: ignore[reportPrivateUsage]
    assert (await TextTranslation(model, work_of("1"), plan, 0, 0).run()).translation == step.text
    assert threads != [threading.current_thread()]
