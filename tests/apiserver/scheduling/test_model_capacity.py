"""A model's capacity: its rate before it is measured, its report and its gauges."""

from __future__ import annotations

from contextlib import ExitStack

from apiserver.catalog.model_entry import ModelEntry
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import AdmissionRequest, QueueBounds
from apiserver.scheduling.model_capacity import FULL_BATCH_SLOWDOWN, MAX_BATCHES_PER_SECOND, ModelCapacity
from shared.protocol.priority import Priority
from shared.protocol.report import ModelReport
from tests.apiserver.scheduling.hand_clock import HandClock

BATCH_SIZE = 16
ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"})


def test_estimate_rate_uses_canaries_until_it_is_measured() -> None:
    clock = HandClock()
    capacity = ModelCapacity(ENTRY, QueueBounds(1.0, 300), clock)
    capacity.new_slots(BATCH_SIZE)
    assert capacity.admission.assumed_rate == BATCH_SIZE
    capacity.estimate_rate(2, 0.1)
    assert capacity.admission.assumed_rate == BATCH_SIZE / FULL_BATCH_SLOWDOWN / 0.1
    capacity.estimate_rate(2, 5.0)
    assert capacity.admission.assumed_rate == BATCH_SIZE, (
        "a first canary may take long, for all that is done the first time"
    )
    capacity.estimate_rate(40, 0.5)
    assert capacity.admission.assumed_rate == 40 / 0.5
    capacity.estimate_rate(2, 0.0)
    assert capacity.admission.assumed_rate == MAX_BATCHES_PER_SECOND * BATCH_SIZE
    with ExitStack() as stack:
        for _ in range(2 * BATCH_SIZE + 1):
            stack.enter_context(capacity.admission.admit(AdmissionRequest.of(["word"], Priority.INTERACTIVE), 1e9))
    capacity.new_slots(BATCH_SIZE)
    assert capacity.admission.assumed_rate == BATCH_SIZE, "another engine"


def test_with_capacity_adds_classes_and_revision() -> None:
    capacity = ModelCapacity(ENTRY, QueueBounds(1.0, 300), HandClock())
    capacity.new_slots(BATCH_SIZE)
    engine_report = ModelReport(
        running=0, waiting=0, limit=BATCH_SIZE, steps=0, step_age_s=None, kv_used=0.0, revision=None
    )
    report = capacity.with_capacity(engine_report, "abc")
    assert report.revision == "abc"
    assert report.rate is None
    assert report.capacity is not None
    assert report.capacity.keys() == set(Priority)


def test_set_gauges_shows_the_queue_and_no_unknown_rate() -> None:
    metrics = ApiServerMetrics()
    capacity = ModelCapacity(ENTRY, QueueBounds(1.0, 300), HandClock())
    capacity.new_slots(BATCH_SIZE)
    with capacity.admission.admit(AdmissionRequest.of(["word"], Priority.INTERACTIVE), 1e9):
        capacity.set_gauges(metrics)
    labels = {"model": "m", "priority": "interactive"}
    assert metrics.registry.get_sample_value("pairway_apiserver_ahead_units", labels) == 1.0
    assert metrics.registry.get_sample_value("pairway_apiserver_limit_units", labels) == 2 * BATCH_SIZE
    rate = "pairway_apiserver_throughput_units_per_second"
    assert metrics.registry.get_sample_value(rate, {"model": "m"}) is None
