"""Targets and tables of the scale benchmark."""

from __future__ import annotations

from benchmarks.harness.report import Checks
from benchmarks.scale import FleetFigures, ProxyFigures


def test_sweep_that_costs_too_much_is_missed() -> None:
    figures = FleetFigures(
        "specialists", [ProxyFigures(leads=True, sweep_cpu=0.3), ProxyFigures(leads=False, sweep_cpu=0.2)]
    )
    few, many = Checks(), Checks()
    figures.judge(few, 200)
    figures.judge(many, 1000)

    assert [check.met for check in few] == [False, True]
    assert [check.met for check in many] == [True, True]
    assert any(line.startswith("| leads | 0.300 |") for line in figures.lines())
