"""All metrics of an API server, in addition to those of vLLM."""

from __future__ import annotations

from typing import Final

from typing_extensions import override

from shared.protocol.priority import Priority
from shared.runtime.metrics import ServerMetrics

SEGMENT_STAGES: Final = ("first", "masked", "second", "sampled", "pieces", "best", "none")
# Codes of the issues with which an output cannot be shown.
UNUSABLE_REASONS: Final = ("output-too-long", "output-repeats", "output-incomplete", "output-empty", "placeholder-lost")


class ApiServerMetrics(ServerMetrics):
    """Metrics of an API server, in addition to vLLM's for each engine."""

    def __init__(self, vllm: str = "unknown") -> None:
        super().__init__("pairway_apiserver", vllm=vllm)
        ready = "1 if the pair's canary passed and its engine is alive, else 0."
        self.pair_ready = self.gauge("pairway_apiserver_pair_ready", ready, ["pair", "model"])
        self._revisions: dict[str, str] = {}
        self._register_engines()
        self.refused = self.counter(
            "pairway_apiserver_refused_total",
            "Number of requests refused for lack of capacity or time, by priority.",
            ["model", "priority"],
            tuple((priority,) for priority in Priority),
        )
        self.waiting = self.histogram(
            "pairway_apiserver_waiting_seconds",
            "Seconds from a request's admission to its first batch slot, by priority.",
            ["model", "priority"],
        )
        self.rate = self.gauge(
            "pairway_apiserver_throughput_units_per_second",
            "Cost units that the engine finishes per second while it is full; absent until it is measured.",
            ["model"],
        )
        self.ahead = self.gauge(
            "pairway_apiserver_ahead_units",
            "Cost units in flight ahead of a new short request, by priority.",
            ["model", "priority"],
        )
        self.limit = self.gauge(
            "pairway_apiserver_limit_units",
            "Cost units in flight below which a new short request is accepted, by priority.",
            ["model", "priority"],
        )
        self.segments = self.counter(
            "pairway_apiserver_segments_total",
            "Number of segments, by the stage that gave the result: first, masked, second, sampled, pieces, best, none.",
            ["pair", "stage"],
            tuple((stage,) for stage in SEGMENT_STAGES),
        )
        self.guards = self.counter(
            "pairway_apiserver_guards_total",
            "Number of issues found in segments, by guard and outcome: mended, shown (with a warning), given-up.",
            ["pair", "guard", "outcome"],
        )
        self.unusable = self.counter(
            "pairway_apiserver_unusable_outputs_total",
            "Number of texts without a usable translation, by reason (a warning's code).",
            ["pair", "reason"],
            tuple((reason,) for reason in UNUSABLE_REASONS),
        )
        changes = "Changes of an entry by a reload: switched, removed, failed, cancelled."
        self.model_changes = self.counter("pairway_apiserver_model_changes_total", changes, ["outcome"])

    def _register_engines(self) -> None:
        self.engine_starts = self.counter(
            "pairway_apiserver_engine_starts_total",
            "Number of engine starts, by outcome (started, failed).",
            ["model", "outcome"],
            (("started",), ("failed",)),
        )
        start = "Duration of the engine's last start in seconds, from the beginning until its canaries run."
        self.engine_start_seconds = self.gauge("pairway_apiserver_engine_start_seconds", start, ["model"])
        info = "1, labelled with the revision of the model's weights and definition."
        self.model_info = self.gauge("pairway_apiserver_model_info", info, ["model", "revision"])
        self.engine_deaths = self.counter(
            "pairway_apiserver_engine_deaths_total", "Number of engines that died or hung after their start.", ["model"]
        )

    def forget(self, model: str) -> None:
        """Drop the series of a model that was unloaded."""
        for metric in (self.engine_starts, self.engine_deaths, self.refused, self.waiting):
            metric.remove("model", model)
        gauges = (self.pair_ready, self.rate, self.ahead, self.limit, self.engine_start_seconds, self.model_info)
        for gauge in gauges:
            gauge.remove_by_labels({"model": model})
        self._revisions.pop(model, None)

    def show_model(self, model: str, revision: str | None) -> None:
        """Show the revision of a model; None: not known yet."""
        if revision is None or self._revisions.get(model) == revision:
            return
        self.model_info.remove_by_labels({"model": model})
        self.model_info.labels(model, revision).set(1)
        self._revisions[model] = revision

    def engine_started(self, model: str, seconds: float) -> None:
        """Count and time an engine's start."""
        self.engine_starts.labels(model, "started").inc()
        self.engine_start_seconds.labels(model).set(seconds)

    @override
    def start_pair(self, pair: str) -> None:
        super().start_pair(pair)
        self.segments.start(pair)
        self.unusable.start(pair)

    def start_model(self, model: str) -> None:
        """Let a hosted model's counters begin at 0."""
        for counter in (self.engine_starts, self.engine_deaths, self.refused):
            counter.start(model)
