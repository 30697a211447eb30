"""Structured logs, and the list of every metric name of both servers.

Logs carry a constant message and fields; never a text, a key or a client's address. Every line written while a
request is served carries its ``request_id``.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from pythonjsonlogger.json import JsonFormatter
from typing_extensions import override

from shared.errors import PairwayError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from prometheus_client import Metric
    from prometheus_client.registry import Collector

LogFormat = Literal["json", "text"]

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

# From a cached word to a long document at the default request time-out of 30 s.
LATENCY_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)
# color_message is uvicorn's line once more, with escape codes.
_RECORD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class _RequestIdFilter(logging.Filter):
    @override
    def filter(self, record: logging.LogRecord) -> bool:
        current = request_id.get()
        if current is not None:
            record.request_id = current
        return True


class _TextFormatter(logging.Formatter):
    """``12:00:01 INFO proxy.tracker replica down url=… why=…``, for people at a terminal."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_on_one_line(value)}" for name, value in _extras(record))
        line = super().format(record)
        return f"{line} {fields}" if fields else line


def _on_one_line(value: object) -> str:
    """Escape what is not printable: a path with a line break in it must not forge a log line."""
    text = str(value)
    return text if text.isprintable() else ascii(text)


def _extras(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    return ((name, value) for name, value in vars(record).items() if name not in _RECORD_FIELDS)


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Send every log line of this process to stderr in one form; libraries that chatter are held to warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_RequestIdFilter())
    if log_format == "json":
        names = {"levelname": "level", "name": "logger", "asctime": "time"}
        handler.setFormatter(
            JsonFormatter(
                "%(asctime)s %(levelname)s %(name)s %(message)s",
                rename_fields=names,
                reserved_attrs=sorted(_RECORD_FIELDS),
            )
        )
    else:
        handler.setFormatter(_TextFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


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


class ApiServerMetrics(ServerMetrics):
    """What an API server counts beside vLLM's own metrics of each engine."""

    def __init__(self) -> None:
        """Register the metrics."""
        super().__init__("pairway_apiserver")
        self.pair_ready = Gauge(
            "pairway_apiserver_pair_ready",
            "1 if the pair's canary came back and its engine lives.",
            ["pair", "model"],
            registry=self.registry,
        )
        self.engine_starts = Counter(
            "pairway_apiserver_engine_starts_total",
            "Engine starts by outcome (started, failed).",
            ["model", "outcome"],
            registry=self.registry,
        )
        self.engine_deaths = Counter(
            "pairway_apiserver_engine_deaths_total",
            "Engines that died while serving.",
            ["model"],
            registry=self.registry,
        )
        self.segments = Counter(
            "pairway_apiserver_segments_total",
            "Segments by how they were had: first or second asking, tags projected, in pieces, best of what there was, none.",
            ["pair", "rung"],
            registry=self.registry,
        )
        self.guards = Counter(
            "pairway_apiserver_guards_total",
            "What guards caught in segments, and what came of it: mended, shown with a warning, given-up.",
            ["pair", "guard", "outcome"],
            registry=self.registry,
        )
        self.unusable = Counter(
            "pairway_apiserver_unusable_outputs_total",
            "Outputs that could not be shown, by reason.",
            ["pair", "reason"],
            registry=self.registry,
        )


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
        self.retries = Counter(
            "pairway_proxy_retries_total", "Attempts after the first.", ["pair"], registry=self.registry
        )
        self.hedges = Counter(
            "pairway_proxy_hedges_total",
            "Second attempts beside a first that took long.",
            ["pair"],
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
