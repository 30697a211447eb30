"""Composition root of the API server: creates and connects its parts."""

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
from apiserver.changes.change_run import ChangeServices
from apiserver.changes.memory import MachineMemory, MemorySource
from apiserver.changes.reloader import Reloader
from apiserver.context import ApiServerContext
from apiserver.engine import vllm_engine
from apiserver.engine.vllm_engine import VllmEngine, vllm_version
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.model_host import EngineFactory, HostServices, HostSettings
from apiserver.hosting.server_hosts import HostBuilder, RunningHosts
from apiserver.metrics import ApiServerMetrics
from apiserver.model_server import ModelServer
from apiserver.scheduling.admission import QueueBounds
from apiserver.scheduling.planning_queue import PlanningQueue
from apiserver.scheduling.text_memory import TextMemory
from apiserver.settings import BYTES_PER_CHAR, ApiServerSettings
from shared.http.app_setup import configure_app
from shared.http.origin_policy import OriginPolicy
from shared.parsing.byte_budget import ByteBudget
from shared.parsing.long_bodies import LongBodies
from shared.runtime.background import Loop, running
from shared.runtime.forked_process import ForkServer
from shared.runtime.gc_tuning import IDLE_CHECK_SECONDS, IdleCollector, rare_collections
from shared.runtime.shared_rendering import SharedRendering
from shared.version import VERSION

log = logging.getLogger(__name__)

# Of texts in flight: 8,000 characters have a few thousand objects.
IDLE_TEXT_BYTES = 8_000 * BYTES_PER_CHAR
HOST_RULE = " or an address, or set APISERVER_TOKEN"


def create_app(
    settings: ApiServerSettings,
    engine_factory: EngineFactory | None = None,
    memory: MemorySource | None = None,
    fork_server: ForkServer | None = None,
) -> FastAPI:
    """Build the app; its lifespan starts the engines (vLLM's by default).

    vLLM's are forks of the ``fork_server``, if there is one. Raises CatalogError if the catalog is wrong.
    """
    metrics = ApiServerMetrics(vllm_version())
    catalog = loader.read(settings.catalog, settings.models)
    planning = PlanningQueue()
    builder = _host_builder(settings, engine_factory, metrics, planning, fork_server, alone=len(catalog.hosted) == 1)
    hosts = [builder.host(entry, catalog.ranks(entry)) for entry in catalog.hosted]
    replica_id = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
    server = ModelServer(
        replica_id, hosts, metrics, weight=settings.weight, started_at=time.time(), runs_by=settings.runs_by
    )
    running_hosts = RunningHosts(hosts, metrics)
    metrics.watch_loops(lambda: running_hosts.loops)
    services = ChangeServices(
        server,
        running_hosts,
        builder,
        memory or MachineMemory(vllm_engine.device_type),
        time.monotonic,
        settings.max_request_timeout,
    )
    context = ApiServerContext(
        settings=settings,
        limits=settings.limits,
        time_limits=settings.time_limits,
        model_server=server,
        running_hosts=running_hosts,
        reloader=Reloader(services, settings.catalog, settings.models, metrics, time.time),
        metrics=metrics,
        metrics_page=SharedRendering("metrics", time.monotonic),
        bodies=ByteBudget(settings.max_bodies_bytes),
        long_bodies=LongBodies(planning.turns),
        turns=planning.turns,
        text_memory=TextMemory(settings.max_texts_bytes),
    )
    app = FastAPI(
        title="Pairway API server",
        version=VERSION,
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.context = context
    origins = OriginPolicy(
        (), private_hosts_only=settings.serves_this_machine, rule="API servers serve no pages", host_rule=HOST_RULE
    )
    configure_app(app, origins, {"/translate": api.translate}, quiet_paths=("/report",))
    app.include_router(api.routes)
    return app


def _host_builder(
    settings: ApiServerSettings,
    engine_factory: EngineFactory | None,
    metrics: ApiServerMetrics,
    planning: PlanningQueue,
    fork_server: ForkServer | None,
    *,
    alone: bool,
) -> HostBuilder:
    host_settings = HostSettings(
        settings.canary_timeout,
        settings.restart_backoff,
        settings.stall_seconds,
        QueueBounds(settings.queue_seconds, settings.max_waiting),
    )
    start = partial(VllmEngine.start, fork_server=fork_server)
    services = HostServices(
        factory=engine_factory or partial(start, alone=alone),
        metrics=metrics,
        guards=QualityGuard(OutputLanguage()),
        start_lock=asyncio.Lock(),
        clock=time.monotonic,
        rng=random.Random(),  # noqa: S311 - jitter, not secrets
        catalog=settings.catalog,
        planning=planning,
    )
    return HostBuilder(host_settings, services, engine_factory or partial(start, alone=False))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    context: ApiServerContext = app.state.context
    server = context.model_server
    models = [host.entry.name for host in server.hosts]
    log.info("api server up", extra={"replica": server.replica_id, "models": models})
    # Canaries and short texts are no more than this.
    collector = IdleCollector(lambda: context.text_memory.held <= IDLE_TEXT_BYTES)
    rng = random.Random()  # noqa: S311 - jitter, not secrets
    garbage = Loop("garbage", IDLE_CHECK_SECONDS, collector.tick, time.monotonic, rng)
    with rare_collections(full=False):
        async with running(garbage, context.metrics.lag_loop(time.monotonic, rng)), context.running_hosts:
            try:
                yield
            finally:
                await context.reloader.close()
