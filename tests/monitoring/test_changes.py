"""What operators do every day makes no alert fire; the same without its other half does.

A real Prometheus scrapes real proxies and API servers with scripted engines; all times are those of ``prometheus.py``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import RedisServer
from tests.monitoring.changing_fleet import ChangingFleet, requests_to, watched_fleet
from tests.monitoring.prometheus import shortened_seconds

pytestmark = pytest.mark.monitoring

ONE, TWO, THREE = "127.0.0.2", "127.0.0.3", "127.0.0.4"
INFORMATIVE: Final = {"info", "none"}
# What a change leaves behind has fired by then, if it does: the longest wait of an alert of the fleet's state is 10 minutes.
SETTLED_SECONDS: Final = shortened_seconds(11 * 60)
FIRES_WITHIN: Final = 4 * SETTLED_SECONDS


@pytest.fixture
async def fleet(redis: RedisServer, tmp_path: Path) -> AsyncGenerator[ChangingFleet]:
    """Yield two proxies and two servers, watched and under load."""
    async with watched_fleet(tmp_path, redis.url, ONE, TWO) as changing:
        await changing.prometheus.until_fires("Watchdog", FIRES_WITHIN)
        yield changing


@pytest.mark.timeout(300)
async def test_changes_are_quiet_and_halves_of_them_are_not(fleet: ChangingFleet) -> None:
    async with requests_to(fleet.proxies) as failed:
        await fleet.servers.stop(ONE)
        await fleet.servers.start(ONE)
        await fleet.until_ready(2)

        await fleet.add(THREE)
        await fleet.expect(3)
        await fleet.until_ready(3)
        await fleet.expect(2)
        await fleet.take_away(THREE)
        await fleet.until_ready(2)

        assert (await fleet.servers.reload(TWO))["outcome"] == "switched"
        await fleet.until_ready(2)

        await fleet.drain(ONE)
        await fleet.until_ready(1)
        await asyncio.sleep(shortened_seconds(5 * 60))  # somebody works on it
        await fleet.resume(ONE)
        await fleet.until_ready(2)
        await asyncio.sleep(SETTLED_SECONDS)
        fired = {name for name, severity in (await fleet.prometheus.fired()).items() if severity not in INFORMATIVE}
        assert not fired, "changes that were completed"
        assert not failed

        await fleet.drain(ONE)
        await fleet.prometheus.until_fires("PairWithoutSpare", FIRES_WITHIN)
        await fleet.resume(ONE)
        await fleet.until_ready(2)

        await fleet.add(THREE)
        await fleet.expect(3)
        await fleet.until_ready(3)
        await fleet.take_away(THREE)
        await fleet.prometheus.until_fires("ReplicasMissing", FIRES_WITHIN)
        await fleet.expect(2)

        await fleet.servers.stop(ONE)
        for name in ("ReplicaDown", "NotScraped", "ReplicasMissing", "PairWithoutSpare"):
            await fleet.prometheus.until_fires(name, FIRES_WITHIN)
