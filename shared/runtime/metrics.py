"""Metrics of both servers; no label is a client's address or key.

Counters and histograms are plain numbers that become samples at a scrape (docs/decisions/0018-hot-path.md).
"""

from __future__ import annotations

import asyncio
import platform
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from types import TracebackType
from typing import ClassVar, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Gauge, GCCollector, Metric, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

from shared.protocol.errors import OK, OutcomeClass, PairwayError, outcome_class
from shared.runtime.background import Loop
from shared.runtime.container_memory import ContainerMemoryCollector
from shared.version import VERSION

# From a cached word to a long document at the default request timeout of 30 s.
LATENCY_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)
# Two timers a second show how late the event loop is, and cost nothing.
LAG_SECONDS: Final = 0.5
LAG_TIMER_SECONDS: Final = 0.25
# Label values of a metric that name pairs or routes; further ones are counted as OTHER. Callers choose among all pairs
# that a third language connects, 9,900 of 100 languages.
MAX_PAIRS: Final = 1000
OTHER: Final = "other"
NO_ROUTE: Final = "none"
MIXED: Final = "mixed"  # several pairs or routes in one request
_PAIR_LABELS: Final = frozenset({"pair", "route"})
# Outcomes whose counters begin at 0 with their pair: those of alerts. A series born by its first failures hides them.
ALERTED_OUTCOMES: Final = tuple(
    (outcome, outcome_class(outcome))
    for outcome in (
        OK,
        "overloaded",
        "pair-unavailable",
        "replica-failed",
        "deadline-exceeded",
        "unusable-output",
        "internal",
    )
)
_BUCKET_LABELS: Final = (*({"le": str(bound)} for bound in LATENCY_BUCKETS), {"le": "+Inf"})
_NO_LABELS: Final[dict[str, str]] = {}


@dataclass(slots=True)
class Count:
    """One series of a counter."""

    kind: ClassVar = "counter"
    value: int = 0
    created_at: float = field(default_factory=time.time)

    def inc(self, amount: int = 1) -> None:
        """Add to the count."""
        self.value += amount

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """Yield each sample's suffix, further labels and value."""
        yield "_total", _NO_LABELS, self.value
        yield "_created", _NO_LABELS, self.created_at


@dataclass(slots=True)
class DurationHistogram:
    """One series of a histogram of durations in seconds."""

    kind: ClassVar = "histogram"
    sum: float = 0.0
    created_at: float = field(default_factory=time.time)
    buckets: list[int] = field(default_factory=lambda: [0] * len(_BUCKET_LABELS))

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.buckets[bisect_left(LATENCY_BUCKETS, seconds)] += 1
        self.sum += seconds

    def samples(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """Yield each sample's suffix, further labels and value."""
        for labels, count in zip(_BUCKET_LABELS, accumulate(self.buckets), strict=True):
            yield "_bucket", labels, count
        yield "_count", _NO_LABELS, sum(self.buckets)
        yield "_sum", _NO_LABELS, self.sum
        yield "_created", _NO_LABELS, self.created_at


SeriesT = TypeVar("SeriesT", Count, DurationHistogram)


class MetricFamily(Collector, Generic[SeriesT]):
    """Series of one metric, by label values.

    Only ``collect`` may run in another thread.

    Leading labels that name pairs have at most ``MAX_PAIRS`` values, then ``OTHER``. ``last_values``: values of the last
    labels that get a series at 0 as soon as the first labels have their first.
    """

    def __init__(
        self,
        kind: type[SeriesT],
        name: str,
        documentation: str,
        labels: Sequence[str],
        registry: CollectorRegistry,
        last_values: Sequence[tuple[str, ...]] = (),
    ) -> None:
        self._kind, self._name, self._documentation = kind, name.removesuffix("_total"), documentation
        self._label_names = tuple(labels)
        self._series: dict[tuple[str, ...], SeriesT] = {}
        self._last_values = last_values
        self._pair_labels = sum(label in _PAIR_LABELS for label in labels)
        self._pairs: set[tuple[str, ...]] = set()
        registry.register(self)

    def labels(self, *values: str) -> SeriesT:
        """Return the series with these label values."""
        series = self._series.get(values)
        return self._add(values) if series is None else series

    def items(self) -> Iterable[tuple[tuple[str, ...], SeriesT]]:
        """Return each series with its label values."""
        return self._series.items()

    def start(self, *first: str) -> None:
        """Let the series with these first label values begin at 0."""
        for last in self._last_values[:1] or ((),):
            self._add(first + last)

    def _add(self, values: tuple[str, ...]) -> SeriesT:
        pair, rest = values[: self._pair_labels], values[self._pair_labels :]
        if pair not in self._pairs and len(self._pairs) >= MAX_PAIRS:
            pair = (OTHER,) * self._pair_labels
        self._pairs.add(pair)
        values = pair + rest
        for last in self._last_values:
            self._series.setdefault(values[: -len(last)] + last, self._kind())
        return self._series.setdefault(values, self._kind())

    def remove(self, label: str, value: str) -> None:
        """Remove all series with this label value."""
        index = self._label_names.index(label)
        for values in [values for values in self._series if values[index] == value]:
            del self._series[values]
        self._pairs = {values[: self._pair_labels] for values in self._series}

    def describe(self) -> list[Metric]:
        """Return the metric without series."""
        return [Metric(self._name, self._documentation, self._kind.kind)]

    @override
    def collect(self) -> list[Metric]:
        (metric,) = self.describe()
        for values, series in self._series.copy().items():
            labels = dict(zip(self._label_names, values, strict=True))
            for suffix, further, value in series.samples():
                metric.add_sample(self._name + suffix, labels | further, value)
        return [metric]


class ReadGauge(Collector):
    """Gauge with one label, whose values are read at each export."""

    def __init__(self, name: str, documentation: str, label: str, registry: CollectorRegistry) -> None:
        self._name, self._documentation, self._label = name, documentation, label
        self._read: Callable[[], Mapping[str, float]] = dict
        registry.register(self)

    def set_function(self, read: Callable[[], Mapping[str, float]]) -> None:
        """Read the values by this function, which another thread may call."""
        self._read = read

    def describe(self) -> list[Metric]:
        """Return the metric without series."""
        return [GaugeMetricFamily(self._name, self._documentation, labels=[self._label])]

    @override
    def collect(self) -> list[Metric]:
        gauge = GaugeMetricFamily(self._name, self._documentation, labels=[self._label])
        for value, count in self._read().items():
            gauge.add_metric([value], count)
        return [gauge]


class MergedCollector:
    """Several registries as one; metrics of the same name are joined."""

    def __init__(self, *registries: Collector) -> None:
        self._registries = registries

    def collect(self) -> Iterable[Metric]:
        """Collect all registries."""
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
    """A request's pair as asked, its route, and the replicas tried.

    The pair's languages are those of models; an unknown pair is ``OTHER``. ``outcome_class``: None: its outcome's own.
    """

    pair: str = OTHER
    route: str = NO_ROUTE
    replicas: list[str] = field(default_factory=list[str])
    outcome_class: OutcomeClass | None = None


class ServerMetrics:
    """Metrics of both servers, in one app's registry.

    ``build`` labels the information on the build, besides Pairway's and Python's versions.
    """

    # Labels of the counter of requests that tell them apart before their outcomes.
    request_labels: ClassVar[tuple[str, ...]] = ("pair",)

    def __init__(self, prefix: str, **build: str) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        versions = {"version": VERSION, "python": platform.python_version(), **build}
        self.gauge(f"{prefix}_build_info", "1, labelled with the versions.", list(versions)).labels(**versions).set(1)
        self.requests = self.counter(
            f"{prefix}_requests_total",
            "Translation requests by pair (as asked; 'other' if unknown) and outcome (ok, or the problem's code).",
            [*self.request_labels, "outcome", "class"],
            ALERTED_OUTCOMES,
        )
        self.seconds = self.histogram(
            f"{prefix}_request_seconds", "Seconds from the request's body to its answer.", ["pair", "class"]
        )
        self.in_flight = 0
        in_flight = self.gauge(f"{prefix}_requests_in_flight", "Translation requests in flight.")
        in_flight.set_function(lambda: self.in_flight)
        self.texts = self.counter(f"{prefix}_texts_total", "Texts in translation requests.", ["pair"])
        characters = "Characters of source texts in translation requests."
        self.characters = self.counter(f"{prefix}_characters_total", characters, ["pair"])
        age = "Seconds since a background loop last succeeded."
        self.loop_age = self.read_gauge(f"{prefix}_loop_age_seconds", age, "loop")
        stale = "1 if a background loop has not succeeded for so long that /livez fails, else 0."
        self.loop_stale = self.read_gauge(f"{prefix}_loop_stale", stale, "loop")
        lag = "Seconds by which timers of the event loop are late."
        self.lag = self.histogram(f"{prefix}_event_loop_lag_seconds", lag).labels()
        ContainerMemoryCollector(prefix, self.registry)

    def counter(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str] = (),
        last_values: Sequence[tuple[str, ...]] = (),
    ) -> MetricFamily[Count]:
        """Register a counter."""
        return MetricFamily(Count, name, documentation, labels, self.registry, last_values)

    def histogram(self, name: str, documentation: str, labels: Sequence[str] = ()) -> MetricFamily[DurationHistogram]:
        """Register a histogram of seconds."""
        return MetricFamily(DurationHistogram, name, documentation, labels, self.registry)

    def gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        """Register a gauge."""
        return Gauge(name, documentation, labels, registry=self.registry)

    def read_gauge(self, name: str, documentation: str, label: str) -> ReadGauge:
        """Register a gauge that is read at each export."""
        return ReadGauge(name, documentation, label, self.registry)

    def watch_loops(self, loops: Callable[[], Iterable[Loop]]) -> None:
        """Let each export read the age of these loops."""
        self.loop_age.set_function(lambda: {loop.name: loop.age() for loop in loops()})
        self.loop_stale.set_function(lambda: {loop.name: int(loop.is_stale()) for loop in loops()})

    def lag_loop(self, clock: Callable[[], float], rng: Random) -> Loop:
        """Return the loop that measures how late timers are."""

        async def tick() -> None:
            due = clock() + LAG_TIMER_SECONDS
            await asyncio.sleep(LAG_TIMER_SECONDS)
            self.lag.observe(max(0.0, clock() - due))

        return Loop("lag", LAG_SECONDS, tick, clock, rng)

    def count_request(self, sample: RequestSample, outcome: str, seconds: float) -> None:
        """Count a request with its outcome and time it."""
        kind = sample.outcome_class or outcome_class(outcome)
        self.requests.labels(sample.pair, outcome, kind).inc()
        self.seconds.labels(sample.pair, kind).observe(seconds)

    def count_texts(self, pair: str, texts: int, characters: int) -> None:
        """Count a request's texts and their characters."""
        self.texts.labels(pair).inc(texts)
        self.characters.labels(pair).inc(characters)

    def start_pair(self, pair: str) -> None:
        """Let a known pair's counters begin at 0."""
        self.requests.start(*(pair for _ in self.request_labels))
        self.texts.start(pair)
        self.characters.start(pair)

    def request_timer(self, clock: Callable[[], float]) -> RequestTimer:
        """Return a timer for one request; its block fills in the pair."""
        return RequestTimer(self, clock)


class RequestTimer:
    """Context manager that counts and times one request."""

    __slots__ = ("_clock", "_metrics", "_request", "_started")

    def __init__(self, metrics: ServerMetrics, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._clock = clock
        self._request = RequestSample()

    def __enter__(self) -> RequestSample:
        self._started = self._clock()
        self._metrics.in_flight += 1
        return self._request

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is None:
            outcome = OK
        elif isinstance(error, PairwayError):
            outcome = error.code
            self._request.outcome_class = self._request.outcome_class or error.outcome_class
        else:
            outcome = "client-gone" if isinstance(error, asyncio.CancelledError) else "internal"
        self._metrics.in_flight -= 1
        self._metrics.count_request(self._request, outcome, self._clock() - self._started)
