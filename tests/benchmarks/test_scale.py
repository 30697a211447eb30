"""Programs of one file: the path of a request, and many replicas."""

from __future__ import annotations

from benchmarks.harness.processes import ROOT
from benchmarks.harness.report import Checks
from benchmarks.request_path import files_of
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


ROUTES, PROBER = f"{ROOT}/proxy/routing/routes.py", f"{ROOT}/proxy/fleet/prober.py"


def test_files_of_counts_what_every_request_enters() -> None:
    entered = [(ROUTES, 5), (ROUTES, 6), (PROBER, 6), (ROUTES, 15)]

    assert files_of(entered, [(1, 9), (11, 19)]) == ["proxy/routing/routes.py"]


def test_files_of_ignores_calls_between_requests() -> None:
    assert files_of([(ROUTES, 10)], [(1, 9), (11, 19)]) == []
