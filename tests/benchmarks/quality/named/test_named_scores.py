"""What counts as wrong, as said and as a false alarm."""

from __future__ import annotations

from benchmarks.quality.named.named_scores import judge
from benchmarks.quality.named.named_sentences import NamedSentence
from benchmarks.quality.systems import HARMLESS, WITHOUT, Output
from shared.languages import LanguagePair

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
