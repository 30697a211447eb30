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
from apiserver.admission import Admission
from apiserver.engine import VllmEngine
from apiserver.guards import Guards
from apiserver.host import EngineFactory, HostSettings, ModelHost
from apiserver.metrics import ApiServerMetrics
from apiserver.output_language import OutputLanguage
from apiserver.replica import Replica
from shared import web
from shared.background import Loop, running
from shared.budget import ByteBudget
from shared.metrics import MergedCollector
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from apiserver.settings import Settings
    from shared.wire import Limits

log = logging.getLogger(__name__)

# What a model runs at once where its entry does not say: vLLM's own default for an API server.
DEFAULT_MAX_NUM_SEQS = 256


@dataclass(frozen=True, slots=True)
class Parts:
    """The app's parts, on ``app.state.parts``."""

    settings: Settings
    limits: Limits
    replica: Replica
    metrics: ApiServerMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget

    def collector(self) -> MergedCollector:
        """Return this server's metrics and those of every engine that runs."""
        for loop in self.loops:
            self.metrics.loop_age.labels(loop.name).set(loop.age())
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
    hosts = [
        ModelHost(
            entry,
            factory,
            HostSettings(settings.canary_timeout, settings.restart_backoff, settings.stall_seconds),
            metrics,
            guards,
            ranks=read.ranks(entry),
            start_lock=start_lock,
            clock=time.monotonic,
            rng=rng,
        )
        for entry in entries
    ]
    at_once = sum(int(entry.engine.get("max_num_seqs", DEFAULT_MAX_NUM_SEQS)) for entry in entries)
    admission = Admission(at_once + settings.max_waiting)
    # More texts than there will ever be room for are too many, not "come back later".
    limits = settings.limits.model_copy(update={"texts": min(settings.max_texts, admission.limit)})
    replica = Replica(
        f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}",
        hosts,
        admission,
        metrics,
        weight=settings.weight,
        started_at=time.time(),
    )
    bodies = ByteBudget(settings.max_bodies_bytes)
    parts = Parts(settings, limits, replica, metrics, tuple(host.loop() for host in hosts), bodies)

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
    app.include_router(api.routes)
    return app
