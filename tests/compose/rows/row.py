"""One row: the fleet it needs, what is done to it, and how that is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from benchmarks.harness.load import Sample
from tests.compose.deployment import Deployment
from tests.compose.health_watch import HealthWatch, history
from tests.compose.result import RowResult
from tests.compose.traffic import Traffic

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Pace:
    """Load of every row: requests a second, and seconds before the event and after the fleet is whole again."""

    rate: float = 20.0
    calm: float = 60.0
    before: float = 5.0
    after: float = 20.0


@dataclass
class RowRun:
    """What a running row works with."""

    fleet: Deployment
    traffic: Traffic
    pace: Pace
    result: RowResult
    # When the event began and the fleet was whole again (monotonic seconds); a row may set the first itself.
    began: float = 0.0
    ended: float = 0.0

    def note(self, name: str, value: object) -> None:
        """Add a figure to the report; floats are seconds."""
        self.result.details[name] = f"{value:.1f} s" if isinstance(value, float) else str(value)

    def seconds(self) -> float:
        """Seconds since the event."""
        return time.monotonic() - self.began


Action = Callable[[RowRun], Awaitable[None]]


@dataclass(frozen=True)
class Row:
    """One row.

    ``settings`` are the ``.env``'s lines that the fleet needs before; ``via`` is the service that gets the load, ``may_fail`` the pairs whose
    only server is killed. ``prepare`` is done before the fleet has them; ``ends_fleet``: nothing answers after the event.
    """

    name: str
    action: str
    run: Action
    settings: Mapping[str, str] = field(default_factory=lambda: NO_SETTINGS)
    via: str = "proxy"
    may_fail: frozenset[str] = frozenset()
    prepare: Callable[[Deployment], Awaitable[None]] | None = None
    rate_factor: float = 1.0
    ends_fleet: bool = False


async def measure(row: Row, fleet: Deployment, pace: Pace) -> RowResult:
    """Prepare the fleet, run the row under load, and judge it; what breaks is a missed target."""
    result = RowResult(row.name, row.action, row.via)
    samples: list[Sample] = []
    try:
        if row.prepare is not None:
            await row.prepare(fleet)
        await fleet.prepare(row.settings)
        traffic = Traffic(await fleet.url(row.via), fleet.key, pace.rate * row.rate_factor)
        samples = traffic.samples
        run = RowRun(fleet, traffic, pace, result)
        watch = HealthWatch(fleet.health)
        async with traffic.running(row.name), watch.running():
            await asyncio.sleep(pace.before)
            run.began = time.monotonic()
            await row.run(run)
            run.ended = time.monotonic()
            if not row.ends_fleet:
                await asyncio.sleep(pace.after)
        result.health = history([(at, status) for at, status in watch.seen if at >= run.began])
        if row.ends_fleet:
            samples = [sample for sample in samples if sample.sent < run.began]
        result.judge(samples, run.began, run.ended, row.may_fail)
    except Exception as error:  # noqa: BLE001 - the others are worth measuring
        result.kinds = result.kinds or _kinds(samples)
        reason = f"{type(error).__name__}: {error}"[:600]
        result.checks.holds("the row came to its end", fact=False, measured=reason)
    return result


def _kinds(samples: list[Sample]) -> dict[str, int]:
    failed = sum(sample.failed for sample in samples)
    return {f"failed of {len(samples)}": failed} if failed else {}
