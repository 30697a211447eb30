"""Reliability: figures of known confidences, and the diagram."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from benchmarks.calibration.reliability import Bin, Judged, auc, bins, brier, calibration_error, diagram, kept

PERFECT = [Judged(1.0, is_good=True), Judged(0.0, is_good=False)] * 30
HALF = [Judged(0.5, is_good=True), Judged(0.5, is_good=False)] * 30


def test_figures_of_perfect_and_of_empty_knowledge() -> None:
    assert (auc(PERFECT), brier(PERFECT), calibration_error(PERFECT)) == (1.0, 0.0, 0.0)
    assert (auc(HALF), brier(HALF), calibration_error(HALF)) == (0.5, 0.25, 0.0)
    assert auc(HALF[:1]) == 0.5


def test_auc_counts_pairs_in_the_right_order() -> None:
    judged = [
        Judged(0.9, is_good=True),
        Judged(0.4, is_good=True),
        Judged(0.6, is_good=False),
        Judged(0.4, is_good=False),
    ]
    assert auc(judged) == pytest.approx(2.5 / 4)


def test_bins_are_tenths() -> None:
    judged = [
        Judged(0.0, is_good=False),
        Judged(0.05, is_good=True),
        Judged(0.1, is_good=True),
        Judged(1.0, is_good=True),
    ]
    assert bins(judged) == [Bin(2, 0.025, 0.5), Bin(1, 0.1, 1.0), Bin(1, 1.0, 1.0)]
    assert calibration_error(judged) == pytest.approx((2 * 0.475 + 0.9) / 4)


def test_least_confidence_keeps_a_share() -> None:
    assert kept(PERFECT, 0.5) == (0.5, 1.0)
    assert kept(HALF, 0.5) == (1.0, 0.5)
    assert kept(HALF, 0.6) == (0.0, 0.0)


def test_diagram_is_svg_with_a_curve_for_each_name() -> None:
    root = ET.fromstring(diagram({"en-de": PERFECT, "de-en": HALF}, "Title"))  # noqa: S314 - our own
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Title", "en-de", "de-en"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 3
