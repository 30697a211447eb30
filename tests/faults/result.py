"""What a row of the fault suite found, and whether that is what was promised. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tests.faults import outcomes
from tests.faults.outcomes import Outcome

# Targets of the issue, for every row.
MOST_ATTEMPTS_NORMAL = 1.05
MOST_ATTEMPTS_IN_FAULT = 1.25
# In the short form a window holds too few requests for more than a bound.
MOST_ATTEMPTS_SHORT = 1.5
LEAST_OF_FAIR_SHARE = 0.8
# A healed replica has its share after this.
RECOVERY_SECONDS = 5.0
# What the short form asks of a healed replica: so many of the load's requests again.
RECOVERED_HITS = 10
RECOVERED_WITHIN_SECONDS = 20.0


@dataclass(frozen=True)
class Times:
    """Seconds of a row: load without a fault (``settle`` of them not counted), fault, load after it healed.

    ``after`` 0 is the short form: the row goes on until the replica is served again, and percentiles are not judged. Clients
    wait for ``limit``: what hangs as long as the fault lasts has failed.
    """

    settle: float
    before: float
    fault: float
    after: float
    limit: float

    @property
    def short(self) -> bool:
        return self.after == 0


# Clients as patient as those that the peers were measured with.
FULL = Times(settle=2.0, before=2.0, fault=7.0, after=10.0, limit=5.0)
SHORT = Times(settle=0.5, before=0.5, fault=3.0, after=0.0, limit=2.5)


@dataclass(frozen=True)
class Check:
    """One promise: what was found beside what was promised; ``figure``: judged in the full form only."""

    what: str
    found: str
    promised: str
    met: bool
    figure: bool = False


@dataclass(frozen=True)
class Phase:
    """The load's requests that were sent in a time."""

    requests: int
    failed_percent: float
    p50_ms: float
    p99_ms: float

    @classmethod
    def of(cls, sent: list[Outcome]) -> Phase:
        return cls(
            len(sent),
            outcomes.failed_percent(sent),
            outcomes.percentile(sent, 50) * 1000,
            outcomes.percentile(sent, 99) * 1000,
        )


@dataclass
class Result:
    """A row's figures; what does not apply is None. Shares are parts of 1."""

    row: str
    checks: list[Check] = field(default_factory=list[Check])
    before: Phase | None = None
    during: Phase | None = None
    after: Phase | None = None
    failures: dict[str, int] = field(default_factory=dict[str, int])
    share: float | None = None
    share_5s: float | None = None
    share_later: float | None = None
    attempts_before: float | None = None
    attempts_during: float | None = None
    load_cpu_percent: float | None = None
    more: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def met(self) -> bool:
        return all(check.met for check in self.checks)

    def missed(self, *, figures: bool) -> list[Check]:
        """Return the promises that were not kept; figures only where asked for."""
        return [check for check in self.checks if not check.met and (figures or not check.figure)]

    def promise(self, what: str, *, found: float, at_most: float, unit: str = "", figure: bool = True) -> None:
        """Note an upper bound; what could not be measured does not keep it."""
        met = not math.isnan(found) and found <= at_most
        self.checks.append(Check(what, f"{found:.4g}{unit}", f"≤ {at_most:g}{unit}", met, figure))

    def promise_at_least(
        self, what: str, *, found: float, at_least: float, unit: str = "", figure: bool = True
    ) -> None:
        """Note a lower bound."""
        met = not math.isnan(found) and found >= at_least
        self.checks.append(Check(what, f"{found:.4g}{unit}", f"≥ {at_least:g}{unit}", met, figure))

    def promise_that(self, what: str, met: object, *, found: str = "", promised: str = "yes") -> None:
        """Note a fact that must hold in both forms."""
        self.checks.append(Check(what, found or ("yes" if met else "no"), promised, bool(met)))
