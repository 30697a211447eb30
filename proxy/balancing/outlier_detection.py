"""Outlier detection: ready replicas that this proxy distrusts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from proxy.balancing.circuit_breaker import BreakerState
from proxy.balancing.local_stats import LocalStats, PairStats
from proxy.balancing.replica_stats import PairReplicaStats
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair

# No stall before this time without progress: a busy machine may pause for a moment.
STALL_SECONDS: Final = 1.0
# A slow replica gets a canary after this time without an answer.
NEGLECTED_SECONDS: Final = 0.5


def find_suspects(local_stats: LocalStats, snapshot: Snapshot) -> Iterator[tuple[str, LanguagePair, int]]:
    """Yield ready replicas that need a canary, with pair and rank.

    A slow one needs none while it answers, nor does one due for a trial.
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
    """Return a pair's ready replicas that fail or stall."""
    pair_stats = local_stats.pairs.get(pair)
    if pair_stats is None:
        return []
    return [
        url for url in snapshot.ready[pair] if (stats := pair_stats.replicas.get(url)) is not None and stats.is_failing
    ]


def failing_counts(local_stats: LocalStats, snapshot: Snapshot) -> dict[LanguagePair, int]:
    """Return the number of failing replicas of each ready pair."""
    return {pair: len(failing_replicas(local_stats, pair, snapshot)) for pair, urls in snapshot.ready.items() if urls}


def mark_stalled_replicas(local_stats: LocalStats) -> None:
    """Mark stalled replicas, and notify their requests.

    With an overdue request a replica is a suspect, and stalled if its canary fails or others answer.
    """
    now = local_stats.now()
    for url, replica_stats in local_stats.replicas.items():
        for pair, stats in replica_stats.pairs.items() if replica_stats.requests else ():
            pair_stats = local_stats.pair_stats(pair)
            since = _overdue_since(stats, pair_stats, now)
            if since is None:
                continue
            pair_stats.suspects[url] = stats
            others_answered = any(at > since for other, at in pair_stats.answered_at.items() if other != url)
            if others_answered or stats.failed_at > since:
                stats.is_stalled = True
                stats.notify_lost()


def _overdue_since(stats: PairReplicaStats, pair_stats: PairStats, now: float) -> float | None:
    for request in stats.in_flight:
        since = max(request.started, stats.progressed_at)
        if now - since < STALL_SECONDS:
            return None  # later requests are younger still
        if pair_stats.is_overdue(request, now, since):
            return since
    return None
