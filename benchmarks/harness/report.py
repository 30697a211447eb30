"""Reports: the folder of a run, tables in Markdown, and the line that says where and when it was measured."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.harness.targets import TARGET_HEADINGS, Check
from shared.version import VERSION

NONE = "–"


def table(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [_line(headings), _line("---" for _ in headings), *map(_line, rows)]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def target_table(checks: Iterable[Check]) -> list[str]:
    """Return the table of targets."""
    return table(TARGET_HEADINGS, (check.cells() for check in checks))


class RunFolder:
    """New folder for the files of a run; knows when the run began and how busy the machine was then."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        self._load_average = os.getloadavg()[0]
        self._began = time.strftime("%Y-%m-%d %H:%M")

    @property
    def machine(self) -> str:
        """Version, time, cores and load average before the run."""
        return (
            f"Pairway {VERSION}, {self._began}, {os.cpu_count()} cores, load average {self._load_average:.1f} before and "
            f"{os.getloadavg()[0]:.1f} after"
        )

    def write(self, report: str, results: object) -> None:
        """Write report.md and results.json, and print the report."""
        (self.path / "report.md").write_text(report)
        (self.path / "results.json").write_text(json.dumps(results, indent=1))
        print(f"\n{report}\nwritten to {os.path.relpath(self.path)}")
