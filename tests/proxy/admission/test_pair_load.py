"""PairLoad, through the controller: which replicas count, and how long a measurement is used."""

from __future__ import annotations

from proxy.admission.pair_load import FEW_REPLICAS, SECONDS_PER_REPLICA
from proxy.admission.retry_after import SCHEDULED_SHARE
from proxy.fleet.snapshot import Snapshot
from shared.protocol.lanes import Lane
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


def test_load_of_many_replicas_is_cached_for_a_moment() -> None:
    urls = [f"http://{number}" for number in range(FEW_REPLICAS + 1)]

    def all_full_to(ahead: float) -> Snapshot:
        return snapshot(
            *(
                replica(url, "en>de", models=models(ahead=ahead, limit=LIMIT, rate=2.0 / SCHEDULED_SHARE))
                for url in urls
            )
        )

    harness = AdmissionHarness(all_full_to(LIMIT))
    harness.refused_seconds()
    harness.report(all_full_to(0))
    harness.admit()
    for url in urls:
        harness.local_fleet.local_stats.replica_stats(url).mark_full(
            Lane.INTERACTIVE_SHORT, harness.local_fleet.now, 1.0
        )
    harness.admit("bob")
    harness.local_fleet.now += SECONDS_PER_REPLICA * len(urls)
    harness.refused_seconds("carol")
