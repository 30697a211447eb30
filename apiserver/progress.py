"""What an engine has done so far: its steps, and its metrics under its own name."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import CollectorRegistry, Metric


class EngineMetrics:
    """One engine's metrics, each sample under its model's name.

    vLLM leaves the name out of ``vllm:cache_config_info``, so two engines of one server would give the same series.
    """

    def __init__(self, registry: CollectorRegistry, model: str) -> None:
        """Take the registry that vLLM's logger fills."""
        self._registry = registry
        self._model = model

    def collect(self) -> Iterable[Metric]:
        """Collect the registry and name the model where vLLM does not."""
        for metric in self._registry.collect():
            metric.samples = [
                sample
                if "model_name" in sample.labels
                else sample._replace(labels={**sample.labels, "model_name": self._model})
                for sample in metric.samples
            ]
            yield metric


class StepCounter:
    """Progress of one engine, counted in EngineCore's own steps as their statistics arrive."""

    def __init__(self, limit: int) -> None:
        """Begin at zero; ``limit`` is the number of requests the engine runs at once."""
        self.limit = limit
        self.steps = 0
        self.last: float | None = None
        self.running = 0
        self.kv_used = 0.0

    def record(self, running: int, kv_used: float) -> None:
        """Note one step."""
        self.steps += 1
        self.last = time.monotonic()
        self.running, self.kv_used = running, kv_used
