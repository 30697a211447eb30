"""Emoji out of the words and back among them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.emoji import remove_emoji, restore_emoji
from apiserver.protection.placeholders import Protection, protect
from tests.text_skeleton import skeleton

A, B, C = (placeholder_char(index) for index in range(3))
MARKS = [
    Placeholder(PlaceholderKind.EMOJI, "🎉", "🎉", is_text=True),
    Placeholder(PlaceholderKind.EMOJI, "🔥", "🔥", is_text=True),
    Placeholder(PlaceholderKind.NAME, "%s", "%s"),
]


def test_only_floating_marks_are_taken_out() -> None:
    words, floats = remove_emoji(f"I like {A} you, {C}{B}!", MARKS)
    assert words == f"I like you, {C}!"
    assert [(each.char, each.is_attached) for each in floats] == [(A, False), (B, True)]


def test_words_without_them_are_left_alone() -> None:
    assert remove_emoji(f"I like {C}.", MARKS) == (f"I like {C}.", ())


@pytest.mark.parametrize(
    ("source", "words", "expected"),
    [
        (f"I like {A} you very much.", "Ich mag dich sehr.", f"Ich mag {A} dich sehr."),
        (f"Great{A} work", "Gute Arbeit", f"Gute{A} Arbeit"),
        (f"One {A} two {B} three", "eins zwei drei", f"eins {A} zwei {B} drei"),
        (f"One {A} two", "一、二", f"一、 {A}二"),
        (f"One {A} two", "一", f"一 {A}"),
    ],
)
def test_they_come_back_near_where_they_were_and_in_order(source: str, words: str, expected: str) -> None:
    assert restore_emoji(words, remove_emoji(source, MARKS)[1]) == expected


@pytest.mark.parametrize("sign", ["🎉", "❤️", "👩‍👩‍👧", "🇩🇪", "✓", "👍🏽", "⏰"])
def test_pictures_are_protected_as_floating(sign: str) -> None:
    block = protect(Block(f"I like {sign} you", (), ""), Protection.of((), {}))
    assert [(mark.kind, mark.source) for mark in block.placeholders] == [(PlaceholderKind.EMOJI, sign)]


@pytest.mark.parametrize("sign", ["\ufeff", "\u2066", "\u200b", "\u00ad", "\x00", "\x1b"])
def test_what_is_not_seen_is_protected_too(sign: str) -> None:
    block = protect(Block(f"{sign}I like you", (), ""), Protection.of((), {}))
    assert [(mark.kind, mark.source) for mark in block.placeholders] == [(PlaceholderKind.EMOJI, sign)]


@pytest.mark.parametrize("text", ["• One dog", "one\n\t- two", "★ Good", "→ Good"])
def test_a_bullet_is_one_only_where_a_line_begins(text: str) -> None:
    assert [mark.kind for mark in protect(Block(text, (), ""), Protection.of((), {})).placeholders] == [
        PlaceholderKind.EMOJI
    ]


@pytest.mark.parametrize("text", ["A → B", "one - two", "-5 dogs", "one * two", "2 × 3 ≠ 5", "© 2026", "№ 5", "a–b"])
def test_signs_that_say_something_stay_words(text: str) -> None:
    assert all(
        mark.kind is not PlaceholderKind.EMOJI
        for mark in protect(Block(text, (), ""), Protection.of((), {})).placeholders
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "bc", " ", A, B, "。"]), max_size=12),
    st.lists(st.sampled_from(["x", " ", "y", "。"]), min_size=1, max_size=9),
)
def test_none_is_lost_and_no_hard_white_space_made(source: list[str], answer: list[str]) -> None:
    text = " ".join(
        "".join(char for place, char in enumerate(source) if char not in source[:place] or char not in {A, B}).split()
    )
    words = " ".join("".join(answer).split())
    bare, floats = remove_emoji(text, MARKS)
    assert skeleton(bare) in (["", ""], [""])
    back = restore_emoji(words, floats)
    assert "".join(char for char in back if char in {A, B}) == "".join(char for char in text if char in {A, B})
    if words:
        assert skeleton(back) == ["", ""]
