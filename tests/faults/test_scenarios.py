"""Every scenario of the fault suite in a short form: nothing fails, attempts stay few, and what healed is served again.

Percentiles, shares and the scenarios of real engines are judged by `make faults`, which runs all of them in full. The scenarios share one fleet.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.faults.fleet import FaultFleet, FleetSetup, running_fleet
from tests.faults.result import SHORT
from tests.faults.scenarios.table import SCENARIOS, Entry
from tests.support.waiting import again_where_paused

# Without the proxies' scenarios: one proxy less is a third less work for the machine.
ONE = [entry for entry in SCENARIOS if entry.setup == FleetSetup()]
TWO = [entry for entry in SCENARIOS if entry.setup == FleetSetup(proxies=2)]
# Longer than a probe takes, as the usual 3 s are.
DRAIN_SECONDS = 1.5


@pytest.fixture(scope="module")
async def one_proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[FaultFleet]:
    async with running_fleet(FleetSetup(drain_seconds=DRAIN_SECONDS), tmp_path_factory.mktemp("one")) as fleet:
        yield fleet


@pytest.fixture(scope="module")
async def two_proxies(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[FaultFleet]:
    setup = FleetSetup(proxies=2, drain_seconds=DRAIN_SECONDS)
    async with running_fleet(setup, tmp_path_factory.mktemp("two")) as fleet:
        yield fleet


async def run_short(entry: Entry, fleet: FaultFleet) -> None:
    """Run the scenario; fail for each target that it misses.

    Its clients wait for 2.5 s: where the machine paused meanwhile, it is run again.
    """

    async def attempt() -> None:
        await fleet.heal()
        result = await entry.run(fleet, SHORT)
        missed = [f"{check.name}: {check.measured}, not {check.limit}" for check in result.checks.missed(timings=False)]
        assert not missed, f"{missed} {result.failures}\n{fleet.logs()}"

    await again_where_paused(attempt)


@pytest.mark.parametrize("entry", ONE, ids=lambda entry: entry.name)
async def test_a_fleet_of_two_survives(entry: Entry, one_proxy: FaultFleet) -> None:
    await run_short(entry, one_proxy)


@pytest.mark.parametrize("entry", TWO, ids=lambda entry: entry.name)
async def test_two_proxies_survive(entry: Entry, two_proxies: FaultFleet) -> None:
    await run_short(entry, two_proxies)
