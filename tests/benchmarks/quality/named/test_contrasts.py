"""Sentences in which one word changes the sense, and their judge."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.quality.named.contrasts import calendar_of, is_negated, read_contrasts, score_contrasts
from benchmarks.quality.named.named_sentences import FOLDER, read_named
from benchmarks.quality.systems import Output, System
from shared.languages import LanguagePair


def test_there_are_200_sentences_unlike_the_others() -> None:
    texts = [sentence.named.text for sentence in read_contrasts()]
    others = {each.text for file in FOLDER.glob("*-*.tsv") for each in read_named(file.stem)}
    assert len(set(texts)) == 200
    assert not others.intersection(texts)


def test_what_a_sentence_expects_stands_in_it() -> None:
    wrong = {
        sentence.named.text: faults
        for sentence in read_contrasts()
        if (faults := sentence.faults_in(sentence.named.text, sentence.language))
    }
    assert not wrong


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Freitagabend und sonnabends im März", "de", {"fri", "sat", "mar"}),
        ("Mondays; he may march in June", "en", {"mon", "jun"}),
        ("les lundis de mai, à la maison", "fr", {"mon", "may"}),
        ("los sábados de marzo, martes", "es", {"sat", "mar", "tue"}),
    ],
)
def test_calendar_words_are_found(text: str, language: str, expected: set[str]) -> None:
    assert calendar_of(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("He didn’t come.", "en", True),
        ("Nora knows it.", "en", False),
        ("Ich habe keinen Schlüssel.", "de", True),
        ("Das Nest ist leer.", "de", False),
        ("Je n'ai rien vu.", "fr", True),
        ("Une note salée.", "fr", False),
        ("No hay nadie.", "es", True),
        ("Nora nota algo.", "es", False),
    ],
)
def test_negation_is_found(text: str, language: str, expected: bool) -> None:
    assert is_negated(text, language) is expected


async def test_score_counts_what_is_kept_and_said() -> None:
    sentences = [each for each in read_contrasts() if each.language == "en"][:4]
    replies = [
        Output("Die Bibliothek ist mittwochs geschlossen.", ["number-changed"]),
        Output("Unser Treffen ist am Donnerstag, nicht am Freitag.", ["number-changed"]),
        Output("Ingrid wurde im Mai geboren."),
        Output("Wir arbeiten sonntags nie."),
    ]

    async def answers(_pair: LanguagePair, _texts: Sequence[str]) -> list[Output]:
        return replies

    score = await score_contrasts(System("fake", answers), LanguagePair("en", "de"), sentences)

    assert (score.calendar_kept, score.calendar, score.right_warned) == (3, 5, 1)
    assert [(each.faults, bool(each.warnings)) for each in score.wrong] == [
        (["fri", "tue"], True),
        (["mar", "may"], False),
    ]
    assert score.row()[-2:] == ("1 of 2", "1")
