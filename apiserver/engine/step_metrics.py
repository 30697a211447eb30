"""Step metrics: an engine's steps, and vLLM's metrics."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from functools import partial
from threading import Lock
from typing import Any, Final

from prometheus_client import CollectorRegistry, Gauge, Histogram, Metric
from prometheus_client import Counter as PrometheusCounter
from prometheus_client.samples import Sample
from typing_extensions import override

MAX_PENDING: Final = 1000  # about ten steps of a full batch


class EngineMetrics:
    """One engine's metrics; ``vllm:cache_config_info`` lacks the model's name."""

    def __init__(self, registry: CollectorRegistry, model: str) -> None:
        self._registry = registry
        self._model = model

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics, all with the model's name."""
        for metric in self._registry.collect():
            metric.samples = [
                sample
                if "model_name" in sample.labels
                else sample._replace(labels={**sample.labels, "model_name": self._model})
                for sample in metric.samples
            ]
            yield metric


class StepHistogram(Histogram):
    """Histogram of one thread's values, in batches, at a quarter the cost."""

    @override
    def _metric_init(self) -> None:
        super()._metric_init()
        self._pending: list[float] = []
        self._counting = Lock()

    @override
    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        """Keep a value for the next batch."""
        self._pending.append(amount)
        if len(self._pending) >= MAX_PENDING:
            self._count()

    @override
    def _child_samples(self) -> Iterable[Sample]:
        self._count()
        return super()._child_samples()

    def _count(self) -> None:
        with self._counting:
            pending = self._pending.copy()
            del self._pending[: len(pending)]  # what came since the copy stays
            self._sum.inc(sum(pending))  # pyright: ignore[reportUnknownMemberType] - untyped there
            for place, times in Counter(bisect_left(self._upper_bounds, amount) for amount in pending).items():
                self._buckets[place].inc(times)  # pyright: ignore[reportUnknownMemberType] - untyped there


class StepCounter:
    """Progress in EngineCore's steps; ``limit`` is the batch size."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.steps = 0
        self.last: float | None = None
        self.running = 0
        self.kv_used = 0.0

    def record(self, running: int, kv_used: float) -> None:
        """Record one step."""
        self.steps += 1
        self.last = time.monotonic()
        self.running, self.kv_used = running, kv_used


def stat_loggers(registry: CollectorRegistry, steps: StepCounter) -> list[Any]:
    """Return one engine's loggers.

    In vLLM's default registry, a second engine would remove the first one's metrics.
    """
    from vllm.v1.metrics.loggers import PrometheusStatLogger, StatLoggerBase  # noqa: PLC0415

    class EnginePrometheus(PrometheusStatLogger):
        _gauge_cls = partial(Gauge, registry=registry)
        _counter_cls = partial(PrometheusCounter, registry=registry)
        _histogram_cls = partial(StepHistogram, registry=registry)

    class StepLogger(StatLoggerBase):
        def __init__(self, vllm_config: object, engine_index: int = 0) -> None:
            pass

        def record(self, scheduler_stats: Any, *_: object, **__: object) -> None:
            if scheduler_stats is not None:
                steps.record(scheduler_stats.num_running_reqs, scheduler_stats.kv_cache_usage)

        def log_engine_initialized(self) -> None:
            pass

    return [EnginePrometheus, StepLogger]
