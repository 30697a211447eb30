"""Targets: what was measured beside what it must be. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

TARGET_HEADINGS = ("target", "measured", "limit", "")


@dataclass(frozen=True)
class Check:
    """Target with its measured value; ``timing``: it is a figure of a loaded machine, not a fact."""

    name: str
    measured: str
    limit: str
    met: bool
    timing: bool = False

    def cells(self) -> tuple[str, ...]:
        """Return a row of a table."""
        return self.name, self.measured, self.limit, "met" if self.met else "**missed**"


@dataclass
class Checks:
    """Checks of one run, in their order.

    A value that could not be measured (NaN) misses its target.
    """

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
        met = not math.isnan(measured) and measured <= limit
        self.checks.append(Check(name, f"{measured:.4g}{unit}", f"≤ {limit:g}{unit}", met, timing))

    def at_least(self, name: str, measured: float, limit: float, unit: str = "", *, timing: bool = True) -> None:
        """Check a lower bound."""
        met = not math.isnan(measured) and measured >= limit
        self.checks.append(Check(name, f"{measured:.4g}{unit}", f"≥ {limit:g}{unit}", met, timing))

    def holds(self, name: str, fact: object, *, measured: str = "", limit: str = "yes") -> None:
        """Check a fact."""
        self.checks.append(Check(name, measured or ("yes" if fact else "no"), limit, bool(fact)))
