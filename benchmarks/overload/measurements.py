"""Summary of an overload: rates, latencies, refusals, retries. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

from benchmarks.harness.load import Sample, failures
from benchmarks.harness.report import percentile_ms
from benchmarks.overload.fleet import OverloadLoad

# What a client may be answered when there is too much to do; anything else but a translation is a failure.
REFUSALS: Final = frozenset({"overloaded", "rate-limited"})


def is_refused(sample: Sample) -> bool:
    """Whether it is the clear refusal of a server that has too much to do."""
    return sample.code in REFUSALS


class LoadSummary(NamedTuple):
    """One stream of a load, in the time that counts.

    Latencies are in ms, rates in requests (or units of cost) a second.
    """

    offered: float
    goodput: float
    goodput_units: float
    good: int
    p50: float
    p95: float
    p99: float
    refused: int
    refusals: dict[str, int]
    refused_p50: float
    refused_p99: float
    others: dict[str, int]
    late_p99: float
    late_max: float
    load_cpu_percent: float
    proxy_cpu_ms: float
    apiserver_cpu_ms: float
    engine_cpu_ms: float

    @property
    def success_percent(self) -> float:
        """Part of the requests that were translated."""
        sent = self.good + self.refused + sum(self.others.values())
        return 100 * self.good / sent if sent else math.nan


def summarize(load: OverloadLoad, stream: str) -> LoadSummary:
    """Summarize a stream.

    Goodput is what ended in the time that counts, all else is of what was due in it. CPU is the servers' over the whole load, for each request translated in it, whoever's it was.
    """
    samples = [sample for sample in load.result.samples if sample.stream == stream]
    ended = [
        sample for sample in samples if load.result.since <= sample.ended < load.result.until and not sample.failed
    ]
    due = [sample for sample in samples if load.result.since <= sample.due < load.result.until and sample.attempt == 1]
    good = [sample.seconds for sample in due if not sample.failed]
    refused = [sample for sample in due if is_refused(sample)]
    refused_after = [sample.seconds for sample in refused]
    late = [sample.sent - sample.due for sample in due]
    translated = sum(not sample.failed for sample in load.result.samples) or math.nan
    return LoadSummary(
        offered=len(due) / load.result.seconds,
        goodput=len(ended) / load.result.seconds,
        goodput_units=sum(sample.units for sample in ended) / load.result.seconds,
        good=len(good),
        p50=percentile_ms(good, 50),
        p95=percentile_ms(good, 95),
        p99=percentile_ms(good, 99),
        refused=len(refused),
        refusals=failures(refused),
        refused_p50=percentile_ms(refused_after, 50),
        refused_p99=percentile_ms(refused_after, 99),
        others=unclear_failures(due),
        late_p99=percentile_ms(late, 99),
        late_max=percentile_ms(late, 100),
        load_cpu_percent=100 * load.result.cpu_share,
        proxy_cpu_ms=1000 * load.cpu.proxy / translated,
        apiserver_cpu_ms=1000 * load.cpu.apiserver / translated,
        engine_cpu_ms=1000 * load.cpu.engine / translated,
    )


def unclear_failures(samples: Iterable[Sample]) -> dict[str, int]:
    """Count what was neither translated nor clearly refused, by status and code."""
    return failures(sample for sample in samples if not is_refused(sample))


class RetrySummary(NamedTuple):
    """Second attempts of the requests refused in a burst; shares in percent."""

    refused: int
    not_retried: int
    retried: int
    succeeded: float
    retried_later: int
    succeeded_later: float
    longest_wait: float
    median_wait: float


def summarize_retries(load: OverloadLoad) -> RetrySummary:
    """Return the second attempts: all, and those after the burst alone."""
    refused = [sample for sample in load.result.samples if sample.attempt == 1 and is_refused(sample)]
    second = [sample for sample in load.result.samples if sample.attempt == 2]
    later = [sample for sample in second if sample.due >= load.result.until]
    waits = [sample.retry_after for sample in refused]
    return RetrySummary(
        refused=len(refused),
        not_retried=len({sample.number for sample in refused} - {sample.number for sample in second}),
        retried=len(second),
        succeeded=_good_percent(second),
        retried_later=len(later),
        succeeded_later=_good_percent(later),
        longest_wait=max(waits, default=math.nan),
        median_wait=median(waits) if waits else math.nan,
    )


def _good_percent(samples: Sequence[Sample]) -> float:
    return 100 * sum(not sample.failed for sample in samples) / len(samples) if samples else math.nan
