"""Transliteration: names in kana and Hangul."""

from __future__ import annotations

import pytest

from apiserver.guards.names.transliteration import MOST_WORDS, hangul_in, is_in_hangul, is_in_katakana, katakana_in


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        *[("tom", "トムはいる", True), ("boston", "ボストンへ", True), ("washington", "ワシントン", True)],
        *[("jeffrey", "ジェフリーだ", True), ("robert", "マイケルだ", False), ("robert", "彼だ", False)],
        ("tanaka", "田中だ", True),  # a Japanese name: nobody can tell
    ],
)
def test_katakana(name: str, text: str, expected: bool) -> None:
    assert is_in_katakana(name, katakana_in(text)) is expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [("tom", "톰은 집에", True), ("boston", "보스턴에서", True), ("robert", "마이클은", False), ("robert", "", False)],
)
def test_hangul(name: str, text: str, expected: bool) -> None:
    assert is_in_hangul(name, hangul_in(text)) is expected


def test_many_words_are_not_compared() -> None:
    katakana = [f"マイケル{one}{other}" for one in "ラリルレロマミム" for other in "カキクケコタテトバ"]
    hangul = [f"마이클{one}{other}" for one in "마미무메모매머므" for other in "나니누네노너느내냐"]
    assert is_in_katakana("robert", katakana_in(" ".join(katakana[: MOST_WORDS + 1])))
    assert is_in_hangul("robert", hangul_in(" ".join(hangul[: MOST_WORDS + 1])))
    assert not is_in_hangul("robert", hangul_in(" ".join(hangul[:MOST_WORDS] * 2)))


def test_long_names_are_not_compared() -> None:
    assert not is_in_hangul("rabadagamana" * 2, hangul_in("마이클"))
    assert is_in_hangul("rabadagamana" * 3, hangul_in("마이클"))
