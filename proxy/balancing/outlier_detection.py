"""Outlier detection: which ready replicas this proxy distrusts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.balancing.circuit_breaker import BreakerState
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.pair_stats import PairStats
from proxy.balancing.replica_stats import PairReplicaStats
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair

# A replica that holds an overdue request for at least so long (a text takes tens of milliseconds, a busy machine may pause
# for a moment), without any progress while others answer, stands still.
STALL_SECONDS: Final = 1.0
# A slow replica that nothing was heard of for so long is worth a canary.
NEGLECTED_SECONDS: Final = 0.5


def find_suspects(local_stats: LocalStats, snapshot: Snapshot) -> Iterator[tuple[str, LanguagePair, int]]:
    """Yield ready replicas that are worth a canary, with pair and rank.

    Not a slow one while its requests still tell how it is, nor one that waits for a client's request as its trial.
    """
    neglected = local_stats.now() - NEGLECTED_SECONDS
    for pair, pair_stats in local_stats.pairs.items():
        ranks = snapshot.ranks.get(pair, {})
        for url, stats in list(pair_stats.suspects.items()):
            rank = ranks.get(url)
            if rank is None:
                continue
            waits = stats.breaker.state is BreakerState.HALF_OPEN
            if stats.failures or (not waits and (stats.is_out or stats.progressed_at < neglected)):
                yield url, pair, rank


def failing_replicas(local_stats: LocalStats, pair: LanguagePair, snapshot: Snapshot) -> list[str]:
    """Return the ready replicas of a pair that fail or stall here, but for those that only wait for a trial."""
    pair_stats = local_stats.pairs.get(pair)
    if pair_stats is None:
        return []
    return [
        url
        for url in snapshot.ready[pair]
        if (stats := pair_stats.replicas.get(url)) is not None
        and (stats.is_stalled or (stats.is_out and stats.failures))
    ]


def detect_stalls(local_stats: LocalStats) -> None:
    """Mark the replicas that stand still, and notify their requests, so that others take over.

    An overdue replica becomes a suspect; it stands still where its canary fails, or others answer meanwhile.
    """
    now = local_stats.now()
    for url, replica_stats in local_stats.replicas.items():
        for pair, stats in replica_stats.pairs.items() if replica_stats.requests else ():
            pair_stats = local_stats.pair_stats(pair)
            since = _overdue_since(stats, pair_stats, now)
            if since is None:
                continue
            pair_stats.suspect(url, stats)
            if pair_stats.others_answered(url, since) or stats.failed_at > since:
                stats.mark_stalled()


def _overdue_since(stats: PairReplicaStats, pair_stats: PairStats, now: float) -> float | None:
    """Return since when it holds an overdue request; None without one."""
    for request in stats.in_flight:
        since = max(request.started, stats.progressed_at)
        if now - since < STALL_SECONDS:
            return None  # the later ones are younger still
        if pair_stats.is_overdue(request, now, since):
            return since
    return None
