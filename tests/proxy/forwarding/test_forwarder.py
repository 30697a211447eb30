"""The forwarder's attempts at scripted replicas, and what they cost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from random import Random
from typing import Any, cast

from typing_extensions import override

from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.call import Leg, RequestCost, TranslationCall
from proxy.fleet.registry import Registry
from proxy.fleet.store import FleetStore
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.hedging import HedgingPolicy
from proxy.forwarding.retry_policy import RetryBudget, RetryPolicy
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.http_client import UpstreamCall
from proxy.upstream.response_classifier import ReplicaResponse
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.sse_format import OnDelta
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.conftest import PREFIX
from tests.proxy.samples import pair, replica, snapshot

EN_DE = pair("en>de")
FLEET = snapshot(*(replica(url, "en>de") for url in "abc"))


class ScriptedCall:
    """A call that a test ends by hand."""

    def __init__(self) -> None:
        self.result: asyncio.Future[ReplicaResponse] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Generator[Any, None, ReplicaResponse]:
        return self.result.__await__()

    @property
    def is_open(self) -> bool:
        return not self.result.done()

    def abandon(self, error: Exception) -> None:
        self.result.set_exception(error)


class LostThenAnswered(ReplicaClient):
    """The first replica is lost once the hedge has begun; the hedge is answered after that."""

    def __init__(self, stats: LocalStats) -> None:
        super().__init__(1, 1, "")
        self.stats = stats
        self.calls: dict[str, ScriptedCall] = {}

    @override
    def translate(
        self, url: str, body: bytes, deadline: Deadline, headers: Mapping[str, str], on_delta: OnDelta | None = None
    ) -> UpstreamCall:
        call = self.calls[url] = ScriptedCall()
        if len(self.calls) > 1:
            asyncio.get_running_loop().call_soon(self.lose_the_first)
        return cast("UpstreamCall", call)

    def lose_the_first(self) -> None:
        lost, second = self.calls
        self.stats.pair_replica_stats(lost, EN_DE).notify_lost()
        assert not self.calls[lost].is_open
        self.calls[second].result.set_result(ReplicaResponse(200, b"{}"))


async def test_attempt_that_a_hedge_spared_is_refunded() -> None:
    rng = Random(1)  # noqa: S311 - the same in each run
    stats, metrics, budget = LocalStats(time.monotonic, rng), ProxyMetrics(), RetryBudget(lambda: 0.0)
    stats.apply_snapshot(FLEET)
    selector = ReplicaSelector(stats, rng)
    policies = RetryPolicy(selector, stats, budget, 3), HedgingPolicy(selector, stats, budget, 3)
    store = FleetStore("redis://127.0.0.1:1", PREFIX, 1, time.time)
    lease = store.lease("me", 1, time.monotonic)
    registry = Registry(store, lease, (), report_ttl=5, clock=time.time, on_snapshot=stats.apply_snapshot)
    registry.snapshot = FLEET
    forwarder = Forwarder(registry, LostThenAnswered(stats), stats, metrics, *policies)
    request = TranslateRequest(text="Hello", source_lang="en", target_lang="de")
    cost, deadline = RequestCost.of(request, Priority.INTERACTIVE), Deadline.after(60, time.monotonic)
    call = TranslationCall(request, cost, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())
    left = budget.left
    assert await forwarder.send(Leg(call, EN_DE, EN_DE, request, cost)) == b"{}"
    assert budget.left == left - 1, "the hedge was paid for, and nothing else"
