"""AdmissionHarness: an admission controller over a small fleet, for tests of admission."""

from __future__ import annotations

from contextlib import ExitStack
from random import Random

import pytest

from proxy.admission.controller import AdmissionController
from proxy.call import Leg, RequestCost, TranslationCall
from proxy.fleet.snapshot import Snapshot
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from shared.protocol.deadline import Deadline
from shared.protocol.errors import OverloadedError
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from tests.proxy.balancing.local_fleet import EN_DE, A, LocalFleet
from tests.proxy.samples import models, pair, replica, snapshot

LIMIT = 10.0


EN_FR = pair("en>fr")


class AdmissionHarness:
    """An admission controller over two replicas of which one reports no capacity, or one that does."""

    def __init__(self, fleet_snapshot: Snapshot | None = None) -> None:
        self.snapshot = fleet_snapshot or full_to(0)
        self.local_fleet = LocalFleet(self.snapshot)
        self.metrics = ProxyMetrics()
        self.controller = AdmissionController(
            self.local_fleet.local_stats,
            self.metrics,
            lambda: self.local_fleet.now,
            Random(5),  # noqa: S311 - jitter, no secrets
        )
        self.admitted = ExitStack()

    def report(self, fleet_snapshot: Snapshot) -> None:
        self.snapshot = fleet_snapshot
        self.local_fleet.local_stats.apply_snapshot(fleet_snapshot)

    def call(
        self, caller: str = "alice", text: str = "Hello", priority: Priority = Priority.INTERACTIVE
    ) -> TranslationCall:
        request = TranslateRequest(text=text, source_lang="en", target_lang="de")
        deadline = Deadline.after(30, lambda: self.local_fleet.now)
        cost = RequestCost.of(request, priority)
        return TranslationCall(request, cost, Caller(caller), priority, deadline, "id", RequestSample())

    def leg(self, caller: str = "alice", text: str = "Hello", priority: Priority = Priority.INTERACTIVE) -> Leg:
        call = self.call(caller, text, priority)
        return Leg(call, EN_DE, EN_DE, call.request, call.cost)

    def admit(self, caller: str = "alice", text: str = "Hello", priority: Priority = Priority.INTERACTIVE) -> None:
        """Be admitted, and stay.

        Raises:
            OverloadedError: refused.
        """
        self.admitted.enter_context(self.controller.admit([self.leg(caller, text, priority)], self.snapshot))

    def refused_seconds(self, caller: str = "alice", text: str = "Hello") -> float:
        """Be refused; return the seconds to wait."""
        with pytest.raises(OverloadedError) as refused:
            self.admit(caller, text)
        assert refused.value.retry_after is not None
        return refused.value.retry_after

    def shed_count(self, reason: str) -> float:
        return self.metrics.shed.labels("en-de", "interactive", reason).value


def full_to(ahead: float, rate: float | None = 2.0) -> Snapshot:
    return snapshot(replica(A, "en>de", models=models(ahead=ahead, limit=LIMIT, rate=rate)))
