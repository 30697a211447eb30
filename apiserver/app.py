"""Composition root of the API server: the only place where its parts meet."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI

from apiserver import api
from apiserver.catalog import loader
from apiserver.context import ApiServerContext
from apiserver.engine.vllm_engine import VllmEngine
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.model_host import EngineFactory, HostSettings, ModelHost
from apiserver.metrics import ApiServerMetrics
from apiserver.model_server import ModelServer
from apiserver.scheduling.admission import QueueBounds
from apiserver.settings import ApiServerSettings
from shared.http.body_budget import ByteBudget
from shared.http.fast_path import FastPath
from shared.http.problems import configure_app
from shared.runtime.background import running
from shared.version import VERSION

log = logging.getLogger(__name__)


def create_app(settings: ApiServerSettings, engine_factory: EngineFactory | None = None) -> FastAPI:
    """Build the app; engines (vLLM's, unless another factory is given) begin to start when its lifespan does.

    Raises:
        CatalogError: the catalog can not be used.
    """
    read = loader.read(settings.catalog, settings.models)
    entries = read.hosted
    factory = engine_factory or partial(VllmEngine.start, alone=len(entries) == 1)
    metrics = ApiServerMetrics()
    rng = random.Random()  # noqa: S311 - jitter, not secrets
    start_lock = asyncio.Lock()
    guards = QualityGuard(OutputLanguage())
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
    replica = ModelServer(
        f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}",
        hosts,
        metrics,
        weight=settings.weight,
        started_at=time.time(),
    )
    bodies = ByteBudget(settings.max_bodies_bytes)
    parts = ApiServerContext(
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
    configure_app(app)
    app.add_middleware(FastPath, handler=api.translate)
    app.include_router(api.routes)
    return app
