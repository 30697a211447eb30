"""The API server's parts, for its HTTP endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from apiserver.metrics import ApiServerMetrics
from apiserver.model_server import ModelServer
from apiserver.settings import ApiServerSettings
from shared.http.body import ByteBudget
from shared.protocol.deadline import TimeLimits
from shared.protocol.messages import Limits
from shared.runtime.background import Loop
from shared.runtime.metrics import MergedCollector


@dataclass(frozen=True, slots=True)
class ApiServerContext:
    """The app's parts, at ``app.state.context``."""

    settings: ApiServerSettings
    limits: Limits
    time_limits: TimeLimits
    model_server: ModelServer
    metrics: ApiServerMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget

    def collector(self) -> MergedCollector:
        """Return the metrics of this server and of its running engines."""
        for loop in self.loops:
            self.metrics.loop_age.labels(loop.name).set(loop.age())
        for host in self.model_server.hosts:
            host.admission.set_gauges(self.metrics, host.entry.name)
        engines = [host.engine for host in self.model_server.hosts]
        return MergedCollector(self.metrics.registry, *(engine.metrics for engine in engines if engine is not None))


def context(request: Request) -> ApiServerContext:
    """Return the app's parts for a request."""
    return request.app.state.context
