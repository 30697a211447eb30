"""LocalFleet: two replicas, this proxy's statistics of them, and a selector, for tests of balancing and admission."""

from __future__ import annotations

from random import Random

from proxy.balancing.local_stats import Attempt, LocalStats, Selection
from proxy.balancing.outlier_detection import find_suspects
from proxy.balancing.selector import ReplicaSelector
from proxy.call import RequestCost, work_of
from proxy.fleet.snapshot import Snapshot
from proxy.upstream.response_classifier import AttemptOutcome
from tests.proxy.samples import pair, replica, snapshot

A, B = "http://a", "http://b"


EN_DE = pair("en>de")


class LocalFleet:
    """Statistics of a fleet with a clock that a test moves, and a selector."""

    def __init__(self, fleet_snapshot: Snapshot | None = None) -> None:
        self.now = 1000.0
        rng = Random(7)  # noqa: S311 - picks, not secrets
        self.local_stats = LocalStats(lambda: self.now, rng)
        self.selector = ReplicaSelector(self.local_stats, rng)
        self.snapshot = snapshot(replica(A, "en>de"), replica(B, "en>de")) if fleet_snapshot is None else fleet_snapshot
        self.local_stats.apply_snapshot(self.snapshot)
        for url in self.snapshot.ready.get(EN_DE, ()):
            self.local_stats.pair_replica_stats(url, EN_DE)
        self.now += 60  # no replica is new

    def attempt(self, url: str = A, texts: int = 1, lost_urls: list[str] | None = None) -> Attempt:
        permit = self.local_stats.pair_replica_stats(url, EN_DE).breaker.acquire()
        attempt = self.local_stats.begin_attempt(
            Selection(url, EN_DE, 0, permit, "m"), RequestCost(work_of(0, texts), texts)
        )
        if lost_urls is not None:
            attempt.on_lost = lambda: lost_urls.append(url)
        return attempt

    def finish_attempt(
        self, url: str, outcome: AttemptOutcome, seconds: float = 0.02, *, unreachable: bool = False
    ) -> None:
        with self.attempt(url) as attempt:
            self.now += seconds
            attempt.record_outcome(outcome, full_for=2.0, unreachable=unreachable)

    def selected_urls(self, count: int = 50, cost: RequestCost = RequestCost(1.0)) -> set[str]:  # noqa: B008 - immutable
        """Return the replicas that are selected for so many requests, none of which is sent."""
        urls: set[str] = set()
        for _ in range(count):
            selection = self.selector.select(EN_DE, (), cost, self.snapshot)
            assert selection is not None
            if selection.permit is not None:
                self.local_stats.pair_replica_stats(selection.url, EN_DE).breaker.release(selection.permit)
            urls.add(selection.url)
        return urls

    @property
    def suspects(self) -> list[str]:
        return [url for url, _, _ in find_suspects(self.local_stats, self.snapshot)]
