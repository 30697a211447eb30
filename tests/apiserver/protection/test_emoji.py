"""Emoji: removed from a segment and restored in its translation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import Block, Placeholder, PlaceholderKind, placeholder_char
from apiserver.protection.emoji import remove_emoji, restore_emoji
from apiserver.protection.placeholders import Protection, protect
from shared.languages import LanguagePair
from tests.text_skeleton import skeleton

A, B, C = (placeholder_char(index) for index in range(3))
PLACEHOLDERS = [
    Placeholder(PlaceholderKind.EMOJI, "🎉", "🎉", is_text=True),
    Placeholder(PlaceholderKind.EMOJI, "🔥", "🔥", is_text=True),
    Placeholder(PlaceholderKind.NAME, "%s", "%s"),
]

EN_DE = LanguagePair("en", "de")


def test_only_emoji_are_removed() -> None:
    words, emojis = remove_emoji(f"I like {A} you, {C}{B}!", PLACEHOLDERS)
    assert words == f"I like you, {C}!"
    assert [(each.char, each.is_attached) for each in emojis] == [(A, False), (B, True)]


def test_text_without_emoji_is_unchanged() -> None:
    assert remove_emoji(f"I like {C}.", PLACEHOLDERS) == (f"I like {C}.", ())


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
def test_emoji_are_restored_near_their_position(source: str, words: str, expected: str) -> None:
    assert restore_emoji(words, remove_emoji(source, PLACEHOLDERS)[1]) == expected


@pytest.mark.parametrize("sign", ["🎉", "❤️", "👩‍👩‍👧", "🇩🇪", "✓", "👍🏽", "⏰"])
def test_pictures_are_emoji(sign: str) -> None:
    block = protect(Block(f"I like {sign} you", (), ""), Protection.of((), {}), EN_DE)
    assert [(placeholder.kind, placeholder.source) for placeholder in block.placeholders] == [
        (PlaceholderKind.EMOJI, sign)
    ]


@pytest.mark.parametrize("sign", ["\ufeff", "\u2066", "\u200b", "\u00ad", "\x00", "\x1b"])
def test_invisible_characters_are_emoji(sign: str) -> None:
    block = protect(Block(f"{sign}I like you", (), ""), Protection.of((), {}), EN_DE)
    assert [(placeholder.kind, placeholder.source) for placeholder in block.placeholders] == [
        (PlaceholderKind.EMOJI, sign)
    ]


@pytest.mark.parametrize("text", ["• One dog", "one\n\t- two", "★ Good", "→ Good"])
def test_bullets_are_emoji_at_line_starts(text: str) -> None:
    assert [
        placeholder.kind for placeholder in protect(Block(text, (), ""), Protection.of((), {}), EN_DE).placeholders
    ] == [PlaceholderKind.EMOJI]


@pytest.mark.parametrize("text", ["A → B", "one - two", "-5 dogs", "one * two", "2 × 3 ≠ 5", "© 2026", "№ 5", "a–b"])
def test_meaningful_signs_stay_words(text: str) -> None:
    assert all(
        placeholder.kind is not PlaceholderKind.EMOJI
        for placeholder in protect(Block(text, (), ""), Protection.of((), {}), EN_DE).placeholders
    )


@given(
    st.lists(st.sampled_from(["a", "bc", " ", A, B, "。"]), max_size=12),
    st.lists(st.sampled_from(["x", " ", "y", "。"]), min_size=1, max_size=9),
)
def test_restoring_keeps_all_emoji_and_single_spaces(source: list[str], answer: list[str]) -> None:
    text = " ".join(
        "".join(char for index, char in enumerate(source) if char not in source[:index] or char not in {A, B}).split()
    )
    words = " ".join("".join(answer).split())
    text_without, emojis = remove_emoji(text, PLACEHOLDERS)
    assert skeleton(text_without) in (["", ""], [""])
    restored = restore_emoji(words, emojis)
    assert "".join(char for char in restored if char in {A, B}) == "".join(char for char in text if char in {A, B})
    if words:
        assert skeleton(restored) == ["", ""]
