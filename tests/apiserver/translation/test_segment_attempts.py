"""A segment's results so far, and its pieces."""

from __future__ import annotations

import pytest

from apiserver.formats.document import placeholder_char
from apiserver.guards.quality_guard import EMPTY, NAME_CHANGED, NUMBER_CHANGED, PLACEHOLDER_LOST, WRONG_LANGUAGE
from apiserver.translation.segment_attempts import SegmentAttempts, SegmentResult, cut_into_pieces

NAME, NUMBER = NAME_CHANGED.with_values(["Zuzana"]), NUMBER_CHANGED.with_values(["8:05"])


def attempts_of(*candidates: SegmentResult) -> SegmentAttempts:
    """Return attempts with these candidates."""
    attempts = SegmentAttempts()
    for candidate in candidates:
        attempts.add(candidate)
    return attempts


def test_text_without_issues_ends_the_attempts() -> None:
    attempts = SegmentAttempts()
    assert not attempts.add(SegmentResult(None, (EMPTY,)))
    assert not attempts.add(SegmentResult("eins", (NUMBER,)))
    assert attempts.add(SegmentResult("zwei"))
    assert attempts.result("second").text == "zwei"


def test_best_has_the_lightest_issues_and_every_attempt_s_codes() -> None:
    heavy = SegmentResult("eins", (WRONG_LANGUAGE,), (WRONG_LANGUAGE.code,))
    light = SegmentResult("zwei", (NUMBER,), (NUMBER.code,))
    best = attempts_of(heavy, light).best()
    assert (best.text, best.stage) == ("zwei", "best")
    assert best.issue_codes == (WRONG_LANGUAGE.code, NUMBER.code)


def test_without_a_usable_text_the_first_attempt_says_why() -> None:
    none = attempts_of(SegmentResult(None, (WRONG_LANGUAGE, EMPTY))).best()
    assert (none.text, none.stage, none.issues) == (None, "none", (EMPTY, WRONG_LANGUAGE))
    assert SegmentAttempts().best().issues == (PLACEHOLDER_LOST,)


def test_lost_values_only_if_nothing_else_is_wrong() -> None:
    assert attempts_of(SegmentResult("eins", (NAME, NUMBER))).lost_values == (NAME, NUMBER)
    assert attempts_of(SegmentResult("eins", (NAME, WRONG_LANGUAGE))).lost_values == ()
    assert attempts_of(SegmentResult(None, (EMPTY,))).lost_values == ()


A, B = placeholder_char(0), placeholder_char(1)


@pytest.mark.parametrize(
    ("text", "anywhere", "parts"),
    [
        (f"This is {A}very important{B} for us.", False, ["This is", " ", A, "very important", B, " ", "for us."]),
        ("I know the house, and I like it.", False, ["I know the house,", " ", "and I like it."]),
        ("one two three four", False, ["one two three four"]),
        ("one two three four", True, ["one two", " ", "three four"]),
        ("Haus", True, ["Haus"]),
    ],
)
def test_segment_is_cut_at_its_best_places(text: str, anywhere: bool, parts: list[str]) -> None:
    pieces = cut_into_pieces(text, "en", anywhere=anywhere)
    assert pieces == parts
    assert "".join(pieces) == text
