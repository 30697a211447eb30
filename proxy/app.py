"""Composition root of the proxy: the only place where its parts meet."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import FastAPI

from proxy import api, operators
from proxy.client import ReplicaClient
from proxy.detector import Detector
from proxy.discovery import Discovery, Resolver, system_resolver
from proxy.dispatcher import Dispatcher
from proxy.evidence import LocalEvidence
from proxy.fleet import Snapshot
from proxy.fleet_control import FleetControl
from proxy.fleet_view import Standing
from proxy.forwarder import Forwarder
from proxy.lease import RENEW_SECONDS, Lease
from proxy.registry import Registry
from proxy.store import Store
from proxy.tracker import RETURN_SECONDS, HealthTracker
from shared import web
from shared.background import Loop, running
from shared.budget import ByteBudget
from shared.telemetry import ProxyMetrics
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from proxy.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """The app's parts, on ``app.state.parts`` while its lifespan lasts."""

    settings: Settings
    registry: Registry
    evidence: LocalEvidence
    dispatcher: Dispatcher
    control: FleetControl
    metrics: ProxyMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget
    draining: asyncio.Event
    started_at: float


class EvidenceView:
    """What operators see of the local evidence."""

    def __init__(self, evidence: LocalEvidence) -> None:
        """Take the evidence."""
        self._evidence = evidence

    def standing(self, url: str) -> Standing:
        """Return how one replica stands; beside an empty Snapshot its load is ours alone."""
        return Standing(in_flight=self._evidence.load(url, Snapshot.of((), ())))


def create_app(settings: Settings, resolver: Resolver = system_resolver) -> FastAPI:
    """Build the app; it begins to sweep when its lifespan does."""
    draining = asyncio.Event()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        owner = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        rng = random.Random()  # noqa: S311 - picks and jitter, not secrets
        metrics = ProxyMetrics()
        evidence = LocalEvidence()
        store = Store(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
        lease = Lease(store, owner, settings.redis_timeout, time.monotonic)
        registry = Registry(store, evidence, lease, settings.replicas, report_ttl=settings.report_ttl, clock=time.time)
        detector = await asyncio.to_thread(Detector)
        async with ReplicaClient.open(
            connect_timeout=settings.connect_timeout, probe_timeout=settings.probe_timeout
        ) as client:
            forwarder = Forwarder(registry, client, evidence, metrics, rng, settings.max_attempts)
            discovery = Discovery(resolver)
            tracker = HealthTracker(registry, discovery, client, metrics, time.time)
            loops = (
                Loop("tracker", settings.probe_interval, tracker.sweep, time.monotonic, rng),
                Loop("returns", RETURN_SECONDS, tracker.look_again, time.monotonic, rng),
                Loop("lease", RENEW_SECONDS, lease.renew, time.monotonic, rng),
            )
            app.state.parts = Parts(
                settings,
                registry,
                evidence,
                Dispatcher(registry, forwarder, detector, metrics),
                FleetControl(registry, discovery, EvidenceView(evidence), time.time),
                metrics,
                loops,
                ByteBudget(settings.max_bodies_bytes),
                draining,
                time.time(),
            )
            try:
                await lease.renew()
                await registry.recall()
                log.info("proxy up", extra={"proxy": owner, "replicas": settings.replicas})
                async with running(*loops):
                    yield
            finally:
                await tracker.close()
                await lease.resign()
                await store.close()

    app = FastAPI(
        title="Pairway", version=VERSION, lifespan=lifespan, root_path=settings.root_path, redirect_slashes=False
    )
    app.state.draining = draining
    web.install(app)
    app.include_router(api.routes)
    app.include_router(operators.routes)
    return app
