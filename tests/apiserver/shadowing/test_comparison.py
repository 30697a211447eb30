"""Statistics of a comparison: counts and shares, by pair and side."""

from __future__ import annotations

import pytest

from apiserver.shadowing.comparison import CandidateComparison, ComparedText
from shared.protocol.answers import Notice, Translation


def translation_of(text: str | None, *codes: str) -> Translation:
    warnings = [Notice(code=code, message="why") for code in codes]
    return Translation(
        translation=text, source_lang="en", target_lang="de", model="m", route=["en", "de"], warnings=warnings
    )


def compared(serving: Translation, candidate: Translation) -> ComparedText:
    return ComparedText.of(serving, candidate)


def test_compared_text_has_agreement_and_codes() -> None:
    text = compared(translation_of("Haus"), translation_of("Haus", "output-repeats"))
    assert (text.agreement, text.equal, text.serving, text.candidate) == (1.0, True, [], ["output-repeats"])


def test_missing_translation_agrees_with_nothing() -> None:
    text = compared(translation_of("Haus"), translation_of(None, "output-empty"))
    assert (text.agreement, text.equal) == (0.0, False)


def test_report_of_an_unused_candidate_is_empty() -> None:
    assert CandidateComparison().report() == {}


def test_report_without_compared_texts_has_no_shares() -> None:
    comparison = CandidateComparison()
    comparison.pair("en-de").dropped["busy"] += 2
    report = comparison.report()["en-de"]
    assert (report.texts, report.agreement, report.equal, report.dropped) == (0, None, None, {"busy": 2})
    assert (report.serving.p50_s, report.candidate.p95_s) == (None, None)


def test_report_counts_each_pair_and_side() -> None:
    comparison = CandidateComparison()
    same = compared(translation_of("Haus"), translation_of("Haus"))
    other = compared(translation_of("Haus", "output-echoes-source"), translation_of("xyz", "output-too-short"))
    comparison.pair("en-de").add([same, other], 0.1, 0.4)
    comparison.pair("de-en").add([same], 0.1, 0.1)
    comparison.pair("en-de").failed["late"] += 1
    report = comparison.report()
    assert set(report) == {"en-de", "de-en"}
    there = report["en-de"]
    assert (there.texts, there.agreement, there.equal, there.failed) == (2, 0.5, 0.5, {"late": 1})
    assert there.serving.warnings == {"output-echoes-source": 1}
    assert there.candidate.warnings == {"output-too-short": 1}
    assert there.serving.p95_s == pytest.approx(0.1, rel=0.1)
    assert there.candidate.p50_s == pytest.approx(0.4, rel=0.1)
