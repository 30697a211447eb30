"""Texts put together from segments that come back in any order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.guards.issues import OutputIssue
from apiserver.translation.assembler import UNTRANSLATED, Assembler
from apiserver.translation.planner import GapStep, Plan, Step, TextStep
from apiserver.translation.segment_translator import SegmentResult
from shared.languages import LanguagePair

EN_DE, ZH_EN = LanguagePair("en", "de"), LanguagePair("zh", "en")
ODD = OutputIssue("output-too-wordy", "The answer is much longer than its source.", usable=True, weight=1)
NONE = OutputIssue("output-empty", "The model answered with nothing.", usable=False, weight=9)
BLOCK = Block("", (), "")


def words(text: str, block: Block = BLOCK, *, translatable: bool = True) -> TextStep:
    return TextStep(text, block, translatable)


def planned(*steps: Step, pair: LanguagePair = EN_DE) -> Plan:
    return Plan.of(pair, steps)


def test_nothing_is_said_before_its_turn() -> None:
    said: list[str] = []
    assembly = Assembler(planned("<", words("a"), GapStep("  ", BLOCK), words("b"), ">"), said.append)
    assembly.add(3, SegmentResult("B"))
    assert said == []
    assembly.add(1, SegmentResult("A"))
    assert "".join(said) == "<A  B"
    assembly.close()
    assert assembly.text == "".join(said) == "<A  B>"


def test_a_text_whose_segments_all_failed_is_none_and_nothing_was_said_of_it() -> None:
    said: list[str] = []
    assembly = Assembler(planned("- ", words("a"), GapStep(" ", BLOCK), words("b")), said.append)
    assembly.add(1, SegmentResult(None, (NONE,)))
    assembly.add(3, SegmentResult(None, (NONE,)))
    assembly.close()
    assert assembly.text is None
    assert said == []
    assert [(notice.code, notice.message) for notice in assembly.warnings()] == [(NONE.code, NONE.message)]


def test_one_failed_segment_comes_back_as_it_was_and_is_said() -> None:
    said: list[str] = []
    assembly = Assembler(planned(words("a"), GapStep("\n", BLOCK), words("b")), said.append)
    assembly.add(0, SegmentResult(None, (NONE,)))
    assembly.add(2, SegmentResult("B"))
    assembly.close()
    assert assembly.text == "".join(said) == "a\nB"
    assert [notice.code for notice in assembly.warnings()] == [UNTRANSLATED]
    assert "1 of 2 segments" in assembly.warnings()[0].message


def test_each_kind_of_fault_is_one_warning_however_many_segments_have_it() -> None:
    steps = [words("a"), words("b"), words("c")]
    assembly = Assembler(planned(*steps), None)
    assembly.add(0, SegmentResult("A", (ODD, ODD)))
    assembly.add(1, SegmentResult("B", (ODD,)))
    assembly.add(2, SegmentResult("C"))
    assembly.close()
    assert [(n.code, n.message) for n in assembly.warnings()] == [(ODD.code, f"{ODD.message} (2 of 3 segments)")]


def test_words_that_were_had_in_pieces_only_say_so() -> None:
    assembly = Assembler(planned(words("a"), words("b")), None)
    assembly.add(0, SegmentResult("A", stage="pieces"))
    assembly.add(1, SegmentResult("B", stage="second"))
    assembly.close()
    assert [notice.code for notice in assembly.warnings()] == ["translated-in-pieces"]
    assert "1 of 2 segments" in assembly.warnings()[0].message


def test_a_text_without_words_is_itself() -> None:
    said: list[str] = []
    assembly = Assembler(planned("12", words("34", translatable=False)), said.append)
    assembly.close()
    assert assembly.text == "".join(said) == "1234"
    assert assembly.warnings() == []


def test_an_answer_is_not_closed_before_it_is_whole() -> None:
    assembly = Assembler(planned(words("a")), None)
    with pytest.raises(ValueError, match="step 0 of 1"):
        assembly.close()


def test_words_are_escaped_and_marks_are_not() -> None:
    marks = (
        Placeholder(PlaceholderKind.ALONE, "<br>", "<br>"),
        Placeholder(PlaceholderKind.NAME, "a&b", "a&b", is_text=True),
    )
    block = Block("", marks, "", escape=lambda text: text.replace("&", "&amp;"))
    assembly = Assembler(planned(words("x", block)), None)
    assembly.add(0, SegmentResult(f"B & {placeholder_char(1)}{placeholder_char(0)}C"))
    assembly.close()
    assert assembly.text == "B &amp; a&amp;b<br>C"


def test_sentences_of_a_language_without_spaces_get_one_even_across_a_tag() -> None:
    block = Block("", (), "")
    steps = (words("你好。", block), GapStep("", block), "<b>", words("再见。", block), "</b>")
    assembly = Assembler(planned(*steps, pair=ZH_EN), None)
    assembly.add(0, SegmentResult("Hello."))
    assembly.add(3, SegmentResult("Goodbye."))
    assembly.close()
    assert assembly.text == "Hello. <b>Goodbye.</b>"


def test_nothing_is_put_between_two_blocks() -> None:
    steps = (words("你好。", Block("", (), "1")), GapStep("", BLOCK), words("再见。", Block("", (), "2")))
    assembly = Assembler(planned(*steps, pair=ZH_EN), None)
    assembly.add(0, SegmentResult("Hello."))
    assembly.add(2, SegmentResult("Goodbye."))
    assembly.close()
    assert assembly.text == "Hello.Goodbye."


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(6)))
def test_order_of_arrival_does_not_matter(order: list[int]) -> None:
    steps: list[Step] = []
    for number in range(6):
        steps += [words(str(number)), GapStep("\n", BLOCK)]
    said: list[str] = []
    assembly = Assembler(planned(*steps), said.append)
    for number in order:
        assembly.add(2 * number, SegmentResult(f"<{number}>"))
    assembly.close()
    assert assembly.text == "".join(said) == "<0>\n<1>\n<2>\n<3>\n<4>\n<5>\n"
