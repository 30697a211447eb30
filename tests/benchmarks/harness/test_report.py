"""Percentiles, targets and tables."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks.harness.report import Checks, RunFolder, percentile, percentile_ms, table, target_table


def test_percentile_is_the_nearest_rank() -> None:
    assert [percentile(range(1, 101), percent) for percent in (0, 50, 99, 100)] == [1, 50, 99, 100]
    assert percentile_ms([0.5], 99) == 500
    assert math.isnan(percentile([], 50))


def test_checks_hold_bounds_and_facts() -> None:
    checks = Checks()
    checks.at_most("p99", 5.0, 5, " ms")
    checks.at_least("rate", math.nan, 1)
    checks.holds("started", fact=False)
    assert [check.met for check in checks] == [True, False, False]
    assert not checks.met
    assert [check.name for check in checks.missed(timings=False)] == ["started"]
    assert target_table(checks)[2:] == [
        "| p99 | 5 ms | ≤ 5 ms | met |",
        "| rate | nan | ≥ 1 | **missed** |",
        "| started | no | yes | **missed** |",
    ]


def test_run_folder_is_emptied_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    folder = RunFolder(tmp_path / "run")
    folder.write("\n".join(table(("a", "b"), [("1", "2")])), {"rows": 1})
    assert sorted(file.name for file in folder.path.iterdir()) == ["report.md", "results.json"]
    assert (folder.path / "report.md").read_text() == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert json.loads((folder.path / "results.json").read_text()) == {"rows": 1}
    assert "| 1 | 2 |" in capsys.readouterr().out
    assert folder.machine.startswith("Pairway ")
