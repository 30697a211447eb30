"""Proxy metrics: names and help texts."""

from __future__ import annotations

from typing import TypeVar

from prometheus_client import Histogram

from shared.protocol.errors import PairwayError
from shared.runtime.metrics import LATENCY_BUCKETS, ServerMetrics

E = TypeVar("E", bound=PairwayError)


class ProxyMetrics(ServerMetrics):
    """All metrics of a proxy."""

    def __init__(self) -> None:
        super().__init__("pairway_proxy")
        attempts = "Attempts sent to a replica, by outcome (ok, an error code, beaten by a hedge, cancelled)."
        self.attempts = self.counter("pairway_proxy_attempts_total", attempts, ["replica", "outcome"])
        self.retries = self.counter("pairway_proxy_retries_total", "Retries: attempts after a failed one.", ["pair"])
        hedges = "Hedges: second attempts because the first was slow."
        self.hedges = self.counter("pairway_proxy_hedges_total", hedges, ["pair"])
        canaries = "Canary translations sent to doubtful replicas, by outcome (good, failed, refused, full, none)."
        self.canaries = self.counter("pairway_proxy_canaries_total", canaries, ["replica", "outcome"])
        shed = "Requests refused because of load, by priority and reason (full, share, late)."
        self.shed = self.counter("pairway_proxy_shed_total", shed, ["pair", "priority", "reason"])
        reasons = "none: no key, key, scope, requests, characters, unavailable: Redis is away"
        refusals = f"Requests refused by key or quota, by reason ({reasons})."
        self.refusals = self.counter("pairway_proxy_access_refusals_total", refusals, ["reason"])
        self.replicas = self.gauge("pairway_proxy_replicas", "Replicas by state.", ["state"])
        self.pair_ready = self.gauge("pairway_proxy_pair_ready_replicas", "Replicas ready for the pair.", ["pair"])
        failing = "Replicas that report the pair ready, but that this proxy excludes by its own statistics."
        self.pair_failing = self.gauge("pairway_proxy_pair_failing_replicas", failing, ["pair"])
        expected = "Replicas expected of the service: set by operators, else learnt; 0 before."
        self.expected_replicas = self.gauge("pairway_proxy_expected_replicas", expected, ["service"])
        ready = "Replicas of the service that are ready."
        self.ready_replicas = self.gauge("pairway_proxy_ready_replicas", ready, ["service"])
        sweep_seconds = "Duration of a sweep of probes over the fleet, in seconds."
        self.sweep_seconds = Histogram(
            "pairway_proxy_sweep_seconds", sweep_seconds, registry=self.registry, buckets=LATENCY_BUCKETS
        )
        self.redis_up = self.gauge("pairway_proxy_redis_up", "1 if the last call to Redis succeeded, else 0.")
        self.leader = self.gauge("pairway_proxy_prober", "1 if this proxy holds the leader lease, else 0.")
        detected = "Texts sent with source language auto, by detected language."
        self.detected = self.counter("pairway_proxy_detected_total", detected, ["lang"])
        coalesced = "Requests answered by the computation of another request; their texts are counted once."
        self.coalesced = self.counter("pairway_proxy_coalesced_total", coalesced, ["pair"])
        self.cache_hits = self.counter("pairway_proxy_cache_hits_total", "Texts answered from the cache.", ["pair"])
        misses = "Texts looked up in the cache without success."
        self.cache_misses = self.counter("pairway_proxy_cache_misses_total", misses, ["pair"])
        self.cache_bytes = self.gauge("pairway_proxy_cache_bytes", "Size of the memory cache in bytes.")
        self.cache_entries = self.gauge("pairway_proxy_cache_entries", "Translations in the memory cache.")
        evictions = "Translations evicted from the memory cache to make space for others."
        self.cache_evictions = self.counter("pairway_proxy_cache_evictions_total", evictions).labels()

    def refused(self, reason: str, error: E) -> E:
        """Count a refusal by its reason; return its error."""
        self.refusals.labels(reason).inc()
        return error

    def forget(self, url: str) -> None:
        """Drop a replica's series, because addresses of containers come and go."""
        for metric in (self.attempts, self.canaries):
            metric.remove("replica", url)
