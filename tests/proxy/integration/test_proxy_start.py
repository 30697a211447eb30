"""A proxy that starts serves when it knows the fleet, or says soon that it does not."""

from __future__ import annotations

import time

from proxy.fleet.prober import FIRST_SWEEP_SECONDS
from tests.conftest import RedisServer
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas


async def test_proxy_serves_after_its_first_sweep(redis: RedisServer) -> None:
    quick, slow = FakeReplica("en>de", name="quick"), FakeReplica("en>fr", name="slow")
    slow.report.delay = 0.5
    async with replicas(quick, slow), proxy([quick, slow], redis.url, ready=False) as young:
        assert (await young.translate("Hello", target="fr"))[0] == 200, "neither 503 nor, while one had reported, 404"
        assert (await young.client.get("/readyz")).status_code == 200


async def test_proxy_serves_though_its_first_sweep_lasts() -> None:
    slow = FakeReplica("en>de", name="slow")
    slow.report.fault = "hang"
    began = time.monotonic()
    async with replicas(slow), proxy([slow], ready=False, probe_timeout=60.0) as young:
        assert time.monotonic() - began >= FIRST_SWEEP_SECONDS
        response = await young.client.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"ready": False, "draining": False})
        health = await young.health()
        assert (health["status"], [each["state"] for each in health["replicas"]]) == ("down", ["starting"])
        for source in ("en", "auto"):
            status, problem, headers = await young.translate("Where is the station?", source)
            assert (status, problem["code"], headers["retry-after"]) == (503, "pair-unavailable", "1")
        slow.report.fault = None
        await slow.stop()
        await slow.start()
        await young.sees(slow, "ready")
        assert (await young.translate("Where is the station?", "auto"))[0] == 200
