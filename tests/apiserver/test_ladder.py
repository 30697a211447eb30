"""One segment's rungs, with an engine that says what the test wants, rung by rung."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.engine.interface import GenerationResult
from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char, placeholder_index
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.prompts.builtin import FAMILIES
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import Sampling
from apiserver.translation.segment_translator import (
    MAX_DEPTH,
    MAX_PIECES,
    SegmentContext,
    SegmentResult,
    translate_segment,
)
from shared.languages import LanguagePair
from tests.text_skeleton import skeleton

EN_DE = LanguagePair("en", "de")
LANGUAGES = OutputLanguage()
A, B = placeholder_char(0), placeholder_char(1)
DEMO, HUNYUAN = FAMILIES["demo-tags"], FAMILIES["hy-mt2"]
GERMAN = "Das Haus am See gehört meiner alten Tante."
ENGLISH = "The house by the lake belongs to my old aunt."


@dataclass
class Asked:
    """Answers from a script, by the words or one after the other; remembers what was asked."""

    script: Callable[[str, Sampling], GenerationResult]
    words: list[str] = field(default_factory=list[str])
    terms: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    samplings: list[Sampling] = field(default_factory=list[Sampling])

    async def __call__(self, words: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        await asyncio.sleep(0)
        self.words.append(words)
        self.terms.append(terms)
        self.samplings.append(sampling)
        return self.script(words, sampling)


def says(text: str, finish_reason: str = "stop", *, repeats: bool = False) -> GenerationResult:
    return GenerationResult(text, finish_reason, repeats=repeats, leaked_controls=False)


def one_after_the_other(*outputs: GenerationResult) -> Callable[[str, Sampling], GenerationResult]:
    waiting = list(outputs)
    return lambda _, __: waiting.pop(0) if len(waiting) > 1 else waiting[0]


async def climbed(
    asked: Asked, text: str = ENGLISH, marks: Sequence[Placeholder] = (), family: PromptFamily = DEMO
) -> SegmentResult:
    return await translate_segment(
        text, marks, SegmentContext(EN_DE, family, Sampling(), QualityGuard(LANGUAGES), asked)
    )


def name(source: str, target: str | None = None) -> Placeholder:
    return Placeholder(PlaceholderKind.NAME, source, target or source, is_text=True)


def tags() -> list[Placeholder]:
    return [Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 1), Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 0)]


async def test_a_good_answer_is_asked_for_once() -> None:
    asked = Asked(lambda _, __: says(GERMAN))
    assert await climbed(asked) == SegmentResult(GERMAN, stage="first")
    assert asked.words == [ENGLISH]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(says("Das Haus", "length"), id="output-too-long"),
        pytest.param(says("Das Haus Das Haus", "repetition", repeats=True), id="output-repeats"),
        pytest.param(says("Das Haus", "abort"), id="output-incomplete"),
        pytest.param(says("  "), id="output-empty"),
        pytest.param(says(ENGLISH), id="output-echoes-source"),
        pytest.param(says("La maison au bord du lac appartient à ma vieille tante."), id="output-wrong-language"),
        pytest.param(says("Das."), id="output-too-short"),
        pytest.param(says(f"{GERMAN} " * 9), id="output-repeats"),
        pytest.param(GenerationResult(GERMAN, "stop", repeats=False, leaked_controls=True), id="output-leaks-control"),
    ],
)
async def test_a_bad_answer_is_mended_by_another_decoding(
    bad: GenerationResult, request: pytest.FixtureRequest
) -> None:
    asked = Asked(one_after_the_other(bad, says(GERMAN)))
    made = await climbed(asked)
    assert (made.text, made.issues, made.stage) == (GERMAN, (), "second")
    assert request.node.callspec.id.rstrip("012") in made.issue_codes
    assert asked.samplings[0].temperature == 0
    assert asked.samplings[1].temperature > 0


@pytest.mark.parametrize(
    ("around", "code"),
    [
        ("Sure! Here is the translation:\n\n{}", "removed-preamble"),
        ("{}\n\n(Note: I kept the tone of the original.)", "removed-note"),
        ("“{}”", "removed-quotes"),
        ("<think>The user wants German.</think>\n{}", "removed-thinking"),
        ("{}<|im_end|>", "removed-controls"),
        ("```\n{}\n```", "removed-wrapping"),
        ("{}\nEnglish: The dog sleeps.\nGerman: Der Hund schläft.", "removed-next-turn"),
    ],
)
async def test_what_a_model_wrote_around_its_translation_is_taken_away_and_counted(around: str, code: str) -> None:
    made = await climbed(Asked(lambda _, __: says(around.format(GERMAN))))
    assert (made.text, made.issues, made.stage) == (GERMAN, (), "first")
    assert made.issue_codes == (code,)


async def test_an_added_full_stop_leaves_no_white_space_behind() -> None:
    made = await climbed(Asked(lambda _, __: says(f"{GERMAN.rstrip('.')} .")), "The house stands between the trees")
    assert made.text == GERMAN.rstrip(".")


async def test_what_two_decodings_get_wrong_is_asked_in_pieces() -> None:
    source = "I know the house, and I like the garden."
    pieces = {"I know the house,": "Ich kenne das Haus,", "and I like the garden.": "und ich mag den Garten."}
    asked = Asked(lambda words, _: says(pieces.get(words, ""), "stop" if words in pieces else "length"))
    made = await climbed(asked, source)
    assert made.text == "Ich kenne das Haus, und ich mag den Garten."
    assert made.stage == "pieces"
    assert made.issues == ()


async def test_where_nothing_helps_the_best_is_shown_with_its_fault() -> None:
    asked = Asked(lambda words, _: says(words))
    made = await climbed(asked)
    assert made.text is not None
    assert made.stage == "best"
    assert {fault.code for fault in made.issues} == {"output-echoes-source"}


async def test_where_nothing_may_be_shown_there_are_no_words_but_a_reason() -> None:
    asked = Asked(lambda _, __: says("x", "length"))
    made = await climbed(asked)
    assert made.text is None
    assert made.stage == "none"
    assert made.issues[0].code == "output-too-long"
    assert len(asked.words) <= 2 * (1 + MAX_PIECES + MAX_PIECES**MAX_DEPTH)


async def test_a_model_that_copies_words_gets_placeholders_as_names() -> None:
    asked = Asked(lambda words, _: says("Hallo Tom, wie geht es dir heute?") if "Tom" in words else says("Hallo."))
    made = await climbed(asked, f"Hello {A}, how are you today?", [name("{user}")])
    assert made.text == f"Hallo {A}, wie geht es dir heute?"
    assert asked.words == ["Hello Tom, how are you today?"]


async def test_a_lost_placeholder_is_asked_for_in_another_form_and_then_around_it() -> None:
    asked = Asked(lambda words, _: says("Hallo, wie geht es dir heute?") if "how" in words else says("Hallo"))
    made = await climbed(asked, f"Hello {A}, how are you today?", [name("{user}")], HUNYUAN)
    assert asked.words[0] == "Hello {user}, how are you today?"
    assert "{user}" not in asked.words[1]
    assert made.stage == "pieces"
    assert made.text is not None
    assert made.text.count(A) == 1
    assert "placeholder-lost" in made.issue_codes


async def test_terms_stand_in_the_prompt_of_a_family_that_has_one_for_them() -> None:
    asked = Asked(lambda _, __: says("Wo ist der Hauptbahnhof in dieser Stadt?"))
    made = await climbed(asked, f"Where is the {A} in this town?", [name("station", "Hauptbahnhof")], HUNYUAN)
    assert asked.words == ["Where is the station in this town?"]
    assert asked.terms == [{"station": "Hauptbahnhof"}]
    assert made.text == f"Wo ist der {A} in dieser Stadt?"


async def test_tags_go_around_their_words_where_the_model_knows_no_tags() -> None:
    answers = {
        "This is very important for us.": "Das ist sehr wichtig für uns.",
        "very important": "Sehr wichtig.",
    }
    asked = Asked(lambda words, _: says(answers[words]))
    made = await climbed(asked, f"This is {A}very important{B} for us.", tags())
    assert made.text == f"Das ist {A}sehr wichtig{B} für uns."


async def test_tags_whose_words_are_not_found_are_kept_by_pieces() -> None:
    answers = {"This is": "Das ist", "very important": "sehr wichtig", "for us.": "für uns."}
    asked = Asked(lambda words, _: says(answers.get(words, "Es ist von hoher Bedeutung für uns.")))
    made = await climbed(asked, f"This is {A}very important{B} for us.", tags())
    assert made.text == f"Das ist {A}sehr wichtig{B} für uns."
    assert made.stage == "pieces"


async def test_numbered_tags_come_back_where_the_model_puts_them() -> None:
    asked = Asked(lambda words, _: says(words.replace("This is", "Das ist").replace("very important", "sehr wichtig")))
    made = await climbed(asked, f"This is {A}very important{B}", tags(), HUNYUAN)
    assert made.text == f"Das ist {A}sehr wichtig{B}"


def marks_of(text: str) -> list[str]:
    return sorted(char for char in text if placeholder_index(char) is not None)


WORDS = st.sampled_from(["house", "the", "Tom", "a", "%s", "<b>", "\n", "  ", "é", "</s>", "家", "7"])


@settings(max_examples=150, deadline=None)
@given(
    text=st.lists(st.sampled_from([*"abc xyz", A, B]), min_size=1, max_size=20).map("".join),
    answers=st.lists(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=20), min_size=1, max_size=6),
    family=st.sampled_from([DEMO, HUNYUAN]),
)
async def test_whatever_a_model_answers_no_mark_is_lost_or_invented(
    text: str, answers: list[str], family: PromptFamily
) -> None:
    once = "".join(char for place, char in enumerate(text) if char not in text[:place] or char not in {A, B})
    once = " ".join(once.split())  # as a segment is
    if not once:
        return
    asked = Asked(one_after_the_other(*map(says, answers)))
    made = await climbed(asked, once, [name("{x}"), name("%d")], family)
    if made.text is not None:
        assert marks_of(made.text) == marks_of(once)
        assert skeleton(made.text) == ["", ""]
