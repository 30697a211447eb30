"""Composition root of the proxy: the only place where its parts meet."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from proxy.admission.controller import AdmissionController
from proxy.api import fleet, keys, translate
from proxy.api.fleet_view import LocalStatsView
from proxy.api.health_view import HealthPage
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.cache.coalescing import RequestCoalescer
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.model_versions import ModelVersions
from proxy.cache.redis_cache import FLUSH_SECONDS, RedisCache
from proxy.cache.translation_cache import TranslationCache
from proxy.context import ProxyContext
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery, Resolver, system_resolver
from proxy.fleet.leader_lease import RENEW_SECONDS, LeaderLease
from proxy.fleet.prober import FIRST_SWEEP_SECONDS, RETURN_SECONDS, Prober
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.fleet.store import FleetStore
from proxy.forwarding.canary_probes import TICK_SECONDS, CanaryProber
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.retry_budget import RetryBudget
from proxy.forwarding.retry_policy import RetryPolicy
from proxy.forwarding.upstream_request import UpstreamRequest
from proxy.keys.authenticator import Authenticator
from proxy.keys.cached_store import Clocks
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.routing.pivots import Pivots
from proxy.settings import ProxySettings, WithoutRedis
from proxy.translation.dispatcher import Dispatcher
from proxy.translation.language_groups import LanguageGrouper
from proxy.translation.pivot import PivotTranslator
from proxy.translation.service import TranslationService
from proxy.upstream.client import ReplicaClient
from shared.http.body_budget import ByteBudget
from shared.http.fast_path import FastPath
from shared.http.problems import install_http_habits
from shared.runtime import gc_tuning
from shared.runtime.background import Loop, running
from shared.version import VERSION

log = logging.getLogger(__name__)

# What is only for operators: on their own port where they have one.
OPERATORS = (fleet.routes, keys.routes)


def create_app(settings: ProxySettings, resolver: Resolver = system_resolver) -> FastAPI:
    """Build the app; it begins to sweep when its lifespan does, and to serve once the first sweep has ended or lasts too long."""
    draining = asyncio.Event()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        owner = f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        rng = random.Random()  # noqa: S311 - picks and jitter, not secrets
        metrics = ProxyMetrics()
        evidence = LocalStats(time.monotonic, rng)
        store = FleetStore(
            settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time
        )
        keys = KeyStore(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
        access = Authenticator(
            keys,
            metrics,
            Clocks(time.time, time.monotonic),
            on=settings.keys_on,
            goes_on=settings.keys_without_redis is WithoutRedis.OPEN,
            operator_token=settings.operator_token,
        )
        lease = LeaderLease(store, owner, settings.redis_timeout, time.monotonic)
        registry = Registry(
            store,
            lease,
            settings.replicas,
            report_ttl=settings.report_ttl,
            clock=time.time,
            on_snapshot=evidence.note_snapshot,
        )
        detector = await asyncio.to_thread(LanguageDetector)
        async with ReplicaClient.open(
            connect_timeout=settings.connect_timeout,
            probe_timeout=settings.probe_timeout,
            token=settings.replica_token,
        ) as client:
            forwarder = Forwarder(
                registry,
                UpstreamRequest(client, evidence, metrics),
                RetryPolicy(
                    ReplicaSelector(evidence, rng), evidence, RetryBudget(time.monotonic), settings.max_attempts
                ),
                metrics,
            )
            pivots = Pivots(settings.preferred_pivots, lambda pair: evidence.pool(pair).usual)
            dispatcher = Dispatcher(
                registry,
                PivotTranslator(forwarder),
                LanguageGrouper(detector, metrics),
                metrics,
                pivots if settings.pivot else None,
                AdmissionController(evidence, metrics, time.monotonic),
            )
            canaries = CanaryProber(registry, evidence, client, metrics, time.monotonic, rng)
            discovery = Discovery(resolver)
            tracker = Prober(registry, discovery, client, metrics, time.time)
            bodies = ByteBudget(settings.max_bodies_bytes)
            flights = RequestCoalescer(bodies, time.monotonic)
            cache_store = _cache_store(settings)
            loops = (
                Loop("tracker", settings.probe_interval, tracker.probe_all, time.monotonic, rng),
                Loop("returns", RETURN_SECONDS, tracker.probe_unhealthy, time.monotonic, rng),
                Loop("lease", RENEW_SECONDS, lease.renew, time.monotonic, rng),
                Loop("canaries", TICK_SECONDS, canaries.tick, time.monotonic, rng),
                *((Loop("cache", FLUSH_SECONDS, cache_store.flush, time.monotonic, rng),) if cache_store else ()),
            )
            app.state.parts = ProxyContext(
                settings,
                registry,
                evidence,
                HealthPage(),
                access,
                keys,
                TranslationService(
                    dispatcher,
                    flights,
                    _cache(settings, registry, cache_store, pivots if settings.pivot else None, metrics),
                    metrics,
                ),
                flights,
                # What is listed is no promise of the quickest way: a thread reads it.
                Pivots(settings.preferred_pivots, lambda _: 0.0) if settings.pivot else None,
                FleetAdmin(registry, discovery, LocalStatsView(evidence, lambda: registry.snapshot), time.time),
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
                gc_tuning.freeze_loaded_objects()
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
    install_http_habits(app, settings.cors_origins)
    app.add_middleware(FastPath, handler=translate.translate)
    app.include_router(translate.routes)
    if not settings.operator_port:
        for each in OPERATORS:
            app.include_router(each)
    return app


def create_operator_app(main: FastAPI) -> FastAPI:
    """Build the app of the operators' own port, which works with the main app's parts while its lifespan lasts."""
    app = FastAPI(title="Pairway for operators", version=VERSION, redirect_slashes=False, redoc_url=None)
    app.state = main.state
    install_http_habits(app)
    for each in OPERATORS:
        app.include_router(each)
    return app


def _cache_store(settings: ProxySettings) -> RedisCache | None:
    url = settings.cache_redis_url.get_secret_value()
    return RedisCache(url, settings.redis_prefix, time.time, time.monotonic) if url else None


def _cache(
    settings: ProxySettings, registry: Registry, store: RedisCache | None, pivots: Pivots | None, metrics: ProxyMetrics
) -> TranslationCache | None:
    if not settings.cache_bytes:
        return None

    def snapshot() -> Snapshot:
        return registry.snapshot

    lru = MemoryCache(settings.cache_bytes, time.time)
    revisions = ModelVersions(snapshot)
    return TranslationCache(lru, store, snapshot, pivots, revisions, metrics, settings.cache_seconds, time.time)
