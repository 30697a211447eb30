"""Assembler: texts joined from segments that come back in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.guards.quality_guard import OutputIssue
from apiserver.translation.assembler import CHARS_AT_ONCE, UNTRANSLATED, Assembler
from apiserver.translation.confidence import Confidence
from apiserver.translation.planner import GapStep, Plan, Step, TagStep, TextStep
from apiserver.translation.segment_attempts import SegmentResult
from shared.languages import LanguagePair
from shared.protocol.answers import MAX_UNCERTAIN

EN_DE, ZH_EN = LanguagePair("en", "de"), LanguagePair("zh", "en")
ODD = OutputIssue("output-too-wordy", "The answer is much longer than its source.", usable=True, weight=1)
NONE = OutputIssue("output-empty", "The model answered with nothing.", usable=False, weight=9)
BLOCK = Block("", (), "")


def text_step(text: str, block: Block = BLOCK, *, translatable: bool = True) -> TextStep:
    return TextStep(text, block, translatable)


def plan_of(*steps: Step, pair: LanguagePair = EN_DE) -> Plan:
    return Plan.of(pair, steps)


def test_deltas_come_in_order() -> None:
    deltas: list[str] = []
    assembler = Assembler(plan_of("<", text_step("a"), GapStep("  ", BLOCK), text_step("b"), ">"), deltas.append)
    assembler.add(3, SegmentResult("B"))
    assert deltas == []
    assembler.add(1, SegmentResult("A"))
    assert "".join(deltas) == "<A  B"
    assembler.close()
    assert assembler.text == "".join(deltas) == "<A  B>"


def test_prepared_step_is_not_written_again() -> None:
    def refuse(text: str) -> str:
        raise AssertionError(text)

    block = Block("", (), "", refuse)
    steps = (text_step("a", block), TagStep("x", block), text_step("1", block, translatable=False))
    assembler = Assembler(plan_of(*steps), None)
    for index, written in enumerate(("A", "|", "one")):
        assembler.prepare(index, written)
    assembler.add(0, SegmentResult("A"))
    assembler.close()
    assert assembler.text == "A|one"


def test_few_characters_are_written_at_once() -> None:
    parts: list[str] = []
    line = "1" * CHARS_AT_ONCE
    steps = [text_step(line, translatable=False) for _ in range(5)]
    assembler = Assembler(plan_of(*steps), parts.append)
    turns = 1
    while assembler.advance():
        turns += 1
        assert sum(map(len, parts)) <= turns * CHARS_AT_ONCE
    assembler.close()
    assert turns == len(steps)
    assert assembler.text == 5 * line


def test_text_is_none_if_every_segment_failed() -> None:
    deltas: list[str] = []
    assembler = Assembler(plan_of("- ", text_step("a"), GapStep(" ", BLOCK), text_step("b")), deltas.append)
    assembler.add(1, SegmentResult(None, (NONE,)))
    assembler.add(3, SegmentResult(None, (NONE,)))
    assembler.close()
    assert assembler.text is None
    assert deltas == []
    assert [(notice.code, notice.message) for notice in assembler.warnings()] == [(NONE.code, NONE.message)]


def test_doubtful_segments_are_noted_where_they_stand() -> None:
    assembler = Assembler(
        plan_of("<", text_step("a"), GapStep("  ", BLOCK), text_step("b"), "-", text_step("c")), None, 0.3
    )
    for index, value in ((5, 0.1), (3, 0.3), (1, 0.29)):
        assembler.add(index, SegmentResult("Es" * index, confidence=Confidence(value)))
    assembler.close()
    assert assembler.text is not None
    assert [assembler.text[start:end] for start, end in assembler.uncertain] == ["Es", "Es" * 5]


def test_doubts_are_few_and_none_without_a_bound() -> None:
    steps = [text_step("a") for _ in range(MAX_UNCERTAIN + 3)]
    few, none = Assembler(plan_of(*steps), None, 0.5), Assembler(plan_of(*steps), None)
    for assembler in (few, none):
        for index in range(len(steps)):
            assembler.add(index, SegmentResult("A", confidence=Confidence(0.1)))
        assembler.close()
    assert (len(few.uncertain), few.uncertain[-1]) == (MAX_UNCERTAIN, (MAX_UNCERTAIN - 1, len(steps)))
    assert none.uncertain == []


def test_failed_segment_stays_with_a_warning() -> None:
    deltas: list[str] = []
    assembler = Assembler(plan_of(text_step("a"), GapStep("\n", BLOCK), text_step("b")), deltas.append)
    assembler.add(0, SegmentResult(None, (NONE,)))
    assembler.add(2, SegmentResult("B"))
    assembler.close()
    assert assembler.text == "".join(deltas) == "a\nB"
    assert [notice.code for notice in assembler.warnings()] == [UNTRANSLATED]
    assert "1 of 2 segments" in assembler.warnings()[0].message


def test_each_issue_code_is_one_warning() -> None:
    steps = [text_step("a"), text_step("b"), text_step("c")]
    assembler = Assembler(plan_of(*steps), None)
    assembler.add(0, SegmentResult("A", (ODD, ODD)))
    assembler.add(1, SegmentResult("B", (ODD,)))
    assembler.add(2, SegmentResult("C"))
    assembler.close()
    assert [(n.code, n.message) for n in assembler.warnings()] == [(ODD.code, f"{ODD.message} (2 of 3 segments)")]


def test_a_warning_has_the_values_of_all_segments() -> None:
    assembler = Assembler(plan_of(text_step("a"), text_step("b")), None)
    assembler.add(0, SegmentResult("A", (ODD.with_values(["1"]), ODD.with_values(["2"]))))
    assembler.add(1, SegmentResult("B", (ODD.with_values(["2", "3"]),)))
    assembler.close()
    (warning,) = assembler.warnings()
    assert (warning.code, warning.values) == (ODD.code, ["1", "2", "3"])
    assert "2 of 2 segments" in warning.message


def test_segment_in_pieces_adds_a_warning() -> None:
    assembler = Assembler(plan_of(text_step("a"), text_step("b")), None)
    assembler.add(0, SegmentResult("A", stage="pieces"))
    assembler.add(1, SegmentResult("B", stage="second"))
    assembler.close()
    assert [notice.code for notice in assembler.warnings()] == ["translated-in-pieces"]
    assert "1 of 2 segments" in assembler.warnings()[0].message


def test_text_without_segments_is_unchanged() -> None:
    deltas: list[str] = []
    assembler = Assembler(plan_of("12", text_step("34", translatable=False)), deltas.append)
    assembler.close()
    assert assembler.text == "".join(deltas) == "1234"
    assert assembler.warnings() == []


def test_close_before_last_segment_raises() -> None:
    assembler = Assembler(plan_of(text_step("a")), None)
    with pytest.raises(ValueError, match="step 0 of 1"):
        assembler.close()


def test_text_is_escaped_but_syntax_is_not() -> None:
    placeholders = (
        Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
        Placeholder(PlaceholderKind.NAME, "a&b", "a&b", is_text=True),
    )
    block = Block("", placeholders, "", escape=lambda text: text.replace("&", "&amp;"))
    assembler = Assembler(plan_of(text_step("x", block)), None)
    assembler.add(0, SegmentResult(f"B & {placeholder_char(1)}{placeholder_char(0)}C"))
    assembler.close()
    assert assembler.text == "B &amp; a&amp;b<br>C"


def test_space_is_added_between_sentences_across_a_tag() -> None:
    block = Block("", (), "")
    steps = (text_step("你好。", block), GapStep("", block), "<b>", text_step("再见。", block), "</b>")
    assembler = Assembler(plan_of(*steps, pair=ZH_EN), None)
    assembler.add(0, SegmentResult("Hello."))
    assembler.add(3, SegmentResult("Goodbye."))
    assembler.close()
    assert assembler.text == "Hello. <b>Goodbye.</b>"


def test_no_space_is_added_between_blocks() -> None:
    steps = (text_step("你好。", Block("", (), "1")), GapStep("", BLOCK), text_step("再见。", Block("", (), "2")))
    assembler = Assembler(plan_of(*steps, pair=ZH_EN), None)
    assembler.add(0, SegmentResult("Hello."))
    assembler.add(2, SegmentResult("Goodbye."))
    assembler.close()
    assert assembler.text == "Hello.Goodbye."


@given(st.permutations(range(6)))
def test_results_may_come_in_any_order(order: list[int]) -> None:
    steps: list[Step] = []
    for number in range(6):
        steps += [text_step(str(number)), GapStep("\n", BLOCK)]
    deltas: list[str] = []
    assembler = Assembler(plan_of(*steps), deltas.append)
    for number in order:
        assembler.add(2 * number, SegmentResult(f"<{number}>"))
    assembler.close()
    assert assembler.text == "".join(deltas) == "<0>\n<1>\n<2>\n<3>\n<4>\n<5>\n"
