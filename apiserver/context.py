"""The API server's parts, as its HTTP endpoints reach them."""

from __future__ import annotations

from dataclasses import dataclass

from apiserver.metrics import ApiServerMetrics
from apiserver.model_server import ModelServer
from apiserver.settings import ApiServerSettings
from shared.http.body_budget import ByteBudget
from shared.protocol.deadline import TimeLimits
from shared.protocol.messages import Limits
from shared.runtime.background import Loop
from shared.runtime.metrics import MergedCollector


@dataclass(frozen=True, slots=True)
class ApiServerContext:
    """The app's parts, on ``app.state.parts``."""

    settings: ApiServerSettings
    limits: Limits
    times: TimeLimits
    replica: ModelServer
    metrics: ApiServerMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget

    def collector(self) -> MergedCollector:
        """Return this server's metrics and those of every engine that runs."""
        for loop in self.loops:
            self.metrics.loop_age.labels(loop.name).set(loop.age())
        for host in self.replica.hosts:
            host.room.measure(self.metrics)
        engines = [host.engine for host in self.replica.hosts]
        return MergedCollector(self.metrics.registry, *(engine.metrics for engine in engines if engine is not None))
