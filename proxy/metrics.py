"""The list of every metric name of a proxy."""

from __future__ import annotations

from functools import lru_cache

from prometheus_client import Counter, Gauge, Histogram

from shared.runtime.metrics import KNOWN_SAMPLES, LATENCY_BUCKETS, ServerMetrics


class ProxyMetrics(ServerMetrics):
    """What a proxy counts."""

    def __init__(self) -> None:
        """Register the metrics."""
        super().__init__("pairway_proxy")
        self.attempts = Counter(
            "pairway_proxy_attempts_total",
            "Requests sent to a replica, by outcome (ok, the error's code, beaten by a hedge, or cancelled).",
            ["replica", "outcome"],
            registry=self.registry,
        )
        self.attempts_of = lru_cache(KNOWN_SAMPLES)(self.attempts.labels)
        self.retries = Counter(
            "pairway_proxy_retries_total", "Attempts after the first.", ["pair"], registry=self.registry
        )
        self.hedges = Counter(
            "pairway_proxy_hedges_total",
            "Second attempts beside a first that took long.",
            ["pair"],
            registry=self.registry,
        )
        self.shed = Counter(
            "pairway_proxy_shed_total",
            "Requests refused for want of room, by priority and reason (full, share, late).",
            ["pair", "priority", "reason"],
            registry=self.registry,
        )
        self.canaries = Counter(
            "pairway_proxy_canaries_total",
            "Small translations sent to replicas in doubt, by outcome (good, failed, refused, full, none).",
            ["replica", "outcome"],
            registry=self.registry,
        )
        self.replicas = Gauge("pairway_proxy_replicas", "Replicas by state.", ["state"], registry=self.registry)
        self.pair_ready = Gauge(
            "pairway_proxy_pair_ready_replicas", "Replicas ready for a known pair.", ["pair"], registry=self.registry
        )
        self.pair_failing = Gauge(
            "pairway_proxy_pair_failing_replicas",
            "Replicas that report a pair ready and that this proxy keeps out by its own evidence.",
            ["pair"],
            registry=self.registry,
        )
        self.sweep_seconds = Histogram(
            "pairway_proxy_sweep_seconds",
            "Time of one sweep over the fleet.",
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.redis_up = Gauge(
            "pairway_proxy_redis_up", "1 if Redis answered the last time it was asked.", registry=self.registry
        )
        self.leader = Gauge("pairway_proxy_prober", "1 if this proxy holds the prober lease.", registry=self.registry)
        self.detected = Counter(
            "pairway_proxy_detected_total",
            "Languages detected for texts sent with auto.",
            ["lang"],
            registry=self.registry,
        )
        self.coalesced = Counter(
            "pairway_proxy_coalesced_total",
            "Requests answered with what another one that was under way got; their texts are counted once.",
            ["pair"],
            registry=self.registry,
        )
        self.cache_hits = Counter(
            "pairway_proxy_cache_hits_total", "Texts answered from the cache.", ["pair"], registry=self.registry
        )
        self.cache_misses = Counter(
            "pairway_proxy_cache_misses_total",
            "Texts looked for in the cache and not answered from it.",
            ["pair"],
            registry=self.registry,
        )
        self.cache_bytes = Gauge(
            "pairway_proxy_cache_bytes", "Bytes that the cache in memory takes.", registry=self.registry
        )
        self.cache_entries = Gauge(
            "pairway_proxy_cache_entries", "Translations in the cache in memory.", registry=self.registry
        )
        self.cache_evictions = Counter(
            "pairway_proxy_cache_evictions_total",
            "Translations that left the cache in memory to make room for others.",
            registry=self.registry,
        )
        self.refusals = Counter(
            "pairway_proxy_access_refusals_total",
            "Requests refused by reason (none: no key, key, scope, requests, characters, unavailable: Redis is away).",
            ["reason"],
            registry=self.registry,
        )

    def forget(self, url: str) -> None:
        """Drop what was counted of a replica: addresses of containers come and go."""
        for metric in (self.attempts, self.canaries):
            metric.remove_by_labels({"replica": url})
        self.attempts_of.cache_clear()
