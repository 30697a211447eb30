"""The forwarder's attempts at scripted replicas, and what they cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from random import Random

from typing_extensions import override

from proxy.balancing.attempt import Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.call import TranslationCall
from proxy.fleet.registry import Registry
from proxy.fleet.store import FleetStore
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.hedge import Hedge
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.forwarding.retry_policy import RetryBudget, RetryPolicy
from proxy.forwarding.upstream_request import UpstreamRequest
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from proxy.request_cost import RequestCost
from proxy.upstream.client import ReplicaClient
from proxy.upstream.http_client import Exchange
from shared.protocol.deadline import Deadline
from shared.protocol.errors import ReplicaFailedError
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.conftest import PREFIX
from tests.proxy.samples import pair, replica, snapshot

EN_DE = pair("en>de")
FLEET = snapshot(*(replica(url, "en>de") for url in "abc"))


class LostThenAnswered(UpstreamRequest):
    """The first replica is lost once the hedge has begun; the hedge is answered after that."""

    def __init__(self, stats: LocalStats, metrics: ProxyMetrics, policy: RetryPolicy) -> None:
        super().__init__(ReplicaClient(1, 1, ""), stats, metrics)
        self.policy = policy
        self.hedge_began, self.first_lost = asyncio.Event(), asyncio.Event()

    @override
    async def send(
        self, selection: Selection, leg: Leg, on_lost: Callable[[Leg, Exchange], None], hedge: Hedge | None
    ) -> bytes:
        if hedge is None:
            self.hedge_began.set()
            await self.first_lost.wait()
            return b"{}"
        await self.hedge_began.wait()
        assert self.policy.may_abandon(leg, FLEET)
        self.first_lost.set()
        raise AttemptFailedError(ReplicaFailedError("lost"))


async def test_attempt_that_a_hedge_spared_is_refunded() -> None:
    rng = Random(1)  # noqa: S311 - the same in each run
    stats, metrics, budget = LocalStats(time.monotonic, rng), ProxyMetrics(), RetryBudget(lambda: 0.0)
    stats.apply_snapshot(FLEET)
    policy = RetryPolicy(ReplicaSelector(stats, rng), stats, budget, 3)
    store = FleetStore("redis://127.0.0.1:1", PREFIX, 1, time.time)
    lease = store.lease("me", 1, time.monotonic)
    registry = Registry(store, lease, (), report_ttl=5, clock=time.time, on_snapshot=stats.apply_snapshot)
    registry.snapshot = FLEET
    forwarder = Forwarder(registry, LostThenAnswered(stats, metrics, policy), policy, metrics)
    request = TranslateRequest(text="Hello", source_lang="en", target_lang="de")
    cost, deadline = RequestCost.of(request, Priority.INTERACTIVE), Deadline.after(60, time.monotonic)
    call = TranslationCall(request, cost, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())
    left = budget.left
    assert await forwarder.send(Leg(EN_DE, call, request, cost)) == b"{}"
    assert budget.left == left - 1, "the hedge was paid for, and nothing else"
