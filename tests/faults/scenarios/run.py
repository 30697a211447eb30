"""Run of most scenarios: load, fault, load in the fault, healing, load again; and the figures of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from benchmarks.harness.load import Sample, failures
from tests.faults.fleet import RATE, FaultFleet, ProxyUnderTest, ReplicaUnderTest
from tests.faults.result import (
    MAX_ATTEMPTS_NORMAL,
    MIN_OF_FAIR_SHARE,
    RECOVERED_REQUESTS,
    RECOVERED_WITHIN_SECONDS,
    RECOVERY_SECONDS,
    PhaseSummary,
    ScenarioResult,
    Timing,
)
from tests.faults.samples import failed_percent, sent_between, share_of
from tests.support.waiting import wait_until

Action = Callable[[], Awaitable[object]]
Scenario = Callable[[FaultFleet, Timing], Awaitable[ScenarioResult]]


@dataclass
class ScenarioRun:
    """When everything happened (monotonic seconds), and what the load and the proxy counted."""

    began: float = 0.0
    healed: float = 0.0
    ended: float = 0.0
    samples: list[Sample] = field(default_factory=list[Sample])
    counters: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    hits: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    recovered: bool = True
    cpu_percent: float = 0.0

    def attempts(self, since: int, until: int) -> float:
        """Return attempts per request between two readings of the proxy's counters."""
        attempts, requests = (self.counters[until][name] - self.counters[since][name] for name in ("attempts", "begun"))
        return attempts / max(1.0, requests)


async def run_scenario(
    fleet: FaultFleet,
    timing: Timing,
    *,
    inject: Action,
    heal: Action,
    victim: ReplicaUnderTest | None = None,
    proxy: ProxyUnderTest | None = None,
    rate: float = RATE,
) -> ScenarioRun:
    """Run the phases; ``heal`` returns when the victim itself is well again."""
    run = ScenarioRun()
    async with fleet.loaded(rate, proxy, limit=timing.limit) as load:
        await asyncio.sleep(timing.settle)
        run.counters.append(await fleet.metrics(proxy))
        await asyncio.sleep(timing.before)
        run.counters.append(await fleet.metrics(proxy))
        run.began = time.monotonic()
        await inject()
        await asyncio.sleep(timing.fault)
        run.counters.append(await fleet.metrics(proxy))
        await heal()
        run.healed = time.monotonic()
        if timing.short and victim is not None:
            run.recovered = await is_served_again(victim, load.name)
        await asyncio.sleep(timing.after)
        run.ended = time.monotonic()
        result = await load.stop()
        run.samples = result.samples
        run.cpu_percent = 100 * result.cpu_share
        if victim is not None:
            hits = (await victim.hits(since=0))["hits"]
            run.hits = [(at, request_id) for at, request_id in hits if request_id.startswith(f"{load.name}-")]
    return run


async def is_served_again(victim: ReplicaUnderTest, load: str) -> bool:
    """Wait until the victim gets several of the load's requests; False when it does not."""
    before = (await victim.hits())["count"]

    async def is_served() -> bool:
        hits = (await victim.hits(since=before))["hits"]
        return sum(request_id.startswith(f"{load}-") for _, request_id in hits) >= RECOVERED_REQUESTS

    try:
        await wait_until(is_served, RECOVERED_WITHIN_SECONDS)
    except AssertionError:
        return False
    return True


def summarize(
    scenario: str, fleet: FaultFleet, timing: Timing, run: ScenarioRun, victim: ReplicaUnderTest | None
) -> ScenarioResult:
    """Return the figures and the targets of every scenario: nothing fails, few attempts, full recovery."""
    samples = run.samples
    before = [each for each in sent_between(samples, run.began - timing.before, run.began) if each.ended < run.began]
    # What was under way when the fault began met it too.
    during = [each for each in sent_between(samples, 0, run.began + timing.fault) if each.ended >= run.began]
    result = ScenarioResult(
        scenario,
        before=PhaseSummary.of(before),
        during=PhaseSummary.of(during),
        after=PhaseSummary.of(sent_between(samples, run.healed, run.ended)),
        failures=failures(samples),
        attempts_before=run.attempts(0, 1),
        attempts_during=run.attempts(1, 2),
        load_cpu_percent=run.cpu_percent,
    )
    checks = result.checks
    checks.at_most("requests failed", failed_percent(samples), 0, " %", timing=False)
    checks.at_most("attempts per request before", run.attempts(0, 1), MAX_ATTEMPTS_NORMAL)
    checks.at_most("attempts per request in the fault", run.attempts(1, 2), timing.max_attempts, timing=False)
    if victim is None:
        return result
    served = {request_id for at, request_id in run.hits if run.began <= at < run.began + timing.fault}
    result.share = len(served) / max(1, len(during))
    if timing.short:
        checks.holds("served again after it healed", run.recovered)
    else:
        fair = 1 / len(fleet.replicas)
        full = run.healed + RECOVERY_SECONDS
        result.share_5s = share_of(sent_between(samples, run.healed, full), victim.name)
        result.share_later = share_of(sent_between(samples, full, run.ended), victim.name)
        share, least = 100 * result.share_later / fair, 100 * MIN_OF_FAIR_SHARE
        checks.at_least("of its fair share 5 s after it healed", share, least, " %")
    return result
