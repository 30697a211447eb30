"""Metrics of both servers, and several registries as one; no label is a client's address or key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from types import TracebackType
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.registry import Collector

from shared.protocol.errors import PairwayError

# Samples that are found without asking prometheus_client for their labels (3 µs and a lock each); more than are in use.
KNOWN_SAMPLES: Final = 16_384
# From a cached word to a long document at the default request time-out of 30 s.
LATENCY_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)


class MergedCollector:
    """Several registries as one: a metric that several engines have appears once, with all their samples."""

    def __init__(self, *registries: Collector) -> None:
        """Take the registries in order; the first one's help text wins."""
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        """Collect every registry and join the samples of metrics with the same name."""
        merged: dict[str, Metric] = {}
        for registry in self._registries:
            for metric in registry.collect():
                if metric.name in merged:
                    merged[metric.name].samples.extend(metric.samples)
                else:
                    merged[metric.name] = metric
        return merged.values()


@dataclass(slots=True)
class RequestSample:
    """One request under way: its pair ("other" until a known one is found: labels stay bounded), the replicas asked."""

    pair: str = "other"
    replicas: list[str] = field(default_factory=list[str])


class ServerMetrics:
    """Metrics of both servers; ``prefix`` is ``pairway_proxy`` or ``pairway_apiserver``."""

    def __init__(self, prefix: str) -> None:
        """Register every metric with a registry of this app's own, so that two apps can share a process."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            f"{prefix}_requests_total",
            "Translation requests by pair (as asked; 'other' where unknown) and outcome (ok, or the problem's code).",
            ["pair", "outcome"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            f"{prefix}_request_seconds",
            "Time from the request's body to its answer.",
            ["pair"],
            buckets=LATENCY_BUCKETS,
            registry=self.registry,
        )
        self.in_flight = Gauge(
            f"{prefix}_requests_in_flight", "Translation requests being served.", registry=self.registry
        )
        self.texts = Counter(f"{prefix}_texts_total", "Texts asked for.", ["pair"], registry=self.registry)
        self.loop_age = Gauge(
            f"{prefix}_loop_age_seconds",
            "Seconds since a background loop last went well.",
            ["loop"],
            registry=self.registry,
        )

        # No sample of these is ever removed.
        self.requests_of = lru_cache(KNOWN_SAMPLES)(self.requests.labels)
        self.seconds_of = lru_cache(KNOWN_SAMPLES)(self.seconds.labels)
        self.texts_of = lru_cache(KNOWN_SAMPLES)(self.texts.labels)

    def request_timer(self, clock: Callable[[], float]) -> RequestTimer:
        """Count one translation request while the block lasts, whatever its end; the block fills in the pair."""
        return RequestTimer(self, clock)


class RequestTimer:
    """Context manager that counts and times one request."""

    __slots__ = ("_clock", "_metrics", "_request", "_started")

    def __init__(self, metrics: ServerMetrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._request = RequestSample()

    def __enter__(self) -> RequestSample:
        """Begin; return what the block fills in."""
        self._started = self._clock()
        self._metrics.in_flight.inc()
        return self._request

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Count how it ended."""
        match error:
            case None:
                outcome = "ok"
            case PairwayError():
                outcome = error.code
            case asyncio.CancelledError():
                outcome = "client-gone"
            case _:
                outcome = "internal"
        metrics, pair = self._metrics, self._request.pair
        metrics.in_flight.dec()
        metrics.requests_of(pair, outcome).inc()
        metrics.seconds_of(pair).observe(self._clock() - self._started)
