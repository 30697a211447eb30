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

from proxy import api, key_api, operators
from proxy.access import Access
from proxy.admission import Admission
from proxy.answers import Answers
from proxy.cache import TranslationCache
from proxy.cache_store import FLUSH_SECONDS, CacheStore
from proxy.canaries import TICK_SECONDS, Canaries
from proxy.carrier import Carrier
from proxy.chooser import Chooser
from proxy.client import ReplicaClient
from proxy.detector import Detector
from proxy.discovery import Discovery, Resolver, system_resolver
from proxy.dispatcher import Dispatcher
from proxy.evidence import LocalEvidence
from proxy.exchange import Exchange
from proxy.fleet_control import FleetControl
from proxy.flights import Flights
from proxy.forwarder import Forwarder
from proxy.health import HealthPage
from proxy.key_book import Clocks
from proxy.key_store import KeyStore
from proxy.lease import RENEW_SECONDS, Lease
from proxy.local_view import EvidenceView
from proxy.lru import Lru
from proxy.metrics import ProxyMetrics
from proxy.registry import Registry
from proxy.retry_budget import RetryBudget
from proxy.revisions import Revisions
from proxy.routing import Pivots
from proxy.settings import WithoutRedis
from proxy.store import Store
from proxy.tracker import FIRST_SWEEP_SECONDS, RETURN_SECONDS, HealthTracker
from shared import heap, web
from shared.background import Loop, running
from shared.budget import ByteBudget
from shared.hot_path import HotPath
from shared.version import VERSION

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from proxy.fleet import Snapshot
    from proxy.settings import Settings

log = logging.getLogger(__name__)

# What is only for operators: on their own port where they have one.
OPERATORS = (operators.routes, key_api.routes)


@dataclass(frozen=True, slots=True)
class Parts:
    """The app's parts, on ``app.state.parts`` while its lifespan lasts."""

    settings: Settings
    registry: Registry
    evidence: LocalEvidence
    page: HealthPage
    access: Access
    keys: KeyStore
    answers: Answers
    flights: Flights
    listed_pivots: Pivots | None
    control: FleetControl
    metrics: ProxyMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget
    draining: asyncio.Event
    started_at: float


def create_app(settings: Settings, resolver: Resolver = system_resolver) -> FastAPI:
    """Build the app; it begins to sweep when its lifespan does, and to serve once the first sweep has ended or lasts too long."""
    draining = asyncio.Event()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        owner = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        rng = random.Random()  # noqa: S311 - picks and jitter, not secrets
        metrics = ProxyMetrics()
        evidence = LocalEvidence(time.monotonic, rng)
        store = Store(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
        keys = KeyStore(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
        access = Access(
            keys,
            metrics,
            Clocks(time.time, time.monotonic),
            on=settings.keys_on,
            goes_on=settings.keys_without_redis is WithoutRedis.OPEN,
            operator_token=settings.operator_token,
        )
        lease = Lease(store, owner, settings.redis_timeout, time.monotonic)
        registry = Registry(store, evidence, lease, settings.replicas, report_ttl=settings.report_ttl, clock=time.time)
        detector = await asyncio.to_thread(Detector)
        async with ReplicaClient.open(
            connect_timeout=settings.connect_timeout,
            probe_timeout=settings.probe_timeout,
            token=settings.replica_token,
        ) as client:
            forwarder = Forwarder(
                registry,
                Exchange(client, evidence, metrics),
                Chooser(evidence, rng),
                evidence,
                RetryBudget(time.monotonic),
                metrics,
                settings.max_attempts,
            )
            pivots = Pivots(settings.preferred_pivots, lambda pair: evidence.pool(pair).usual)
            dispatcher = Dispatcher(
                registry,
                Carrier(forwarder),
                detector,
                metrics,
                pivots if settings.pivot else None,
                Admission(evidence, metrics, time.monotonic),
            )
            canaries = Canaries(registry, evidence, client, metrics, time.monotonic, rng)
            discovery = Discovery(resolver)
            tracker = HealthTracker(registry, discovery, client, metrics, time.time)
            bodies = ByteBudget(settings.max_bodies_bytes)
            flights = Flights(bodies, time.monotonic)
            cache_store = _cache_store(settings)
            loops = (
                Loop("tracker", settings.probe_interval, tracker.sweep, time.monotonic, rng),
                Loop("returns", RETURN_SECONDS, tracker.look_again, time.monotonic, rng),
                Loop("lease", RENEW_SECONDS, lease.renew, time.monotonic, rng),
                Loop("canaries", TICK_SECONDS, canaries.tick, time.monotonic, rng),
                *((Loop("cache", FLUSH_SECONDS, cache_store.flush, time.monotonic, rng),) if cache_store else ()),
            )
            app.state.parts = Parts(
                settings,
                registry,
                evidence,
                HealthPage(),
                access,
                keys,
                Answers(
                    dispatcher,
                    flights,
                    _cache(settings, registry, cache_store, pivots if settings.pivot else None, metrics),
                    metrics,
                ),
                flights,
                # What is listed is no promise of the quickest way: a thread reads it.
                Pivots(settings.preferred_pivots, lambda _: 0.0) if settings.pivot else None,
                FleetControl(registry, discovery, EvidenceView(evidence, lambda: registry.snapshot), time.time),
                metrics,
                loops,
                bodies,
                draining,
                time.time(),
            )
            try:
                await lease.renew()
                await registry.recall()
                await access.warn(published=settings.published_without_keys)
                heap.freeze()
                log.info("proxy up", extra={"proxy": owner, "replicas": settings.replicas})
                async with canaries.closing(), running(*loops), flights.closing():
                    await registry.first_sweep(FIRST_SWEEP_SECONDS)
                    yield
            finally:
                await tracker.close()
                await lease.resign()
                await access.close()
                await keys.close()
                await store.close()
                if cache_store is not None:
                    await cache_store.close()

    app = FastAPI(
        title="Pairway",
        version=VERSION,
        lifespan=lifespan,
        root_path=settings.root_path,
        redirect_slashes=False,
        redoc_url=None,
    )
    app.state.draining = draining
    web.install(app, settings.cors_origins)
    app.add_middleware(HotPath, answer=api.translate)
    app.include_router(api.routes)
    if not settings.operator_port:
        for each in OPERATORS:
            app.include_router(each)
    return app


def create_operator_app(main: FastAPI) -> FastAPI:
    """Build the app of the operators' own port, which works with the main app's parts while its lifespan lasts."""
    app = FastAPI(title="Pairway for operators", version=VERSION, redirect_slashes=False, redoc_url=None)
    app.state = main.state
    web.install(app)
    for each in OPERATORS:
        app.include_router(each)
    return app


def _cache_store(settings: Settings) -> CacheStore | None:
    url = settings.cache_redis_url.get_secret_value()
    return CacheStore(url, settings.redis_prefix, time.time, time.monotonic) if url else None


def _cache(
    settings: Settings, registry: Registry, store: CacheStore | None, pivots: Pivots | None, metrics: ProxyMetrics
) -> TranslationCache | None:
    if not settings.cache_bytes:
        return None

    def snapshot() -> Snapshot:
        return registry.snapshot

    lru = Lru(settings.cache_bytes, time.time)
    revisions = Revisions(snapshot)
    return TranslationCache(lru, store, snapshot, pivots, revisions, metrics, settings.cache_seconds, time.time)
