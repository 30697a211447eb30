"""Transliteration: names in kana and Hangul."""

from __future__ import annotations

import pytest

from apiserver.guards.names.transliteration import MOST_WORDS, is_in_hangul, is_in_katakana


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *[("tom", "トムはいる", True), ("boston", "ボストンへ", True), ("washington", "ワシントン", True)],
        *[("jeffrey", "ジェフリーだ", True), ("robert", "マイケルだ", False), ("robert", "彼だ", False)],
        ("tanaka", "田中だ", True),  # a Japanese name: nobody can tell
    ],
)
def test_katakana(name: str, text: str, expected: bool) -> None:
    assert is_in_katakana(name, text) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("tom", "톰은 집에", True), ("boston", "보스턴에서", True), ("robert", "마이클은", False), ("robert", "", False)],
)
def test_hangul(name: str, text: str, expected: bool) -> None:
    assert is_in_hangul(name, text) is expected


def test_many_words_are_not_compared() -> None:
    assert is_in_katakana("robert", "マイケル " * (MOST_WORDS + 1))
    assert is_in_hangul("robert", "마이클 " * (MOST_WORDS + 1))
    assert not is_in_hangul("robert", "마이클 " * MOST_WORDS)
