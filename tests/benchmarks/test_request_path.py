"""Files that requests enter, found among the noted calls."""

from __future__ import annotations

from benchmarks.harness.processes import ROOT
from benchmarks.request_path import files_of

ROUTES, PROBER = f"{ROOT}/proxy/routing/routes.py", f"{ROOT}/proxy/fleet/prober.py"


def test_files_of_counts_what_every_request_enters() -> None:
    entered = [(ROUTES, 5), (ROUTES, 6), (PROBER, 6), (ROUTES, 15)]

    assert files_of(entered, [(1, 9), (11, 19)]) == ["proxy/routing/routes.py"]


def test_files_of_ignores_calls_between_requests() -> None:
    assert files_of([(ROUTES, 10)], [(1, 9), (11, 19)]) == []
