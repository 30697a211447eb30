"""The list of every metric name of an API server, beside vLLM's own."""

from __future__ import annotations

from shared.runtime.metrics import ServerMetrics


class ApiServerMetrics(ServerMetrics):
    """What an API server counts beside vLLM's own metrics of each engine."""

    def __init__(self) -> None:
        super().__init__("pairway_apiserver")
        self.pair_ready = self.gauge(
            "pairway_apiserver_pair_ready", "1 if the pair's canary came back and its engine lives.", ["pair", "model"]
        )
        self.engine_starts = self.counter(
            "pairway_apiserver_engine_starts_total", "Engine starts by outcome (started, failed).", ["model", "outcome"]
        )
        self.engine_deaths = self.counter(
            "pairway_apiserver_engine_deaths_total", "Engines that died while serving.", ["model"]
        )
        self.refused = self.counter(
            "pairway_apiserver_refused_total",
            "Requests refused because there was no capacity or not enough time, by class.",
            ["model", "priority"],
        )
        self.waiting = self.histogram(
            "pairway_apiserver_waiting_seconds",
            "Time from a request's admission to the engine slot of its first segment, by class.",
            ["model", "priority"],
        )
        self.rate = self.gauge(
            "pairway_apiserver_throughput_units_per_second",
            "Units of cost that the engine gets done per second when it is full; absent before that is known.",
            ["model"],
        )
        self.ahead = self.gauge(
            "pairway_apiserver_ahead_units",
            "Units of cost in hand before a new short request of the class.",
            ["model", "priority"],
        )
        self.limit = self.gauge(
            "pairway_apiserver_limit_units",
            "Units of cost in hand below which a short request of the class is taken on.",
            ["model", "priority"],
        )
        self.segments = self.counter(
            "pairway_apiserver_segments_total",
            "Segments by the stage that gave the result: first or second attempt, tags projected, pieces, best, none.",
            ["pair", "stage"],
        )
        self.guards = self.counter(
            "pairway_apiserver_guards_total",
            "What guards caught in segments, and what came of it: mended, shown with a warning, given-up.",
            ["pair", "guard", "outcome"],
        )
        self.unusable = self.counter(
            "pairway_apiserver_unusable_outputs_total",
            "Outputs that could not be shown, by reason.",
            ["pair", "reason"],
        )
