"""The API server's parts, for its HTTP endpoints."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from apiserver.changes.reloader import Reloader
from apiserver.hosting.model_host import ModelHost
from apiserver.hosting.server_hosts import RunningHosts
from apiserver.metrics import ApiServerMetrics
from apiserver.model_server import ModelServer
from apiserver.scheduling.text_memory import TextMemory
from apiserver.settings import ApiServerSettings
from shared.parsing.byte_budget import ByteBudget
from shared.parsing.long_bodies import LongBodies
from shared.protocol.deadline import TimeLimits
from shared.protocol.translate_request import Limits
from shared.runtime.background import Loop
from shared.runtime.metrics import MergedCollector
from shared.runtime.shared_rendering import SharedRendering
from shared.runtime.turns import LoopTurns


@dataclass(frozen=True, slots=True)
class ApiServerContext:
    """The app's parts, at ``app.state.context``."""

    settings: ApiServerSettings
    limits: Limits
    time_limits: TimeLimits
    model_server: ModelServer
    running_hosts: RunningHosts
    reloader: Reloader
    metrics: ApiServerMetrics
    metrics_page: SharedRendering[bytes]
    bodies: ByteBudget
    long_bodies: LongBodies
    turns: LoopTurns
    text_memory: TextMemory

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops of all models, serving or not."""
        return self.running_hosts.loops

    def collector(self) -> MergedCollector:
        """Return the metrics of this server and of its running engines."""
        hosts: dict[str, ModelHost] = {}
        for host in (*self.model_server.hosts, *self.running_hosts):
            hosts.setdefault(host.entry.name, host)  # of two with one name, the one that serves
        for name, host in hosts.items():
            host.admission.set_gauges(self.metrics, name)
            self.metrics.show_model(name, host.revision)
        engines = [host.engine for host in hosts.values()]
        return MergedCollector(self.metrics.registry, *(engine.metrics for engine in engines if engine is not None))


def context(request: Request) -> ApiServerContext:
    """Return the app's parts for a request."""
    return request.app.state.context
