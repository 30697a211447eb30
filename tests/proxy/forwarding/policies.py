"""Policies of retries and hedges over three replicas, and requests for them, without any network."""

from __future__ import annotations

from random import Random

from proxy.balancing.local_stats import LocalStats, ModelLatency
from proxy.balancing.selector import ReplicaSelector
from proxy.call import Leg, RequestCost, TranslationCall
from proxy.forwarding.hedging import HedgingPolicy
from proxy.forwarding.retry_policy import LegProgress, RetryBudget, RetryPolicy
from proxy.keys.caller import Caller
from shared.protocol.deadline import Deadline
from shared.protocol.errors import ReplicaFailedError
from shared.protocol.priority import Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.samples import pair, replica, snapshot
from tests.support.clock import HandClock

EN_DE = pair("en>de")
FLEET = snapshot(*(replica(url, "en>de") for url in "abc"))
FAILURE = ReplicaFailedError("x")


class Setup:
    """Policies of two attempts over three replicas, and one request."""

    def __init__(self, max_attempts: int = 2) -> None:
        self.clock = HandClock()
        rng = Random(1)  # noqa: S311 - the same in each run
        self.stats = LocalStats(self.clock, rng)
        self.stats.apply_snapshot(FLEET)
        self.budget = RetryBudget(self.clock)
        selector = ReplicaSelector(self.stats, rng)
        self.policy = RetryPolicy(selector, self.stats, self.budget, max_attempts)
        self.hedging = HedgingPolicy(selector, self.stats, self.budget, max_attempts)

    @property
    def latency(self) -> ModelLatency:
        """The latency of the only model."""
        return self.stats.pair_stats(EN_DE).latencies[0]

    def progress(
        self, target: str = "de", *, source: str = "en", seconds: float = 10.0, streams: bool = False
    ) -> LegProgress:
        request = TranslateRequest(text="Hello", source_lang=source, target_lang=target)
        deadline = Deadline.after(seconds, self.clock)
        cost = RequestCost.of(request, Priority.INTERACTIVE)
        call = TranslationCall(request, cost, Caller("c"), Priority.INTERACTIVE, deadline, "id", RequestSample())
        sink = DeltaSink(lambda _index, _text: None) if streams else None
        wanted = pair(f"{source}>{target}")
        return LegProgress(Leg(call, wanted, wanted, request, call.cost, sink))

    def failed(self, *urls: str) -> LegProgress:
        """Return the progress of a leg that these replicas did not serve."""
        progress = self.progress()
        progress.tried_urls |= set(urls)
        progress.errors |= dict.fromkeys(urls, FAILURE)
        return progress

    def spend(self) -> None:
        while self.budget.withdraw():
            pass
