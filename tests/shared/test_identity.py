"""Identity: a text without words needs no translation, and nothing with a word is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.literals import needs_translation

WITHOUT_WORDS = [
    *("", " \n\t\u2028", "12345", "3.14", "...", "!?", "— –", "½ Ⅷ ①", "٤٥"),
    *("😀", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "ℹ️", "™©", "→", "№ 5º", "\x00", "\ud800", "\U000f0000"),
    *("https://example.com/path?q=word", "www.example.org", "mailto:someone@example.org", "a@b.de"),
    *("%s", "{name}", "{{ user.name }}", "<br/>", "&nbsp;", "%1$s: %2$s", "${a} / #{b} ({c})", "5 km", "€ 20 – $30"),
    "😀 https://example.com {name} 5 km!",
]


@pytest.mark.parametrize("text", WITHOUT_WORDS)
def test_a_text_without_words_is_its_own_translation(text: str) -> None:
    assert not needs_translation(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a",
            "Hi",
            "kg",
            "ß",
            "字",
            "は",
            "ก",
            "ع",
            "%s left",
            "<b>bold</b>",
            "https://example.com is down",
            "5 apples",
        ),
        *("{name} and {other}", "詳しくはhttps://example.comへ", "\ud800x", "例えば"),
    ],
)
def test_a_word_needs_translation(text: str) -> None:
    assert needs_translation(text)


@given(st.lists(st.sampled_from(WITHOUT_WORDS), max_size=6))
def test_several_things_without_words_are_without_words(parts: list[str]) -> None:
    assert not needs_translation(" ".join(parts))


@given(st.text(st.characters(codec=None), max_size=40))
def test_a_text_without_letters_never_needs_translation(text: str) -> None:
    if not any(char.isalpha() for char in text):
        assert not needs_translation(text)


@given(st.text(st.characters(codec=None, exclude_categories=["L"]), max_size=20))
def test_a_word_on_its_own_line_is_never_overlooked(text: str) -> None:
    assert needs_translation(f"{text}\nword\n{text}")
