"""What both servers count, and several registries as one. No label is ever a client's address or key."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from shared.errors import PairwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from prometheus_client import Metric
    from prometheus_client.registry import Collector

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
class Measured:
    """One request under way: its pair ("other" until a known one is found: labels stay bounded), the replicas asked."""

    pair: str = "other"
    replicas: list[str] = field(default_factory=list[str])


class ServerMetrics:
    """What both servers count; ``prefix`` is ``pairway_proxy`` or ``pairway_apiserver``."""

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

    @contextmanager
    def measured(self, clock: Callable[[], float]) -> Generator[Measured]:
        """Count one translation request while the block lasts, whatever its end; the block fills in the pair."""
        request = Measured()
        outcome = "internal"
        started = clock()
        self.in_flight.inc()
        try:
            yield request
            outcome = "ok"
        except PairwayError as error:
            outcome = error.code
            raise
        except asyncio.CancelledError:
            outcome = "client-gone"
            raise
        finally:
            self.in_flight.dec()
            self.requests.labels(request.pair, outcome).inc()
            self.seconds.labels(request.pair).observe(clock() - started)
