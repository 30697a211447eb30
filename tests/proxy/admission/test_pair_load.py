"""PairLoad, through the controller: which replicas count, and that all of them do."""

from __future__ import annotations

from proxy.fleet.snapshot import Snapshot
from shared.protocol.priority import Lane
from tests.proxy.admission.harness import LIMIT, AdmissionHarness
from tests.proxy.balancing.local_fleet import EN_DE, A, B
from tests.proxy.samples import models, replica, snapshot


def test_one_free_replica_is_enough_unless_it_is_out() -> None:
    full, free = models(ahead=LIMIT, limit=LIMIT), models(ahead=0, limit=LIMIT)
    fleet_snapshot = snapshot(replica(A, "en>de", models=full), replica(B, "en>de", models=free))
    harness = AdmissionHarness(fleet_snapshot)
    harness.admit()
    permit = harness.local_fleet.local_stats.pair_replica_stats(B, EN_DE).breaker.acquire()
    assert permit is not None
    harness.local_fleet.local_stats.pair_replica_stats(B, EN_DE).record_failure(permit, "reset", at_once=True)
    harness.refused_seconds("bob")


def test_replica_without_reported_capacity_is_asked() -> None:
    harness = AdmissionHarness(
        snapshot(replica(A, "en>de"), replica(B, "en>de", models=models(ahead=LIMIT, limit=LIMIT)))
    )
    harness.admit()


def test_last_replica_with_space_is_found_among_many() -> None:
    def fleet_with(*ahead: float) -> Snapshot:
        urls = (f"http://{number}" for number in range(len(ahead)))
        return snapshot(
            *(
                replica(url, "en>de", models=models(ahead=each, limit=LIMIT))
                for url, each in zip(urls, ahead, strict=True)
            )
        )

    full = [LIMIT] * 50
    harness = AdmissionHarness(fleet_with(*full, 0))
    for number in range(20):
        harness.admit(f"caller {number}")
    harness.report(fleet_with(*full, LIMIT))
    harness.refused_seconds("late")
    for url in harness.snapshot.replicas:
        harness.local_fleet.local_stats.replica_stats(url).mark_full(Lane.BULK_SHORT, harness.local_fleet.now, 1.0)
    harness.report(fleet_with(*[0.0] * 50))
    harness.admit("again")
    for url in harness.snapshot.replicas:
        harness.local_fleet.local_stats.replica_stats(url).mark_full(
            Lane.INTERACTIVE_SHORT, harness.local_fleet.now, 1.0
        )
    harness.refused_seconds("back-pressure")
