"""The course of most rows: load, fault, load in the fault, healing, load again; and the figures of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from tests.faults import outcomes
from tests.faults.outcomes import Outcome
from tests.faults.result import (
    LEAST_OF_FAIR_SHARE,
    MOST_ATTEMPTS_IN_FAULT,
    MOST_ATTEMPTS_NORMAL,
    MOST_ATTEMPTS_SHORT,
    RECOVERED_HITS,
    RECOVERED_WITHIN_SECONDS,
    RECOVERY_SECONDS,
    Phase,
    Result,
    Times,
)
from tests.faults.scene import RATE, ProxyUnderTest, ReplicaUnderTest, Scene
from tests.waiting import wait_until

Act = Callable[[], Awaitable[object]]
Row = Callable[[Scene, Times], Awaitable[Result]]


@dataclass
class Course:
    """What happened: when (monotonic seconds), and what the load and the proxy counted."""

    began: float = 0.0
    healed: float = 0.0
    ended: float = 0.0
    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    counts: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    hits: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    recovered: bool = True
    cpu_percent: float = 0.0

    def attempts(self, since: int, until: int) -> float:
        """Return attempts per request between two looks at the proxy's counters."""
        attempts, asked = (self.counts[until][name] - self.counts[since][name] for name in ("attempts", "begun"))
        return attempts / max(1.0, asked)


async def run(
    scene: Scene,
    times: Times,
    *,
    inject: Act,
    heal: Act,
    victim: ReplicaUnderTest | None = None,
    proxy: ProxyUnderTest | None = None,
    rate: float = RATE,
) -> Course:
    """Go through the course; ``heal`` returns when the victim itself is well again."""
    course = Course()
    async with scene.loaded(rate, proxy, limit=times.limit) as load:
        started = time.monotonic()
        await asyncio.sleep(times.settle)
        course.counts.append(await scene.metrics(proxy))
        await asyncio.sleep(times.before)
        course.counts.append(await scene.metrics(proxy))
        course.began = time.monotonic()
        await inject()
        await asyncio.sleep(times.fault)
        course.counts.append(await scene.metrics(proxy))
        await heal()
        course.healed = time.monotonic()
        if times.short and victim is not None:
            course.recovered = await recovers(victim, load.plan.name)
        await asyncio.sleep(times.after)
        course.ended = time.monotonic()
        course.outcomes = await load.stop()
        course.cpu_percent = 100 * load.cpu_seconds / (time.monotonic() - started)
        if victim is not None:
            hits = (await victim.hits(since=0))["hits"]
            course.hits = [(at, request_id) for at, request_id in hits if request_id.startswith(f"{load.plan.name}-")]
    return course


async def recovers(victim: ReplicaUnderTest, load: str) -> bool:
    """Say whether the victim is asked again, and again."""
    before = (await victim.hits())["count"]

    async def asked() -> bool:
        hits = (await victim.hits(since=before))["hits"]
        return sum(request_id.startswith(f"{load}-") for _, request_id in hits) >= RECOVERED_HITS

    try:
        await wait_until(asked, RECOVERED_WITHIN_SECONDS)
    except AssertionError:
        return False
    return True


def judged(row: str, scene: Scene, times: Times, course: Course, victim: ReplicaUnderTest | None) -> Result:
    """Return the figures of a course, and what is promised of every row: nothing fails, few attempts, full recovery."""
    sent = course.outcomes
    before = [
        one for one in outcomes.between(sent, course.began - times.before, course.began) if one.ended < course.began
    ]
    # What was under way when the fault began met it too.
    during = [one for one in outcomes.between(sent, 0, course.began + times.fault) if one.ended >= course.began]
    after = outcomes.between(sent, course.healed, course.ended)
    result = Result(
        row,
        before=Phase.of(before),
        during=Phase.of(during),
        after=Phase.of(after),
        failures=outcomes.failures(sent),
        attempts_before=course.attempts(0, 1),
        attempts_during=course.attempts(1, 2),
        load_cpu_percent=course.cpu_percent,
    )
    failed = outcomes.failed_percent(sent)
    result.promise("requests failed", found=failed, at_most=0, unit=" %", figure=False)
    most = MOST_ATTEMPTS_SHORT if times.short else MOST_ATTEMPTS_IN_FAULT
    result.promise("attempts per request before", found=course.attempts(0, 1), at_most=MOST_ATTEMPTS_NORMAL)
    result.promise("attempts per request in the fault", found=course.attempts(1, 2), at_most=most, figure=False)
    if victim is None:
        return result
    asked = {request_id for at, request_id in course.hits if course.began <= at < course.began + times.fault}
    result.share = len(asked) / max(1, len(during))
    if times.short:
        result.promise_that("served again after it healed", course.recovered)
    else:
        fair = 1 / len(scene.replicas)
        full = course.healed + RECOVERY_SECONDS
        result.share_5s = outcomes.share(outcomes.between(sent, course.healed, full), victim.name)
        result.share_later = outcomes.share(outcomes.between(sent, full, course.ended), victim.name)
        found = 100 * result.share_later / fair
        least = 100 * LEAST_OF_FAIR_SHARE
        result.promise_at_least("of its fair share 5 s after it healed", found=found, at_least=least, unit=" %")
    return result
