"""Targets are checked for what they are set for, and missed ones are shown."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.report import Checks
from benchmarks.quality.bootstrap import Interval
from benchmarks.quality.named.named_scores import NamedScore, WrongText
from benchmarks.quality.sentence_scores import SentenceScore
from benchmarks.quality.systems import MASKED, UNMASKED, WITHOUT
from benchmarks.quality.targets import check_named, check_sentences

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
