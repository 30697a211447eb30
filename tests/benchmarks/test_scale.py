"""Targets and tables of the scale benchmark."""

from __future__ import annotations

from benchmarks.harness.report import Checks
from benchmarks.scale import FleetFigures


def test_sweep_that_costs_too_much_is_missed() -> None:
    proxies: list[tuple[str, dict[str, float]]] = [
        ("leads", {"CPU s a sweep": 0.3}),
        ("follows", {"CPU s a sweep": 0.2}),
        ("follows", {}),
    ]
    figures = FleetFigures("specialists", proxies)
    few, many = Checks(), Checks()
    figures.judge(few, 200)
    figures.judge(many, 1000)

    assert [check.met for check in few] == [False, True]
    assert [check.met for check in many] == [True, True]
    assert any(line.startswith("| leads | 0.300 |") for line in figures.lines())
