"""The list of every metric name of a proxy."""

from __future__ import annotations

from functools import lru_cache, partial

from prometheus_client import Counter, Gauge, Histogram

from shared.runtime.metrics import KNOWN_SAMPLES, LATENCY_BUCKETS, ServerMetrics


class ProxyMetrics(ServerMetrics):
    """What a proxy counts, of requests, replicas, keys and caches."""

    def __init__(self) -> None:
        super().__init__("pairway_proxy")
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.attempts = counter(
            "pairway_proxy_attempts_total",
            "Requests sent to a replica, by outcome (ok, the error's code, beaten by a hedge, or cancelled).",
            ["replica", "outcome"],
        )
        self.attempts_of = lru_cache(KNOWN_SAMPLES)(self.attempts.labels)
        self.retries = counter("pairway_proxy_retries_total", "Attempts after the first.", ["pair"])
        self.hedges = counter("pairway_proxy_hedges_total", "Second attempts beside a first that took long.", ["pair"])
        self.canaries = counter(
            "pairway_proxy_canaries_total",
            "Small translations sent to replicas in doubt, by outcome (good, failed, refused, full, none).",
            ["replica", "outcome"],
        )
        self.shed = counter(
            "pairway_proxy_shed_total",
            "Requests refused for lack of capacity, by priority and reason (full, share, late).",
            ["pair", "priority", "reason"],
        )
        self.refusals = counter(
            "pairway_proxy_access_refusals_total",
            "Requests refused by reason (none: no key, key, scope, requests, characters, unavailable: Redis is away).",
            ["reason"],
        )
        self.replicas = gauge("pairway_proxy_replicas", "Replicas by state.", ["state"])
        self.pair_ready = gauge("pairway_proxy_pair_ready_replicas", "Replicas ready for a known pair.", ["pair"])
        failing = "Replicas that report a pair ready and that this proxy keeps out by its own statistics."
        self.pair_failing = gauge("pairway_proxy_pair_failing_replicas", failing, ["pair"])
        self.sweep_seconds = Histogram(
            "pairway_proxy_sweep_seconds",
            "Time of one sweep over the fleet.",
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.redis_up = gauge("pairway_proxy_redis_up", "1 if Redis answered the last time it was asked.")
        self.leader = gauge("pairway_proxy_prober", "1 if this proxy holds the prober lease.")
        detected = "Languages detected for texts sent with auto."
        self.detected = counter("pairway_proxy_detected_total", detected, ["lang"])
        coalesced = "Requests answered with what another one that was under way got; their texts are counted once."
        self.coalesced = counter("pairway_proxy_coalesced_total", coalesced, ["pair"])
        self.cache_hits = counter("pairway_proxy_cache_hits_total", "Texts answered from the cache.", ["pair"])
        misses = "Texts looked for in the cache and not answered from it."
        self.cache_misses = counter("pairway_proxy_cache_misses_total", misses, ["pair"])
        self.cache_bytes = gauge("pairway_proxy_cache_bytes", "Bytes that the cache in memory takes.")
        self.cache_entries = gauge("pairway_proxy_cache_entries", "Translations in the cache in memory.")
        evictions = "Translations that left the cache in memory to make space for others."
        self.cache_evictions = counter("pairway_proxy_cache_evictions_total", evictions)

    def forget(self, url: str) -> None:
        """Drop what was counted of a replica: addresses of containers come and go."""
        for metric in (self.attempts, self.canaries):
            metric.remove_by_labels({"replica": url})
        self.attempts_of.cache_clear()
