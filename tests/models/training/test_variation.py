"""Variation of pairs: swapped, bare, joined, with placeholders, or cut."""

from __future__ import annotations

import pytest

from models.corpus import Pair
from models.training.alignment import Lexicon
from models.training.recipe import Shares
from models.training.swaps import Swapper
from models.training.variation import Variant, Variation, bare, joined, prefix
from tests.models.samples import OBJECTS, SUBJECTS, VERBS, pairs, seeded

ROWS = pairs(300)
LEXICON = Lexicon.learn(ROWS, seeded(0))


def vary(shares: Shares, rows: list[Pair]) -> list[Variant]:
    variation = Variation(shares, {"de": LEXICON}, {"de": Swapper.over(rows)})
    return list(variation.vary(rows, seeded()))


def test_without_shares_nothing_changes() -> None:
    assert vary(Shares(), ROWS) == [(pair, False) for pair in ROWS]


def test_joined_texts_lose_and_mix_nothing() -> None:
    rows = [row for pair in zip(pairs(60), pairs(60, "pawsx"), strict=True) for row in pair]
    texts = list(joined(rows, 0.5, seeded(0)))
    assert len(texts) < len(rows)
    assert sum(text.english.count(".") for text in texts) == len(rows)
    assert {text.english.count(".") for text in texts} == {1, 2, 3}
    assert all(text.english.count(".") == text.other.count(".") for text in texts)


@pytest.mark.parametrize(
    ("english", "other", "expected"),
    [
        ("Hello!", "Hallo!", ("Hello", "Hallo")),
        ("Are you well ?", "Tu vas bien ?", ("Are you well", "Tu vas bien")),
        ("Hello!", "Hallo", ("Hello!", "Hallo")),
        ("...", "…", ("...", "…")),
        ("This sentence is longer than all that people type.", "Lang.", None),
    ],
)
def test_short_texts_lose_their_full_stop(english: str, other: str, expected: tuple[str, str] | None) -> None:
    pair = Pair(english, other, "de")
    assert bare(pair, 1.0, seeded())[:2] == (expected or (english, other))
    assert bare(pair, 0.0, seeded()) == pair


def test_titles_are_not_joined() -> None:
    titles = [Pair("To turn on logging", "So aktivieren Sie die Protokollierung", "de")] * 20
    assert list(joined(titles, 1.0, seeded(0))) == titles


def test_chinese_sentences_are_joined_without_spaces() -> None:
    rows = [Pair("One.", "一。", "zh")] * 2
    (text,) = joined(rows, 1.0, seeded(1))
    assert (text.english, text.other) == ("One. One.", "一。一。")


@pytest.mark.parametrize("seed", range(5))
def test_prefixes_say_the_same(seed: int) -> None:
    variant = prefix(
        LEXICON.align(Pair("The dog sees a house today.", "Der Hund sieht ein Haus heute.", "de")), seeded(seed)
    )
    assert variant is not None
    assert variant.is_part
    table = SUBJECTS | VERBS | OBJECTS
    english, other = variant.pair.english.lower(), variant.pair.other.lower()
    assert len(english.split()) == len(other.split()) >= 2
    assert [two.lower() in other for one, two in table.items() if one in english] == [
        True for one in table if one in english
    ]
    assert not english.endswith(".")


def test_pairs_with_few_links_are_not_cut() -> None:
    pair = Pair("The dog went home early because of rain.", "Der Hund war müde und ging.", "de")
    assert prefix(LEXICON.align(pair), seeded(0)) is None
    assert prefix(LEXICON.align(Pair("!", "!", "de")), seeded(0)) is None


def test_shares_decide_how_often() -> None:
    varied = vary(Shares(prefixes=0.5), ROWS)
    assert sum(is_part for _, is_part in varied) == pytest.approx(150, abs=40)
    tagged = vary(Shares(placeholders=1.0), ROWS)
    assert sum("<" in pair.english for pair, _ in tagged) > 200
