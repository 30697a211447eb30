"""Files that requests enter, found among the noted calls."""

from __future__ import annotations

from benchmarks.harness.processes import ROOT
from benchmarks.request_path import files_of

ROUTES, PROBER = f"{ROOT}/proxy/routing/routes.py", f"{ROOT}/proxy/fleet/prober.py"


def test_files_of_counts_what_every_request_enters() -> None:
    entered = [(ROUTES, "find_route", 5), (ROUTES, "find_pair", 6), (PROBER, "probe", 6), (ROUTES, "find_route", 15)]

    assert files_of(entered, [(1, 9), (11, 19)]) == {"proxy/routing/routes.py": ["find_route"]}


def test_files_of_counts_a_file_entered_by_other_functions() -> None:
    entered = [(ROUTES, "find_route", 5), (ROUTES, "find_pair", 15)]

    assert files_of(entered, [(1, 9), (11, 19)]) == {"proxy/routing/routes.py": []}


def test_files_of_ignores_calls_between_requests() -> None:
    assert files_of([(ROUTES, "find_route", 10)], [(1, 9), (11, 19)]) == {}
