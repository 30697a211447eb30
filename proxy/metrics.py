"""The list of every metric name of a proxy."""

from __future__ import annotations

from typing import TypeVar

from prometheus_client import Histogram

from shared.protocol.errors import PairwayError
from shared.runtime.metrics import LATENCY_BUCKETS, ServerMetrics

E = TypeVar("E", bound=PairwayError)


class ProxyMetrics(ServerMetrics):
    """What a proxy counts, of requests, replicas, keys and caches."""

    def __init__(self) -> None:
        super().__init__("pairway_proxy")
        attempts = "Requests sent to a replica, by outcome (ok, the error's code, beaten by a hedge, or cancelled)."
        self.attempts = self.counter("pairway_proxy_attempts_total", attempts, ["replica", "outcome"])
        self.retries = self.counter("pairway_proxy_retries_total", "Attempts after the first.", ["pair"])
        hedges = "Second attempts beside a first that took long."
        self.hedges = self.counter("pairway_proxy_hedges_total", hedges, ["pair"])
        canaries = "Small translations sent to replicas in doubt, by outcome (good, failed, refused, full, none)."
        self.canaries = self.counter("pairway_proxy_canaries_total", canaries, ["replica", "outcome"])
        shed = "Requests refused for lack of capacity, by priority and reason (full, share, late)."
        self.shed = self.counter("pairway_proxy_shed_total", shed, ["pair", "priority", "reason"])
        reasons = "none: no key, key, scope, requests, characters, unavailable: Redis is away"
        refusals = f"Requests refused by reason ({reasons})."
        self.refusals = self.counter("pairway_proxy_access_refusals_total", refusals, ["reason"])
        self.replicas = self.gauge("pairway_proxy_replicas", "Replicas by state.", ["state"])
        self.pair_ready = self.gauge("pairway_proxy_pair_ready_replicas", "Replicas ready for a known pair.", ["pair"])
        failing = "Replicas that report a pair ready and that this proxy keeps out by its own statistics."
        self.pair_failing = self.gauge("pairway_proxy_pair_failing_replicas", failing, ["pair"])
        sweep_seconds = "Time of one sweep over the fleet."
        self.sweep_seconds = Histogram(
            "pairway_proxy_sweep_seconds", sweep_seconds, registry=self.registry, buckets=LATENCY_BUCKETS
        )
        self.redis_up = self.gauge("pairway_proxy_redis_up", "1 if Redis answered the last time it was asked.")
        self.leader = self.gauge("pairway_proxy_prober", "1 if this proxy holds the prober lease.")
        detected = "Languages detected for texts sent with auto."
        self.detected = self.counter("pairway_proxy_detected_total", detected, ["lang"])
        coalesced = "Requests answered with what another one that was under way got; their texts are counted once."
        self.coalesced = self.counter("pairway_proxy_coalesced_total", coalesced, ["pair"])
        self.cache_hits = self.counter("pairway_proxy_cache_hits_total", "Texts answered from the cache.", ["pair"])
        misses = "Texts looked for in the cache and not answered from it."
        self.cache_misses = self.counter("pairway_proxy_cache_misses_total", misses, ["pair"])
        self.cache_bytes = self.gauge("pairway_proxy_cache_bytes", "Bytes that the cache in memory takes.")
        self.cache_entries = self.gauge("pairway_proxy_cache_entries", "Translations in the cache in memory.")
        evictions = "Translations that left the cache in memory to make space for others."
        self.cache_evictions = self.counter("pairway_proxy_cache_evictions_total", evictions).labels()

    def refused(self, reason: str, error: E) -> E:
        """Count a refusal by its reason; return its error."""
        self.refusals.labels(reason).inc()
        return error

    def forget(self, url: str) -> None:
        """Drop what was counted of a replica: addresses of containers come and go."""
        for metric in (self.attempts, self.canaries):
            metric.remove("replica", url)
