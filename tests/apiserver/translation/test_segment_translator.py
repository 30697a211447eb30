"""The stages of one segment, with outputs from a script."""

from __future__ import annotations

import asyncio
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.catalog.model_entry import MaskKind
from apiserver.engine.interface import GenerationResult
from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char, placeholder_index
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import ALTERNATIVE_TEMPERATURES, Sampling
from apiserver.protection.placeholders import Protection, protect
from apiserver.translation.engine_requests import INLINE_CHECK_CHARS, TurnRunner
from apiserver.translation.masks import MaskPolicy
from apiserver.translation.segment_attempts import SegmentResult
from apiserver.translation.segment_translator import (
    MAX_DEPTH,
    MAX_PIECES,
    SegmentContext,
    translate_segment,
    without_full_stop,
)
from shared.languages import LanguagePair
from tests.text_skeleton import skeleton

T = TypeVar("T")
# What ``re`` compiles with, and the patterns that it keeps.
re_compiler = importlib.import_module("re._compiler")
EN_DE = LanguagePair("en", "de")
LANGUAGES = OutputLanguage()
A, B = placeholder_char(0), placeholder_char(1)
DEMO, HUNYUAN = FAMILIES["demo-tags"], FAMILIES["hy-mt2"]
GERMAN = "Das Haus am See gehört meiner alten Tante."
ENGLISH = "The house by the lake belongs to my old aunt."


@dataclass
class ScriptedRequester:
    """Returns outputs from a script, by text or in turn; keeps the requests."""

    script: Callable[[str, Sampling], GenerationResult]
    texts: list[str] = field(default_factory=list[str])
    terms: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    samplings: list[Sampling] = field(default_factory=list[Sampling])

    async def __call__(self, text: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        await asyncio.sleep(0)
        self.texts.append(text)
        self.terms.append(terms)
        self.samplings.append(sampling)
        return self.script(text, sampling)


def output_of(text: str, finish_reason: str = "stop", *, repeats: bool = False) -> GenerationResult:
    return GenerationResult(text, finish_reason, repeats=repeats, leaked_controls=False)


def in_turn(*outputs: GenerationResult) -> Callable[[str, Sampling], GenerationResult]:
    remaining = list(outputs)
    return lambda _, __: remaining.pop(0) if len(remaining) > 1 else remaining[0]


async def translate(
    requester: ScriptedRequester,
    text: str = ENGLISH,
    placeholders: Sequence[Placeholder] = (),
    family: PromptFamily = DEMO,
) -> SegmentResult:
    return await translate_segment(
        text, placeholders, SegmentContext(EN_DE, family, Sampling(), QualityGuard(LANGUAGES), requester)
    )


def name(source: str, target: str | None = None) -> Placeholder:
    return Placeholder(PlaceholderKind.NAME, source, target or source, is_text=True)


def tags() -> list[Placeholder]:
    return [Placeholder(PlaceholderKind.OPEN, "<b>", "<b>", 1), Placeholder(PlaceholderKind.CLOSE, "</b>", "</b>", 0)]


async def test_good_output_needs_one_request() -> None:
    requester = ScriptedRequester(lambda _, __: output_of(GERMAN))
    assert await translate(requester) == SegmentResult(GERMAN, stage="first")
    assert requester.texts == [ENGLISH]


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(output_of("Das Haus", "length"), id="output-too-long"),
        pytest.param(output_of("Das Haus Das Haus", "repetition", repeats=True), id="output-repeats"),
        pytest.param(output_of("Das Haus", "abort"), id="output-incomplete"),
        pytest.param(output_of("  "), id="output-empty"),
        pytest.param(output_of(ENGLISH), id="output-echoes-source"),
        pytest.param(output_of("La maison au bord du lac appartient à ma vieille tante."), id="output-wrong-language"),
        pytest.param(output_of("Das."), id="output-too-short"),
        pytest.param(output_of(f"{GERMAN} " * 9), id="output-repeats"),
        pytest.param(GenerationResult(GERMAN, "stop", repeats=False, leaked_controls=True), id="output-leaks-control"),
    ],
)
async def test_bad_output_is_requested_with_retry_sampling(
    bad: GenerationResult, request: pytest.FixtureRequest
) -> None:
    requester = ScriptedRequester(in_turn(bad, output_of(GERMAN)))
    result = await translate(requester)
    assert (result.text, result.issues, result.stage) == (GERMAN, (), "second")
    assert request.node.callspec.id.rstrip("012") in result.issue_codes
    assert requester.samplings[0].temperature == 0
    assert requester.samplings[1].temperature > 0


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
async def test_text_around_translation_is_removed(around: str, code: str) -> None:
    result = await translate(ScriptedRequester(lambda _, __: output_of(around.format(GERMAN))))
    assert (result.text, result.issues, result.stage) == (GERMAN, (), "first")
    assert result.issue_codes == (code,)


async def test_added_full_stop_is_removed_with_its_space() -> None:
    result = await translate(
        ScriptedRequester(lambda _, __: output_of(f"{GERMAN.rstrip('.')} .")), "The house stands between the trees"
    )
    assert result.text == GERMAN.rstrip(".")


async def test_two_bad_outputs_lead_to_pieces() -> None:
    source = "I know the house, and I like the garden."
    pieces = {"I know the house,": "Ich kenne das Haus,", "and I like the garden.": "und ich mag den Garten."}
    requester = ScriptedRequester(
        lambda text, _: output_of(pieces.get(text, ""), "stop" if text in pieces else "length")
    )
    result = await translate(requester, source)
    assert result.text == "Ich kenne das Haus, und ich mag den Garten."
    assert result.stage == "pieces"
    assert result.issues == ()


async def test_best_candidate_keeps_its_issue() -> None:
    requester = ScriptedRequester(lambda text, _: output_of(text))
    result = await translate(requester)
    assert result.text is not None
    assert result.stage == "best"
    assert {issue.code for issue in result.issues} == {"output-echoes-source"}


async def test_unusable_outputs_give_no_text() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("x", "length"))
    result = await translate(requester)
    assert result.text is None
    assert result.stage == "none"
    assert result.issues[0].code == "output-too-long"
    assert len(requester.texts) <= 2 * (1 + MAX_PIECES + MAX_PIECES**MAX_DEPTH)


async def test_placeholders_are_encoded_in_the_family_s_style() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("Hallo <n1/>, wie geht es dir heute?"))
    result = await translate(requester, f"Hello {A}, how are you today?", [name("{user}")])
    assert result.text == f"Hallo {A}, wie geht es dir heute?"
    assert requester.texts == ["Hello <n1/>, how are you today?"]


async def test_lost_placeholder_is_encoded_otherwise() -> None:
    requester = ScriptedRequester(
        lambda text, _: output_of("Hallo, wie geht es dir heute?") if "how" in text else output_of("Hallo")
    )
    result = await translate(requester, f"Hello {A}, how are you today?", [name("{user}")], HUNYUAN)
    assert requester.texts[0] == "Hello {user}, how are you today?"
    assert "{user}" not in requester.texts[1]
    assert result.stage == "pieces"
    assert result.text is not None
    assert result.text.count(A) == 1
    assert "placeholder-lost" in result.issue_codes


async def test_lost_name_travels_as_placeholder() -> None:
    requester = ScriptedRequester(
        lambda text, _: output_of("<n1/> wohnt in Prag." if "<n1/>" in text else "Ascheburg wohnt in Prag.")
    )
    result = await translate(requester, "Zuzana lives in Prague.")
    assert (result.text, result.issues, result.stage) == ("Zuzana wohnt in Prag.", (), "masked")
    assert result.issue_codes == ("name-changed",)
    assert requester.texts == ["Zuzana lives in Prague."] * 2 + ["<n1/> lives in Prague."]


async def test_name_lost_for_good_is_a_warning_without_pieces() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("Ascheburg kommt, und dann gehen wir."))
    result = await translate(requester, "Zuzana comes, and then we go.")
    assert (result.text, result.stage) == ("Ascheburg kommt, und dann gehen wir.", "best")
    assert [(issue.code, issue.values) for issue in result.issues] == [("name-changed", ("Zuzana",))]
    assert len(requester.texts) == 3 + len(ALTERNATIVE_TEMPERATURES)


async def test_further_samplings_are_tried_for_a_lost_name() -> None:
    wrong = output_of("Ascheburg wohnt in Prag.")
    requester = ScriptedRequester(in_turn(wrong, wrong, wrong, wrong, output_of("Zuzana wohnt in Prag.")))
    result = await translate(requester, "Zuzana lives in Prague.")
    assert (result.text, result.issues, result.stage) == ("Zuzana wohnt in Prag.", (), "sampled")
    assert len(requester.texts) == 5


async def test_name_unseen_in_another_script_is_only_a_warning() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("彼女は家にいます。"))
    context = SegmentContext(LanguagePair("en", "ja"), DEMO, Sampling(), QualityGuard(LANGUAGES), requester)
    result = await translate_segment("Gertrud is at home.", (), context)
    assert (result.stage, [issue.values for issue in result.issues]) == ("first", [("Gertrud",)])
    assert len(requester.texts) == 1


def masking(requester: ScriptedRequester) -> SegmentContext:
    policy = MaskPolicy(tuple(MaskKind), lambda word: len(word) // 3)
    return SegmentContext(EN_DE, DEMO, Sampling(), QualityGuard(LANGUAGES), requester, policy)


async def test_masks_are_placeholders_on_the_first_try() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("<n1/>s Schwester kam um <q2/>."))
    result = await translate_segment("Zuzana's sister came at 8:05.", (), masking(requester))
    assert (result.text, result.issues, result.stage) == ("Zuzanas Schwester kam um 8:05.", (), "masked")
    assert requester.texts == ["<n1/>'s sister came at <q2/>."]


async def test_lost_mask_leads_to_the_text_as_it_is() -> None:
    requester = ScriptedRequester(
        lambda text, _: output_of("Sie ist hier." if "<n1/>" in text else "Zuzana ist jetzt hier.")
    )
    result = await translate_segment("Zuzana is here now.", (), masking(requester))
    assert (result.text, result.issues, result.stage) == ("Zuzana ist jetzt hier.", (), "first")


async def test_terms_go_into_the_term_prompt() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("Wo ist der Hauptbahnhof in dieser Stadt?"))
    result = await translate(requester, f"Where is the {A} in this town?", [name("station", "Hauptbahnhof")], HUNYUAN)
    assert requester.texts == ["Where is the station in this town?"]
    assert requester.terms == [{"station": "Hauptbahnhof"}]
    assert result.text == f"Wo ist der {A} in dieser Stadt?"


async def test_quantity_is_no_term_of_the_prompt() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("Das Haus in Bonn ist $5,50 wert."))
    amount = Placeholder(PlaceholderKind.QUANTITY, "$5.50", "$5,50", is_text=True)
    result = await translate(requester, f"The house in Bonn is worth {A}.", [amount], HUNYUAN)
    assert requester.texts == ["The house in Bonn is worth $5,50."]
    assert requester.terms == [{}]
    assert result.text == f"Das Haus in Bonn ist {A} wert."


async def test_lost_tags_lead_to_pieces() -> None:
    answers = {"This is": "Das ist", "very important": "sehr wichtig", "for us.": "für uns."}
    requester = ScriptedRequester(lambda text, _: output_of(answers.get(text, "Es ist von hoher Bedeutung für uns.")))
    result = await translate(requester, f"This is {A}very important{B} for us.", tags())
    assert result.text == f"Das ist {A}sehr wichtig{B} für uns."
    assert result.stage == "pieces"


async def test_more_placeholders_than_a_model_knows_lead_to_pieces() -> None:
    requester = ScriptedRequester(lambda text, _: output_of(text.replace("the house", "das Haus")))
    chars = [placeholder_char(index) for index in range(13)]
    text = " the house ".join(chars)
    family = FAMILIES["demo-tags"]
    result = await translate(requester, text, [name("%s")] * 13, family)
    assert (result.text, result.stage) == (" das Haus ".join(chars), "pieces")
    assert set(requester.texts) == {"the house"}
    requester.texts.clear()
    await translate(requester, " the house ".join(chars[:12]), [name("%s")] * 13, family)
    assert requester.texts[0].endswith("<n11/> the house <n12/>")


async def test_changed_number_is_asked_again() -> None:
    requester = ScriptedRequester(
        in_turn(output_of("3 Äpfel für 5.30 Uhr in Bonn"), output_of("3 Äpfel für 5 Euro in Bonn"))
    )
    result = await translate(requester, "3 apples for 5 euros in Bonn")
    assert (result.text, result.issues, result.stage) == ("3 Äpfel für 5 Euro in Bonn", (), "second")
    assert "number-changed" in result.issue_codes


async def test_number_changed_twice_travels_as_placeholder() -> None:
    outputs = {
        "Room 1,250 is on floor 3.": "Zimmer 1.520 ist im Stock 3.",
        "Room <q1/> is on floor 3.": "Zimmer <q1/> ist im Stock 3.",
    }
    requester = ScriptedRequester(lambda text, _: output_of(outputs[text]))
    result = await translate(requester, "Room 1,250 is on floor 3.")
    assert (result.text, result.issues, result.stage) == ("Zimmer 1.250 ist im Stock 3.", (), "masked")
    assert requester.texts == ["Room 1,250 is on floor 3."] * 2 + ["Room <q1/> is on floor 3."]


async def test_placeholder_of_a_number_keeps_those_of_the_block() -> None:
    placeholders = (Placeholder(PlaceholderKind.NAME, "{who}", "{who}", is_text=True),)
    requester = ScriptedRequester(lambda text, _: output_of(text.replace("has", "hat").replace("8:05", "8:50")))
    result = await translate(requester, f"{A} has at 8:05 in Rome a new house.", placeholders)
    assert result.text is not None
    assert result.text.startswith(f"{A} hat at 8:05")
    assert result.stage == "masked"


async def test_number_that_stays_changed_is_shown_with_its_value() -> None:
    requester = ScriptedRequester(lambda _, __: output_of("Der Zug nach Bonn fährt um 8.50 Uhr ab."))
    result = await translate(requester, "The train to Bonn leaves at 8:05.")
    assert result.text == "Der Zug nach Bonn fährt um 8.50 Uhr ab."
    assert [(issue.code, issue.values) for issue in result.issues] == [("number-changed", ("8:05",))]
    assert result.stage == "best"


async def test_numbers_of_placeholders_are_not_compared() -> None:
    placeholders = (Placeholder(PlaceholderKind.QUANTITY, "$5.50", "$5,50", is_text=True),)
    requester = ScriptedRequester(lambda _, __: output_of("Das Haus in Bonn kostet <q1/>."))
    result = await translate(requester, f"The house in Bonn costs {A}.", placeholders)
    assert (result.text, result.issues) == (f"Das Haus in Bonn kostet {A}.", ())


async def test_numbered_tags_are_restored() -> None:
    requester = ScriptedRequester(
        lambda text, _: output_of(text.replace("This is", "Das ist").replace("very important", "sehr wichtig"))
    )
    result = await translate(requester, f"This is {A}very important{B}", tags(), HUNYUAN)
    assert result.text == f"Das ist {A}sehr wichtig{B}"


def placeholders_of(text: str) -> list[str]:
    return sorted(char for char in text if placeholder_index(char) is not None)


WORDS = st.sampled_from(["house", "the", "<n1/>", "a", "%s", "<b>", "\n", "  ", "é", "</s>", "家", "7"])


@given(
    text=st.lists(st.sampled_from([*"abc xyz", A, B]), min_size=1, max_size=20).map("".join),
    answers=st.lists(st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=20), min_size=1, max_size=6),
    family=st.sampled_from([DEMO, HUNYUAN]),
)
async def test_no_output_loses_or_adds_a_placeholder(text: str, answers: list[str], family: PromptFamily) -> None:
    once = "".join(char for place, char in enumerate(text) if char not in text[:place] or char not in {A, B})
    once = " ".join(once.split())  # as a segment is
    if not once:
        return
    requester = ScriptedRequester(in_turn(*map(output_of, answers)))
    result = await translate(requester, once, [name("{x}"), name("%d")], family)
    if result.text is not None:
        assert placeholders_of(result.text) == placeholders_of(once)
        assert skeleton(result.text) == ["", ""]


@pytest.mark.parametrize(
    ("words", "source", "expected"),
    [
        ("Guten Tag.", "Good day", "Guten Tag"),
        ("Guten Tag .", "Good day", "Guten Tag"),
        ("Guten Tag.", "Good day.", "Guten Tag."),
        ("Und dann...", "And then", "Und dann..."),
        ("你好。", "Hello", "你好"),
        (".", "x", "."),
    ],
)
def test_added_full_stop_is_removed(words: str, source: str, expected: str) -> None:
    assert without_full_stop(words, source) == expected


def re_cache() -> dict[object, object]:
    return cast("dict[object, object]", vars(re)["_cache"])


def price_list(count: int) -> str:
    return f"Buy {', '.join(f'{number} kg' for number in range(1, count + 1))} today."


@pytest.mark.parametrize("family", ["hy-mt2", "qwen3", "demo-tags"])
async def test_price_list_compiles_no_pattern(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern for each amount stopped the event loop for 0.7 s; 26,000 are in a text of 200 KB."""
    block = protect(Block(text := price_list(120), (), text), Protection.of([], {}), EN_DE)
    requester = ScriptedRequester(lambda encoded, _: output_of(encoded.replace("Buy", "Kaufen Sie")))
    context = SegmentContext(EN_DE, FAMILIES[family], Sampling(), QualityGuard(LANGUAGES), requester)
    await translate_segment("Buy 1 kg", (), context)  # what a pair compiles once
    compiled: list[object] = []
    compile_pattern = re_compiler.compile

    def recorded(pattern: object, flags: int = 0) -> object:
        compiled.append(pattern)
        return compile_pattern(pattern, flags)

    monkeypatch.setattr(re_compiler, "compile", recorded)
    result = await translate_segment(block.text, block.placeholders, context)
    assert result.text is not None
    assert compiled == []


LOST = GenerationResult("Qualtrexa Wombledurk aus Brimzelwick mit 7 Gurntofel-X90", "stop")


async def test_words_of_texts_stay_in_no_cache() -> None:
    """Neither in those of our functions, nor in the patterns of ``re``."""
    requester = ScriptedRequester(lambda _, __: LOST)
    context = SegmentContext(EN_DE, HUNYUAN, Sampling(), QualityGuard(LANGUAGES), requester)
    await translate_segment(
        "Ms Zoë Quorvalane-Ix7 met Ärvik at vuxxi@brel.example: $17, {grelf} and RX-480.", (), context
    )
    caches = [
        function
        for module in list(sys.modules.values())
        if module.__name__.startswith(("apiserver.", "shared."))
        for function in vars(module).values()
        if hasattr(function, "cache_info")
    ]
    sizes = [cache.cache_info().currsize for cache in caches]
    patterns = set(re_cache())
    for number in range(20):
        word = f"{'ëöäü'[number % 4]}{'ëöäü'[number // 4 % 4]}"  # letters are remembered, words are not
        text = f"Ms Zo{word} Quor{word}lane-Ix7{number} met Är{word}k at vu{number}@brel.example: ${number}, {{gr{number}}} and RX-48{number}."
        placeholders = protect(Block(text, (), text), Protection.of([f"Är{word}k"], {"met": f"tr{word}"}), EN_DE)
        await translate_segment(placeholders.text, placeholders.placeholders, context)
        await translate_segment(text, (), context)
    assert [cache.cache_info().currsize for cache in caches] == sizes
    assert set(re_cache()) == patterns


async def test_long_segments_are_checked_elsewhere() -> None:
    """Whatever takes long on a long segment waits for its caller's turn in a thread."""
    ran: list[int] = []

    async def run_long(chars: int, function: Callable[[], T]) -> T:
        ran.append(chars)
        return await asyncio.to_thread(function)

    requester = ScriptedRequester(lambda text, _: output_of(f"{GERMAN} " * (len(text) // len(GERMAN))))
    context = SegmentContext(EN_DE, DEMO, Sampling(), QualityGuard(LANGUAGES), requester, runner=TurnRunner(run_long))
    assert (await translate_segment(ENGLISH, (), context)).text is not None
    assert ran == []
    assert (await translate_segment(f"{ENGLISH} " * (INLINE_CHECK_CHARS // len(ENGLISH)), (), context)).text is not None
    assert min(ran) > INLINE_CHECK_CHARS
