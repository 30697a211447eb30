"""ModelCapacity: one model's admission, its drain rate, and the slots of whichever engine runs; told to the proxy and counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.batch_slots import BatchSlots
from apiserver.scheduling.fair_queue import OVERHANG
from apiserver.scheduling.throughput import ThroughputMeter
from shared.protocol.report import ModelReport

# What a model runs at once where its entry does not say: vLLM's own default for an API server.
DEFAULT_MAX_NUM_SEQS: Final = 256
# A full batch takes about so many times as long as one request alone (2.1 times for 25, `make bench-origin`, D).
FULL_TAKES: Final = 2.0
# The rate is guessed to be between one full batch a second and so many: canaries are short.
FASTEST: Final = 8


class ModelCapacity:
    """Outlives the model's engines: what was admitted is in hand until it is answered, whatever becomes of the engine."""

    def __init__(self, entry: ModelEntry, bounds: QueueBounds, clock: Callable[[], float]) -> None:
        """Begin before there is an engine."""
        self._name = entry.name
        self._clock = clock
        self._rate = ThroughputMeter(clock)
        at_once = int(entry.engine.get("max_num_seqs", DEFAULT_MAX_NUM_SEQS))
        self.admission = ModelAdmission(at_once, self._rate, bounds)

    def slots_for(self, max_num_seqs: int) -> BatchSlots:
        """Return the slots of a new engine; how quick that is has to be learnt anew."""
        self._rate.forget()
        self.admission.at_once, self.admission.guess = max_num_seqs, float(max_num_seqs)
        return BatchSlots(max_num_seqs, self._clock, overhang=max(1, max_num_seqs // OVERHANG), rate=self._rate)

    def tried(self, canaries: int, seconds: float) -> None:
        """Guess the rate by how long so many canaries took, all at once, until it is measured; within bounds."""
        at_once = self.admission.at_once
        units = max(canaries, at_once / FULL_TAKES)
        self.admission.guess = max(at_once, min(units / seconds if seconds else math.inf, FASTEST * at_once))

    def told(self, report: ModelReport, revision: str | None) -> ModelReport:
        """Return the engine's report with the room, the rate and the model's revision in it."""
        room = self.admission.room()
        return report.model_copy(update={"room": room, "rate": self._rate.value, "revision": revision})

    def measure(self, metrics: ApiServerMetrics) -> None:
        """Set the gauges."""
        if (rate := self._rate.value) is not None:
            metrics.rate.labels(self._name).set(rate)
        for priority, room in self.admission.room().items():
            metrics.ahead.labels(self._name, priority).set(room.ahead)
            metrics.limit.labels(self._name, priority).set(room.limit)
