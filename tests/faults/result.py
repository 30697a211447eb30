"""Result of a scenario: figures, and whether they meet the targets. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.harness.load import Sample
from benchmarks.harness.report import Checks, percentile_ms
from tests.faults.samples import failed_percent

# Targets of every scenario.
MAX_ATTEMPTS_NORMAL = 1.05
MAX_ATTEMPTS_IN_FAULT = 1.25
# In the short form a window holds too few requests for more than a bound.
MAX_ATTEMPTS_SHORT = 1.5
MIN_OF_FAIR_SHARE = 0.8
# A healed replica has its share after this.
RECOVERY_SECONDS = 5.0
# What the short form expects of a healed replica: so many of the load's requests again.
RECOVERED_REQUESTS = 10
RECOVERED_WITHIN_SECONDS = 20.0


@dataclass(frozen=True)
class Timing:
    """Seconds of a scenario: load without a fault (``settle`` of them not counted), fault, load after it healed.

    ``after`` 0 is the short form: the scenario goes on until the replica is served again, and percentiles are not judged. Clients
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

    @property
    def max_attempts(self) -> float:
        """Attempts per request that a fault may cost."""
        return MAX_ATTEMPTS_SHORT if self.short else MAX_ATTEMPTS_IN_FAULT


# Clients as patient as those that the peers were measured with.
FULL = Timing(settle=2.0, before=2.0, fault=7.0, after=10.0, limit=5.0)
SHORT = Timing(settle=0.5, before=0.5, fault=3.0, after=0.0, limit=2.5)


@dataclass(frozen=True)
class PhaseSummary:
    """The load's requests that were sent in a time."""

    requests: int
    failed_percent: float
    p50_ms: float
    p99_ms: float

    @classmethod
    def of(cls, samples: list[Sample]) -> PhaseSummary:
        seconds = [sample.seconds for sample in samples]
        return cls(len(samples), failed_percent(samples), percentile_ms(seconds, 50), percentile_ms(seconds, 99))


@dataclass
class ScenarioResult:
    """A scenario's figures; what does not apply is None. Shares are parts of 1."""

    scenario: str
    checks: Checks = field(default_factory=Checks)
    before: PhaseSummary | None = None
    during: PhaseSummary | None = None
    after: PhaseSummary | None = None
    failures: dict[str, int] = field(default_factory=dict[str, int])
    share: float | None = None
    share_5s: float | None = None
    share_later: float | None = None
    attempts_before: float | None = None
    attempts_during: float | None = None
    load_cpu_percent: float | None = None
    details: dict[str, float] = field(default_factory=dict[str, float])
