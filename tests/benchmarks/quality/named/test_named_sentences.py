"""Sentences with names and numbers, and their scores."""

from __future__ import annotations

import re

import pytest

from benchmarks.quality.named.named_scores import judge
from benchmarks.quality.named.named_sentences import FOLDER, NamedSentence, read_named
from benchmarks.quality.systems import HARMLESS, WITHOUT, Output
from shared.languages import LanguagePair

FROM_ENGLISH = ("en-de", "en-fr", "en-es")
DIRECTIONS = sorted(file.stem for file in FOLDER.glob("*-*.tsv"))
# Frames of the training data that a program wrote (source synthnames): a model learned these by heart.
SYNTHETIC_FRAMES = re.compile(
    r"will present the results|^Sales rose by|^The meeting with .* is on|visited our factory|answered the survey|"
    r"^The next call is|units in \d{4}|, who was born in|^The price fell from|Please send the report to|^The invoice of|"
    r"^Our office in|was signed on|^The flight to|to call back at|We will discuss the budget|would hire|is reserved for|"
    r"the project will cost|attended the conference|^My phone number ends in|is the new head of|, the population of|"
    r"^The train from .* arrives at|moved to .* in \d{4}"
)


@pytest.mark.parametrize("direction", FROM_ENGLISH)
def test_each_language_has_300_sentences(direction: str) -> None:
    assert len(read_named(direction)) == 300


def test_no_sentence_stands_twice() -> None:
    texts = [sentence.text for direction in DIRECTIONS for sentence in read_named(direction)]
    assert sorted(texts) == sorted(set(texts))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_what_a_sentence_expects_stands_in_it(direction: str) -> None:
    source = direction.split("-", maxsplit=1)[0]
    wrong = {
        sentence.text: lost
        for sentence in read_named(direction)
        if any(lost := sentence.lost_in(sentence.text, source))
    }
    assert not wrong, "not in the sentence, or digits that nothing expects"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_each_sentence_expects_something(direction: str) -> None:
    assert all(sentence.names or sentence.numbers for sentence in read_named(direction))


@pytest.mark.parametrize("direction", FROM_ENGLISH)
def test_sentences_are_unlike_the_training_frames(direction: str) -> None:
    assert not [sentence.text for sentence in read_named(direction) if SYNTHETIC_FRAMES.search(sentence.text)]


def test_wrong_name_is_lost() -> None:
    sentence = NamedSentence("Zuzana paid 14 euros.", ["Zuzana"], ["€14"])

    assert sentence.lost_in("Ascheburg zahlte 14 Euro.", "de") == (["Zuzana"], [], [], [])
    assert sentence.lost_in("Zuzanas Kosten: 14 Euro", "de") == ([], [], [], [])


def test_number_that_nobody_wrote_is_added() -> None:
    sentence = NamedSentence("3 apples for 5 euros", [], ["3", "€5"])

    assert sentence.lost_in("3 Äpfel für 5.30 Uhr", "de") == ([], ["€5"], ["5", "30"], [])


def test_one_number_does_not_count_twice() -> None:
    sentence = NamedSentence("2 dogs and 2 cats", [], ["2", "2"])

    assert sentence.lost_in("2 Hunde und Katzen", "de").numbers == ["2"]
    assert not any(sentence.lost_in("2 Hunde und zwei Katzen", "de"))


def test_digits_of_a_name_are_no_number() -> None:
    sentence = NamedSentence("The Velox 5 costs 5 euros.", ["Velox 5"], ["€5"])

    assert sentence.lost_in("Der Velox 5 kostet Euro.", "de").numbers == ["€5"]


def test_an_alternative_is_enough() -> None:
    sentence = NamedSentence("I live in Ghent.", ["Ghent|Gent"], [])

    assert not any(sentence.lost_in("Ich wohne in Gent.", "de"))
    assert sentence.lost_in("Ich wohne in Genf.", "de").names == ["Ghent|Gent"]


def test_number_in_another_notation_is_lost() -> None:
    sentence = NamedSentence("It weighs 2.5 kilos and costs €79.90.", [], ["2.5", "€79.90"])
    lost = sentence.lost_in("Es wiegt 2.5 Kilo und kostet 79,90 Euro.", "de")

    assert lost == ([], ["2.5"], [], ["2.5"])


PAIR = LanguagePair("en", "de")
SENTENCE = NamedSentence("Zuzana paid 14 euros.", ["Zuzana"], ["€14"])
WRONG, RIGHT = "Ascheburg zahlte 14 Euro.", "Zuzana zahlte 14 Euro."


def test_wrong_text_without_a_warning_does_not_say_so() -> None:
    outputs = [Output(WRONG), Output(WRONG, ["name-changed"]), Output(WRONG, list(HARMLESS))]
    score = judge("with", PAIR, [SENTENCE] * 3, outputs)

    assert (score.names_kept, score.numbers_kept, len(score.wrong), score.wrong_warned) == (0, 3, 3, 1)
    assert score.row()[6:8] == ("3", "33.3 % of 3")


def test_right_text_with_a_warning_is_a_false_alarm() -> None:
    score = judge("with", PAIR, [SENTENCE] * 2, [Output(RIGHT, ["number-changed"]), Output(RIGHT)])

    assert (score.names_kept, score.right_warned, len(score.wrong)) == (2, 1, 0)


def test_text_without_output_is_not_wrong_but_keeps_nothing() -> None:
    score = judge("with", PAIR, [SENTENCE], [Output(None, ["output-repeats"])])

    assert (score.names_kept, score.numbers_kept, score.without_output, len(score.wrong)) == (0, 0, 1, 0)


def test_warnings_of_the_bare_engine_are_not_counted() -> None:
    assert judge(WITHOUT, PAIR, [SENTENCE], [Output(WRONG)]).row()[6:] == ("1", "–", "–", "–")
