"""The table of engine settings: medians of rounds, and ratios within a round."""

from __future__ import annotations

from benchmarks.engine_rounds import Round
from benchmarks.engine_settings import VARIANTS, line


def rounds(*passed: float) -> list[Round]:
    return [Round(100, each, 2.0, 0.2, [0.1, 0.2, 0.3]) for each in passed]


def test_a_line_has_medians_and_the_median_of_the_rounds_own_ratios() -> None:
    slowing = rounds(1.0, 2.0, 4.0)
    assert line("same", 12.4, slowing, slowing) == "| same | 50.0 | 1.00 | 20.0 | 2.00 | 200 | 290 | 12 |"
    assert line("twice", 12.4, rounds(0.5, 1.0, 2.0), slowing).startswith("| twice | 100.0 | 2.00 |")


def test_the_first_variant_is_the_catalog_as_it_is() -> None:
    assert next(iter(VARIANTS)) == "catalog"
    assert not VARIANTS["catalog"].arguments
