"""Scores, their intervals and targets, and the sentences that documents show."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from benchmarks.harness.report import Checks
from benchmarks.quality.bootstrap import Interval, chrf_sample
from benchmarks.quality.markup_scores import FEWEST_WORDS, MOST_BOLD, with_bold
from benchmarks.quality.named.named_scores import NamedScore, WrongText
from benchmarks.quality.sentence_scores import SentenceScore
from benchmarks.quality.shown_sentences import ShownAnswer, with_answers
from benchmarks.quality.systems import MASKED, UNMASKED, WITHOUT
from benchmarks.quality.targets import check_named, check_sentences

REFERENCES = [
    "Wo ist der Bahnhof?",
    "Ich habe meine Schlüssel verloren.",
    "Guten Morgen!",
    "Der Zug fährt um 8:05 Uhr.",
] * 10
ANSWERS = ["Wo ist die Bahn?", "Ich verlor gestern meine Schlüssel.", "", "Der Zug fährt um 8:50 Uhr ab."] * 10


def test_score_is_that_of_sacrebleu() -> None:
    expected = CHRF().corpus_score(ANSWERS, [REFERENCES]).score

    assert chrf_sample(ANSWERS, REFERENCES).whole == pytest.approx(expected)


def test_nothing_right_is_0() -> None:
    assert chrf_sample(["", ""], ["ja", "nein"]).whole == 0
    assert chrf_sample(["zz"], ["ab"]).interval.high == 0


def test_interval_holds_the_score() -> None:
    interval = chrf_sample(ANSWERS, REFERENCES).interval

    assert interval.low < interval.value < interval.high


def test_equal_answers_differ_by_nothing() -> None:
    difference = chrf_sample(ANSWERS, REFERENCES).difference(chrf_sample(list(ANSWERS), REFERENCES))

    assert (difference.low, difference.value, difference.high) == (0, 0, 0)


def test_difference_is_narrower_than_its_scores() -> None:
    better = [REFERENCES[0], *ANSWERS[1:]]
    sample = chrf_sample(better, REFERENCES)
    difference = sample.difference(chrf_sample(ANSWERS, REFERENCES))

    assert difference.value > 0
    assert difference.high - difference.low < sample.interval.high - sample.interval.low
    assert difference.signed().startswith("+")


WORDS = st.lists(st.sampled_from(["house", "a", "R&D", "<", "it's"]), min_size=FEWEST_WORDS, max_size=12)


@given(WORDS, st.integers(0, 1000))
def test_a_part_of_the_sentence_is_bold(words: list[str], seed: int) -> None:
    bold = with_bold(" ".join(words), random.Random(seed))  # noqa: S311 - variety, not secrets
    (inside,) = re.findall("<b>(.*)</b>", bold)
    assert 1 <= len(inside.split()) <= MOST_BOLD
    assert len(bold.split()) == len(words) > len(inside.split())


def test_signs_of_markup_are_escaped() -> None:
    bold = with_bold("< R&D a a a", random.Random(1))  # noqa: S311 - variety, not secrets
    assert "&lt; R&amp;D" in re.sub("</?b>", "", bold)


WRONG = WrongText("8:05", "8 h 50", [], ["8:05"], [], [], [])


def named(direction: str, system: str, kept: int, *wrong: WrongText) -> NamedScore:
    """Return a score of 100 names and 100 numbers."""
    return NamedScore(direction, system, 100, 100, kept, 100, kept, 0, 0, 0, wrong)


def scored(direction: str, system: str, chrf: float, sentences: str = "Tatoeba") -> SentenceScore:
    """Return a score whose other figures do not matter."""
    interval = Interval(chrf, chrf - 1, chrf + 1)
    return SentenceScore(sentences, direction, system, 10, interval, None, 30, 0, 0, 0, 0)


def missed(checks: Checks) -> list[str]:
    """Return the names of missed targets."""
    return [check.name for check in checks.missed(timings=True)]


def test_masks_must_keep_more() -> None:
    checks = Checks()
    check_named(checks, [named("en-de", UNMASKED, 98), named("en-de", MASKED, 98)])

    assert missed(checks) == [f"en-de, {MASKED}: numbers kept"]


def test_wrong_texts_must_say_so() -> None:
    checks = Checks()
    said = replace(WRONG, warnings=["number-changed"])
    check_named(checks, [named("en-fr", UNMASKED, 99, said, WRONG), named("en-fr", MASKED, 100, said)])

    assert missed(checks) == [f"en-fr, {UNMASKED}: wrong texts that say so"]


def test_bare_engine_and_directions_into_english_have_no_target() -> None:
    checks = Checks()
    check_named(checks, [named("en-de", WITHOUT, 0), named("de-en", MASKED, 0)])
    check_sentences(checks, [scored("en-de", WITHOUT, 1)])

    assert not checks.checks


def test_masks_may_cost_half_a_point() -> None:
    checks = Checks()
    rows = [scored("en-de", UNMASKED, 59), scored("en-de", MASKED, 58.6), scored("de-en", UNMASKED, 60.9)]
    check_sentences(checks, [*rows, scored("de-en", MASKED, 60.3)])

    assert missed(checks) == ["de-en, Tatoeba: chrF", "de-en, Tatoeba: cost of masks"]


def test_held_out_sentences_have_their_own_target() -> None:
    checks = Checks()
    check_sentences(checks, [scored("en-de", UNMASKED, 45, "parallel"), scored("en-ja", UNMASKED, 20)])

    assert [check.name for check in checks] == ["en-de, parallel: chrF"]
    assert not missed(checks)


NEW = ShownAnswer("card", "en-de", "Hello", "Hallo", ["x"], ["name-changed"], {"name-changed": ["x", "y"]})


def test_own_cell_of_a_row_stays() -> None:
    document = "| en-de | Hello | Hello | – | untranslated |\n| en-fr | Hello | Bonjour | – | right |"

    assert with_answers(document, [NEW]) == (
        "| en-de | Hello | Hallo | `name-changed` x, y | untranslated |\n| en-fr | Hello | Bonjour | – | right |"
    )


def test_what_was_lost_is_renewed_where_it_is_shown() -> None:
    faulty = ShownAnswer("faulty", "en-de", "Hello", None, [], ["output-repeats"], {})

    assert with_answers("| en-de | Hello | Hello | – | x |", [faulty]) == (
        "| en-de | Hello | no answer | `output-repeats` | – |"
    )


def test_row_without_an_own_cell_gets_none() -> None:
    assert with_answers("| en-de | Hello | Hello | – |", [NEW]) == "| en-de | Hello | Hallo | `name-changed` x, y |"


def test_other_lines_stay() -> None:
    assert with_answers("Hello\n| text |\n", [NEW]) == "Hello\n| text |\n"
