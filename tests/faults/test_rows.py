"""Every row of the fault suite in a short form: nothing fails, attempts stay few, and what healed is served again.

Percentiles and shares are judged by `make faults`, which runs the same rows in full. The rows share one fleet.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from tests.faults.result import SHORT
from tests.faults.rows import ROWS, Entry
from tests.faults.scene import Scene, Setting, staged

# Without the proxies' rows: one proxy less is a third less work for the machine.
ONE = [entry for entry in ROWS if entry.setting == Setting()]
TWO = [entry for entry in ROWS if entry.setting == Setting(proxies=2)]
REAL = [entry for entry in ROWS if entry.setting == Setting(real=True)]
# Longer than a probe takes, as the usual 3 s are.
DRAIN_SECONDS = 1.5


@pytest.fixture(scope="module")
async def one_proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    async with staged(Setting(drain_seconds=DRAIN_SECONDS), tmp_path_factory.mktemp("one")) as scene:
        yield scene


@pytest.fixture(scope="module")
async def two_proxies(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    setting = Setting(proxies=2, drain_seconds=DRAIN_SECONDS)
    async with staged(setting, tmp_path_factory.mktemp("two")) as scene:
        yield scene


@pytest.fixture(scope="module")
async def real_fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Scene]:
    setting = Setting(real=True, drain_seconds=DRAIN_SECONDS)
    async with staged(setting, tmp_path_factory.mktemp("real")) as scene:
        yield scene


async def kept(entry: Entry, scene: Scene) -> None:
    """Run the row; fail for each promise that it does not keep."""
    await scene.heal()
    result = await entry.run(scene, SHORT)
    missed = [f"{check.what}: {check.found}, not {check.promised}" for check in result.missed(figures=False)]
    assert not missed, f"{missed} {result.failures}\n{scene.logs()}"


@pytest.mark.parametrize("entry", ONE, ids=lambda entry: entry.name)
async def test_a_fleet_of_two_survives(entry: Entry, one_proxy: Scene) -> None:
    await kept(entry, one_proxy)


@pytest.mark.parametrize("entry", TWO, ids=lambda entry: entry.name)
async def test_two_proxies_survive(entry: Entry, two_proxies: Scene) -> None:
    await kept(entry, two_proxies)


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.parametrize("entry", REAL, ids=lambda entry: entry.name)
async def test_a_fleet_with_real_engines_survives(entry: Entry, real_fleet: Scene) -> None:
    await kept(entry, real_fleet)
