"""Composition root of the API server: the only place where its parts meet."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from fastapi import FastAPI

from apiserver import api, catalog
from apiserver.admission import QueueBounds
from apiserver.engine import VllmEngine
from apiserver.guards import Guards
from apiserver.host import EngineFactory, HostSettings, ModelHost
from apiserver.metrics import ApiServerMetrics
from apiserver.output_language import OutputLanguage
from apiserver.replica import Replica
from shared import web
from shared.background import Loop, running
from shared.budget import ByteBudget
from shared.hot_path import HotPath
from shared.metrics import MergedCollector
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from apiserver.settings import Settings
    from shared.deadline import TimeLimits
    from shared.wire import Limits

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """The app's parts, on ``app.state.parts``."""

    settings: Settings
    limits: Limits
    times: TimeLimits
    replica: Replica
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


def create_app(settings: Settings, engine_factory: EngineFactory | None = None) -> FastAPI:
    """Build the app; engines (vLLM's, unless another factory is given) begin to start when its lifespan does.

    Raises:
        CatalogError: the catalog can not be used.
    """
    read = catalog.read(settings.catalog, settings.models)
    entries = read.hosted
    factory = engine_factory or partial(VllmEngine.start, alone=len(entries) == 1)
    metrics = ApiServerMetrics()
    rng = random.Random()  # noqa: S311 - jitter, not secrets
    start_lock = asyncio.Lock()
    guards = Guards(OutputLanguage())
    host_settings = HostSettings(
        settings.canary_timeout,
        settings.restart_backoff,
        settings.stall_seconds,
        QueueBounds(settings.queue_seconds, settings.max_waiting),
    )
    hosts = [
        ModelHost(
            entry,
            factory,
            host_settings,
            metrics,
            guards,
            ranks=read.ranks(entry),
            start_lock=start_lock,
            clock=time.monotonic,
            rng=rng,
        )
        for entry in entries
    ]
    replica = Replica(
        f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}",
        hosts,
        metrics,
        weight=settings.weight,
        started_at=time.time(),
    )
    bodies = ByteBudget(settings.max_bodies_bytes)
    parts = Parts(
        settings, settings.limits, settings.time_limits, replica, metrics, tuple(host.loop() for host in hosts), bodies
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        log.info("api server up", extra={"replica": replica.replica_id, "models": [entry.name for entry in entries]})
        try:
            async with running(*parts.loops):
                yield
        finally:
            await asyncio.gather(*(host.close() for host in hosts))

    app = FastAPI(
        title="Pairway API server", version=VERSION, lifespan=lifespan, redirect_slashes=False, redoc_url=None
    )
    app.state.parts = parts
    web.install(app)
    app.add_middleware(HotPath, answer=api.translate)
    app.include_router(api.routes)
    return app
