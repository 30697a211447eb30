"""Summary of an overload: rates, latencies, refusals, retries. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

from benchmarks.harness.load import LoadResult, Sample, failures
from benchmarks.harness.report import NONE, percentile_ms

# What a client may be answered when there is too much to do; anything else but a translation is a failure.
REFUSALS: Final = frozenset({"overloaded", "rate-limited"})
HEADINGS: Final = (
    *("load", "offered /s", "goodput /s", "units /s", "p50 / p95 / p99 ms"),
    *("refused", "refusals p50 / p99 ms", "neither"),
    *("CPU ms proxy / API server / engine", "generator late p99 / most ms, CPU"),
)


def is_refused(sample: Sample) -> bool:
    """Whether it is the clear refusal of a server that has too much to do."""
    return sample.code in REFUSALS


class LoadSummary(NamedTuple):
    """One stream of a load, in the time that counts; times in ms, rates in requests (or units of cost) a second.

    Goodput is what ended in that time, all else is of what was due in it. ``cpu_ms`` of proxy, API server and engine is that of
    the whole load, for each request translated in it, whoever's it was; ``late`` is how far the generator was behind.
    """

    offered: float
    goodput: float
    goodput_units: float
    success_percent: float
    p50: float
    p95: float
    p99: float
    refusals: dict[str, int]
    refused_p50: float
    refused_p99: float
    others: dict[str, int]
    cpu_ms: list[float]
    late_p99: float
    late_max: float
    load_cpu_percent: float

    @property
    def refused(self) -> int:
        """Number of requests that were refused."""
        return sum(self.refusals.values())

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table, without the load's name."""
        return (
            f"{self.offered:.1f}",
            f"{self.goodput:.1f}",
            f"{self.goodput_units:.0f}",
            _slashed(self.p50, self.p95, self.p99),
            f"{self.refused} ({_counts(self.refusals)})" if self.refusals else NONE,
            _slashed(self.refused_p50, self.refused_p99),
            _counts(self.others) or "0",
            " / ".join(f"{each:.1f}" for each in self.cpu_ms),
            f"{_slashed(self.late_p99, self.late_max)}, {self.load_cpu_percent:.0f} %",
        )


def _slashed(*numbers: float) -> str:
    return " / ".join(NONE if math.isnan(number) else f"{number:.0f}" for number in numbers)


def _counts(codes: dict[str, int]) -> str:
    return ", ".join(f"{code}: {count}" for code, count in codes.items())


def summarize(result: LoadResult, cpu: Sequence[float], stream: str) -> LoadSummary:
    """Summarize a stream; ``cpu``: seconds of proxy, API server and engine in the whole load."""
    ended = [sample.units for sample in result.counted if sample.stream == stream]
    due = [sample for sample in result.due if sample.stream == stream]
    good = [sample.seconds for sample in due if not sample.failed]
    refused = [sample for sample in due if is_refused(sample)]
    refused_seconds, late = [sample.seconds for sample in refused], [sample.sent - sample.due for sample in due]
    translated = sum(not sample.failed for sample in result.samples) or math.nan
    return LoadSummary(
        offered=len(due) / result.seconds,
        goodput=len(ended) / result.seconds,
        goodput_units=sum(ended) / result.seconds,
        success_percent=good_percent(due),
        p50=percentile_ms(good, 50),
        p95=percentile_ms(good, 95),
        p99=percentile_ms(good, 99),
        refusals=failures(refused),
        refused_p50=percentile_ms(refused_seconds, 50),
        refused_p99=percentile_ms(refused_seconds, 99),
        others=unclear_failures(due),
        cpu_ms=[1000 * each / translated for each in cpu],
        late_p99=percentile_ms(late, 99),
        late_max=percentile_ms(late, 100),
        load_cpu_percent=100 * result.cpu_share,
    )


def unclear_failures(samples: Iterable[Sample]) -> dict[str, int]:
    """Count what was neither translated nor clearly refused, by status and code."""
    return failures(sample for sample in samples if not is_refused(sample))


def good_percent(samples: Sequence[Sample]) -> float:
    """Return the part that was translated; NaN of nothing."""
    return 100 * sum(not sample.failed for sample in samples) / len(samples) if samples else math.nan


class RetrySummary(NamedTuple):
    """Second attempts of the requests refused in a burst; ``words``: the same and more for the report."""

    not_retried: int
    retried: int
    succeeded_percent: float
    words: str

    @classmethod
    def of(cls, result: LoadResult) -> RetrySummary:
        """Take a burst."""
        refused = [sample for sample in result.samples if sample.attempt == 1 and is_refused(sample)]
        second = [sample for sample in result.samples if sample.attempt == 2]
        later = [sample for sample in second if sample.due >= result.until]
        waits = [sample.retry_after for sample in refused] or [math.nan]
        not_retried = {sample.number for sample in refused} - {sample.number for sample in second}
        words = (
            f"{len(refused)} refused, {len(second)} came back, {good_percent(second):.0f} % of them with success "
            f"({len(later)} after the burst, {good_percent(later):.0f} %); Retry-After {median(waits):.0f} s in the middle, "
            f"{max(waits):.0f} s at most."
        )
        return cls(len(not_retried), len(second), good_percent(second), words)
