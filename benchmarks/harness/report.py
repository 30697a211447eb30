"""Report writer: percentiles, targets met or missed, tables in Markdown, and the folder of a run with both and JSON.

    checks.at_most("p99", 12.0, 50, " ms")
    return folder.publish("Name", "5 rounds", table(("a", "b"), rows), {"rows": rows}, checks)

``publish`` returns the exit status of a program.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from shared.version import VERSION

NONE: Final = "–"


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the value that so many percent do not exceed; NaN of nothing."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else math.nan


def percentile_ms(seconds: Iterable[float], percent: float) -> float:
    """Return a percentile of seconds in milliseconds; NaN of nothing."""
    return 1000 * percentile(seconds, percent)


@dataclass(frozen=True)
class Check:
    """Target with its measured value; ``timing``: it is a figure of a loaded machine, not a fact."""

    name: str
    measured: str
    limit: str
    met: bool
    timing: bool = False


@dataclass
class Checks:
    """Checks of one run, in their order. A value that could not be measured (NaN) misses its target."""

    checks: list[Check] = field(default_factory=list[Check])

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    @property
    def met(self) -> bool:
        """Whether every target is met."""
        return all(check.met for check in self.checks)

    def missed(self, *, timings: bool) -> Sequence[Check]:
        """Return the missed targets, timings only on request."""
        return [check for check in self.checks if not check.met and (timings or not check.timing)]

    def at_most(self, name: str, measured: float, limit: float, unit: str = "", *, timing: bool = True) -> None:
        """Check an upper bound."""
        self.checks.append(Check(name, f"{measured:.4g}{unit}", f"≤ {limit:g}{unit}", measured <= limit, timing))

    def at_least(self, name: str, measured: float, limit: float, unit: str = "", *, timing: bool = True) -> None:
        """Check a lower bound."""
        self.checks.append(Check(name, f"{measured:.4g}{unit}", f"≥ {limit:g}{unit}", measured >= limit, timing))

    def holds(self, name: str, fact: object, *, measured: str = "", limit: str = "yes") -> None:
        """Check a fact."""
        self.checks.append(Check(name, measured or ("yes" if fact else "no"), limit, bool(fact)))


def table(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = (headings, ("---" for _ in headings), *rows)
    return [f"| {' | '.join(cells)} |" for cells in lines]


def target_table(checks: Iterable[Check]) -> list[str]:
    """Return the table of targets."""
    rows = ((check.name, check.measured, check.limit, "met" if check.met else "**missed**") for check in checks)
    return table(("target", "measured", "limit", ""), rows)


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

    def publish(
        self, title: str, note: str, lines: Iterable[str], results: Mapping[str, object], checks: Checks
    ) -> int:
        """Write a report of these lines between machine and targets; return the exit status: 1 when a target is missed."""
        machine = f"{self.machine}; {note}."
        parts = [
            f"# {title}",
            machine,
            "\n".join(lines).strip(),
            "\n".join(target_table(checks) if checks.checks else ()),
        ]
        report = "\n\n".join(part for part in parts if part) + "\n"
        return self.write(report, {"machine": machine, **results, "targets": list(map(vars, checks))}, checks)

    def write(self, report: str, results: object, checks: Checks | None = None) -> int:
        """Write report.md and results.json, print the report, and return the exit status: 1 when a target is missed."""
        (self.path / "report.md").write_text(report)
        (self.path / "results.json").write_text(json.dumps(_without_nan(results), indent=1))
        print(f"\n{report}\nwritten to {os.path.relpath(self.path)}")
        return 0 if checks is None or checks.met else 1


def _without_nan(value: object) -> object:
    """Return what JSON can say: it has no NaN."""
    match value:
        case float() if math.isnan(value):
            return None
        case dict():
            return {name: _without_nan(each) for name, each in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_without_nan(each) for each in cast("list[Any]", value)]
        case _:
            return value
