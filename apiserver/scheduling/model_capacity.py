"""Model capacity: one model's admission, throughput and batch slots, for the report and the metrics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.batch_slots import OVERHANG, BatchSlots
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.report import ModelReport

# What a model runs at once where its entry does not say: vLLM's own default for an API server.
DEFAULT_MAX_NUM_SEQS: Final = 256
# A full batch takes about so many times as long as one request alone (2.1 times for 25, `make bench-origin`, D).
FULL_BATCH_SLOWDOWN: Final = 2.0
# The rate is guessed to be between one full batch a second and so many: canaries are short.
MAX_BATCHES_PER_SECOND: Final = 8


class ModelCapacity:
    """One model's capacity; it outlives the model's engines, and so do admitted requests until they are answered."""

    def __init__(self, entry: ModelEntry, bounds: QueueBounds, clock: Callable[[], float]) -> None:
        self._name = entry.name
        self._clock = clock
        self._meter = ThroughputMeter(clock)
        batch_size = int(entry.engine.get("max_num_seqs", DEFAULT_MAX_NUM_SEQS))
        self.admission = ModelAdmission(batch_size, self._meter, bounds)

    def new_slots(self, max_num_seqs: int) -> BatchSlots:
        """Return the slots of a new engine; its throughput has yet to be measured."""
        self._meter.reset()
        self.admission.batch_size, self.admission.assumed_rate = max_num_seqs, float(max_num_seqs)
        return BatchSlots(max_num_seqs, self._clock, overhang=max(1, max_num_seqs // OVERHANG), meter=self._meter)

    def estimate_rate(self, canaries: int, seconds: float) -> None:
        """Guess the rate by how long so many canaries took, all at once, until it is measured; within bounds."""
        batch_size = self.admission.batch_size
        units = max(canaries, batch_size / FULL_BATCH_SLOWDOWN)
        self.admission.assumed_rate = max(
            batch_size, min(units / seconds if seconds else math.inf, MAX_BATCHES_PER_SECOND * batch_size)
        )

    def with_capacity(self, report: ModelReport, revision: str | None) -> ModelReport:
        """Return the engine's report with the capacity, the rate and the model's revision in it."""
        capacities = self.admission.class_capacities()
        return report.model_copy(update={"capacity": capacities, "rate": self._meter.rate, "revision": revision})

    def set_gauges(self, metrics: ApiServerMetrics) -> None:
        """Set the gauges."""
        if (rate := self._meter.rate) is not None:
            metrics.rate.labels(self._name).set(rate)
        for priority, capacity in self.admission.class_capacities().items():
            metrics.ahead.labels(self._name, priority).set(capacity.ahead)
            metrics.limit.labels(self._name, priority).set(capacity.limit)
