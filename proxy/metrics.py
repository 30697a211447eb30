"""Proxy metrics: names and help texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar, Final, TypeVar

from prometheus_client import Histogram
from typing_extensions import override

from shared.protocol.errors import PairwayError, outcome_class
from shared.protocol.priority import Priority
from shared.runtime.metrics import LATENCY_BUCKETS, Count, MetricFamily, RequestSample, ServerMetrics

E = TypeVar("E", bound=PairwayError)

# Known pairs whose counters begin at 0, about 25 series each; those of further pairs begin with their first request.
MAX_STARTED_PAIRS: Final = 200
SHED_REASONS: Final = ("full", "share", "late")
KEYLESS_REASONS: Final = ("network", "bytes", "slow")
REFUSAL_REASONS: Final = ("none", "key", "scope", "requests", "characters", "unavailable")


class ProxyMetrics(ServerMetrics):
    """All metrics of a proxy."""

    request_labels: ClassVar[tuple[str, ...]] = ("pair", "route")

    def __init__(self) -> None:
        self._started_pairs: set[str] = set()
        super().__init__("pairway_proxy")
        attempts = "Attempts sent to a replica, by outcome (ok, an error code, beaten by a hedge, cancelled)."
        self.attempts = self.counter("pairway_proxy_attempts_total", attempts, ["replica", "outcome"])
        self.retries = self.counter("pairway_proxy_retries_total", "Retries: attempts after a failed one.", ["pair"])
        self.hedges = self.counter(
            "pairway_proxy_hedges_total", "Hedges: second attempts because the first was slow.", ["pair"]
        )
        canaries = "Canary translations sent to doubtful replicas, by outcome (good, failed, refused, full, none)."
        self.canaries = self.counter("pairway_proxy_canaries_total", canaries, ["replica", "outcome"])
        shed = "Requests refused because of load, by priority and reason (full, share, late)."
        why = tuple(product(Priority, SHED_REASONS))
        self.shed = self.counter("pairway_proxy_shed_total", shed, ["pair", "priority", "reason"], why)
        self._register_refusals()
        self.replicas = self.read_gauge("pairway_proxy_replicas", "Replicas by state.", "state")
        self.pair_ready = self.read_gauge("pairway_proxy_pair_ready_replicas", "Replicas ready for the pair.", "pair")
        failing = "Replicas that report the pair ready, but that this proxy excludes by its own statistics."
        self.pair_failing = self.read_gauge("pairway_proxy_pair_failing_replicas", failing, "pair")
        expected = "Replicas expected of the service, as stated; 0 without a number."
        self.expected_replicas = self.read_gauge("pairway_proxy_expected_replicas", expected, "service")
        self.ready_replicas = self.read_gauge(
            "pairway_proxy_ready_replicas", "Replicas of the service that are ready.", "service"
        )
        issue = "1 if this proxy's list of issues has one of the code, else 0."
        self.issue = self.read_gauge("pairway_proxy_issue", issue, "code")
        self.sweep_seconds = Histogram(
            "pairway_proxy_sweep_seconds",
            "Duration of a sweep of probes over the fleet, in seconds.",
            registry=self.registry,
            buckets=LATENCY_BUCKETS,
        )
        self.redis_up = self.gauge("pairway_proxy_redis_up", "1 if the last call to Redis succeeded, else 0.")
        self.leader = self.gauge("pairway_proxy_prober", "1 if this proxy holds the leader lease, else 0.")
        self.detected = self.counter(
            "pairway_proxy_detected_total", "Texts sent with source language auto, by detected language.", ["lang"]
        )
        waits = "Requests of compatible APIs that waited for a transient fault to pass, by outcome (ok, failed)."
        self.waits = self._counter_of("pairway_proxy_waits_total", waits, "outcome", ("ok", "failed"))
        coalesced = "Requests answered by the computation of another request; their texts are counted once."
        self.coalesced = self.counter("pairway_proxy_coalesced_total", coalesced, ["pair"])
        self.cache_hits = self.counter("pairway_proxy_cache_hits_total", "Texts answered from the cache.", ["pair"])
        misses = "Texts looked up in the cache without success."
        self.cache_misses = self.counter("pairway_proxy_cache_misses_total", misses, ["pair"])
        self.cache_bytes = self.gauge("pairway_proxy_cache_bytes", "Size of the memory cache in bytes.")
        self.cache_entries = self.gauge("pairway_proxy_cache_entries", "Translations in the memory cache.")
        evictions = "Translations evicted from the memory cache to make space for others."
        self.cache_evictions = self.counter("pairway_proxy_cache_evictions_total", evictions).labels()

    def _register_refusals(self) -> None:
        reasons = "none: no key, key, scope, requests, characters, unavailable: Redis is away"
        refusals = f"Requests refused by key or quota, by reason ({reasons})."
        self.refusals = self._counter_of("pairway_proxy_access_refusals_total", refusals, "reason", REFUSAL_REASONS)
        reasons = "network: too many requests of one, bytes: no space and the network holds most, slow"
        keyless = f"Requests refused while their body was read before their key was known, by reason ({reasons})."
        self.keyless = self._counter_of("pairway_proxy_keyless_refusals_total", keyless, "reason", KEYLESS_REASONS)

    def _counter_of(self, name: str, documentation: str, label: str, values: Sequence[str]) -> MetricFamily[Count]:
        """Register a counter whose series for these values begin at 0."""
        counter = self.counter(name, documentation, [label], [(value,) for value in values])
        counter.start()
        return counter

    @override
    def count_request(self, sample: RequestSample, outcome: str, seconds: float) -> None:
        kind = sample.outcome_class or outcome_class(outcome)
        self.requests.labels(sample.pair, sample.route, outcome, kind).inc()
        self.seconds.labels(sample.pair, kind).observe(seconds)

    @override
    def start_pair(self, pair: str) -> None:
        if pair in self._started_pairs or len(self._started_pairs) >= MAX_STARTED_PAIRS:
            return
        self._started_pairs.add(pair)
        super().start_pair(pair)
        counters = (self.retries, self.hedges, self.shed, self.coalesced, self.cache_hits, self.cache_misses)
        for counter in counters:
            counter.start(pair)

    def refused(self, reason: str, error: E) -> E:
        """Count a refusal by its reason; return its error."""
        self.refusals.labels(reason).inc()
        return error

    def keyless_refused(self, reason: str, error: E) -> E:
        """Count the refusal of a keyless body; return its error."""
        self.keyless.labels(reason).inc()
        return error

    def forget(self, url: str) -> None:
        """Drop a replica's series, because addresses of containers come and go."""
        for metric in (self.attempts, self.canaries):
            metric.remove("replica", url)
