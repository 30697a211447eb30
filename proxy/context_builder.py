"""Builder of the proxy's context: creates and connects all parts."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from proxy.admission.controller import AdmissionController
from proxy.admission.keyless_bodies import KeylessBodies
from proxy.admission.transient_faults import TransientFaultRetry
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import failing_counts
from proxy.balancing.selector import ReplicaSelector
from proxy.cache.coalescing import RequestCoalescer
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.redis_cache import FLUSH_SECONDS, RedisCache
from proxy.cache.translation_cache import ModelVersions, TranslationCache
from proxy.context import (
    FleetContext,
    GlossariesContext,
    KeysContext,
    ProcessContext,
    ProxyContext,
    RenderingsContext,
    StatusContext,
    TranslationContext,
)
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery, Resolver
from proxy.fleet.expected_replicas import PairExpectations
from proxy.fleet.prober import UNHEALTHY_PROBE_SECONDS, Prober
from proxy.fleet.registry import Registry
from proxy.fleet.replica import ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.fleet.store import FleetStore
from proxy.forwarding.canary_probes import CANARY_TICK_SECONDS, CanaryProber
from proxy.forwarding.forwarder import Forwarder
from proxy.forwarding.hedging import HedgingPolicy
from proxy.forwarding.retry_policy import RetryBudget, RetryPolicy
from proxy.glossaries.store import PURGE_SECONDS, GlossaryStore
from proxy.glossaries.term_finder import GlossaryCache, TermFinder
from proxy.keys.authenticator import Authenticator
from proxy.keys.store import KeyStore
from proxy.keys.usage_recorder import FLUSH_SECONDS as USAGE_SECONDS
from proxy.keys.usage_recorder import UsageRecorder
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.routing.language_lists import LanguageLists, RequestLimits, languages_render
from proxy.routing.pivots import PivotOrder
from proxy.routing.routes import RoutePlanner
from proxy.settings import ProxySettings
from proxy.status import monitor as status_monitor
from proxy.status.event_detector import EventDetector
from proxy.status.feed import StatusFeed
from proxy.status.figure_ring import FigureRing, Totals
from proxy.status.monitor import StatusMonitor
from proxy.status.summary_store import SummaryStore
from proxy.storage.lease import RENEW_SECONDS
from proxy.translation.detection import DetectionService, LanguageGrouper
from proxy.translation.dispatcher import Dispatcher
from proxy.translation.results import ResultTurns
from proxy.translation.service import TranslationService
from proxy.translation.target_list import MAX_TARGETS, TargetListTranslator
from proxy.upstream.client import ReplicaClient
from shared.languages import display_name
from shared.parsing.byte_budget import ByteBudget
from shared.parsing.long_bodies import LongBodies
from shared.runtime.background import Loop, StartupCheck
from shared.runtime.shared_rendering import SharedRendering
from shared.runtime.turns import LoopTurns


@dataclass(frozen=True, slots=True)
class Foundation:
    """Arguments of all builders; ``stack`` closes their resources in reverse order."""

    settings: ProxySettings
    stack: AsyncExitStack
    client: ReplicaClient
    local_stats: LocalStats
    metrics: ProxyMetrics
    rng: random.Random


async def build_context(
    settings: ProxySettings, owner: str, resolver: Resolver, draining: asyncio.Event, stack: AsyncExitStack
) -> ProxyContext:
    """Build every part of the proxy named ``owner``, without any request yet."""
    client = ReplicaClient.open(
        connect_timeout=settings.connect_timeout, probe_timeout=settings.probe_timeout, token=settings.replica_token
    )
    rng = random.Random()  # noqa: S311 - picks and jitter, not secrets
    foundation = Foundation(
        settings,
        stack,
        client=await stack.enter_async_context(client),
        local_stats=LocalStats(time.monotonic, rng),
        metrics=ProxyMetrics(settings.metric_keys),
        rng=rng,
    )
    detector = await asyncio.to_thread(LanguageDetector)
    if settings.compat:
        # Loads all names, 25 MiB: in the first list of languages that would stop the event loop for 0.1 s.
        await asyncio.to_thread(display_name, "en", "en")
    body_budget = ByteBudget(settings.max_bodies_bytes)
    keyless_bodies = KeylessBodies(settings.max_keyless_bytes, foundation.metrics)
    redis_cache = build_redis_cache(foundation)  # closed last: its Redis must not delay the release of the lease
    keys = build_keys(foundation, owner)
    turns = LoopTurns()
    long_bodies = LongBodies(turns)
    glossaries, purge = build_glossaries(foundation, turns)
    events, feed = EventDetector(owner, time.time), StatusFeed(time.monotonic)
    fleet = build_fleet(foundation, owner, resolver, partial(observe_snapshot, events, feed))
    status, status_loop = build_status(foundation, owner, fleet.registry, events, feed, draining)
    forwarder, canaries = await build_forwarding(foundation, fleet.registry)
    coalescer = RequestCoalescer(time.monotonic, draining.is_set, long_bodies)
    translation = build_translation(
        foundation, fleet.registry, forwarder, detector, coalescer, redis_cache, turns, long_bodies
    )
    lag = foundation.metrics.lag_loop(time.monotonic, rng)
    loops = (*fleet.loops, *keys.loops, canaries, purge, status_loop, lag, *translation.loops)
    foundation.metrics.watch_loops(lambda: loops)
    export_fleet(foundation.metrics, fleet.registry, foundation.local_stats)
    process = ProcessContext(
        foundation.metrics, loops, body_budget, keyless_bodies, long_bodies, draining, started_at=time.time()
    )
    renderings = RenderingsContext(
        health=SharedRendering("health", time.monotonic),
        fleet=SharedRendering("fleet", time.monotonic),
        metrics=SharedRendering("metrics", time.monotonic),
    )
    local_stats = foundation.local_stats
    return ProxyContext(settings, keys, glossaries, fleet, local_stats, translation, status, renderings, process)


def export_fleet(metrics: ProxyMetrics, registry: Registry, local_stats: LocalStats) -> None:
    """Let each export read the gauges from the fleet's state.

    That is in another thread, and for thousands of pairs too long for the event loop.
    """

    def replicas_by_state() -> dict[str, int]:
        states = [each.state for each in registry.snapshot.replicas.values()]
        return {str(state): states.count(state) for state in ReplicaState}

    metrics.replicas.set_function(replicas_by_state)
    metrics.pair_ready.set_function(lambda: {str(pair): len(urls) for pair, urls in registry.snapshot.ready.items()})
    metrics.pair_failing.set_function(
        lambda: {str(pair): count for pair, count in failing_counts(local_stats, registry.snapshot).items()}
    )
    metrics.expected_replicas.set_function(lambda: {each.service: each.expected or 0 for each in registry.services})
    metrics.ready_replicas.set_function(lambda: {each.service: each.ready for each in registry.services})
    metrics.redis_up.set_function(lambda: registry.redis_error is None)
    metrics.leader.set_function(lambda: registry.is_leader)


def build_keys(foundation: Foundation, owner: str) -> KeysContext:
    """Build the authentication of callers, and the loop that writes their usage."""
    settings, stack = foundation.settings, foundation.stack
    store = KeyStore(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
    stack.push_async_callback(store.close)
    recorder = UsageRecorder(store.usage, owner, store.clock, time.monotonic)
    stack.push_async_callback(recorder.close)
    authenticator = Authenticator(
        store,
        foundation.metrics,
        recorder,
        time.monotonic,
        on=settings.keys_on,
        serves_without_redis=settings.keys_without_redis == "open",
        operator_token=settings.operator_token,
        observer_token=settings.observer_token,
    )
    stack.push_async_callback(authenticator.meter.close)
    loop = Loop("usage", USAGE_SECONDS, recorder.flush, time.monotonic, foundation.rng)
    return KeysContext(authenticator, store, (loop,) if settings.keys_on else ())


def build_glossaries(foundation: Foundation, turns: LoopTurns) -> tuple[GlossariesContext, Loop]:
    """Build the glossaries, and the loop that purges them."""
    settings = foundation.settings
    url = settings.redis_url.get_secret_value()
    store = GlossaryStore(url, settings.redis_prefix, settings.redis_timeout, time.time)
    foundation.stack.push_async_callback(store.close)
    term_finder = TermFinder(GlossaryCache(store, time.monotonic), turns, store.thread)
    loop = Loop("glossaries", PURGE_SECONDS, store.tick, time.monotonic, foundation.rng)
    return GlossariesContext(store, term_finder), loop


def build_fleet(
    foundation: Foundation, owner: str, resolver: Resolver, observe: Callable[[Snapshot], None]
) -> FleetContext:
    """Build the registry, its lease and admin, and their loops.

    ``observe`` gets every snapshot.
    """
    settings, stack, rng = foundation.settings, foundation.stack, foundation.rng
    store = FleetStore(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout, time.time)
    stack.push_async_callback(store.close)
    lease = store.lease(owner, settings.redis_timeout, time.monotonic)
    stack.push_async_callback(lease.resign)
    startup = StartupCheck()

    def apply_snapshot(snapshot: Snapshot) -> None:
        foundation.local_stats.apply_snapshot(snapshot)
        observe(snapshot)
        if not startup.complete:
            startup.observe({str(pair): bool(snapshot.ready[pair]) for pair, count in snapshot.total.items() if count})

    registry = Registry(
        store,
        lease,
        settings.replicas,
        report_ttl=settings.report_ttl,
        clock=time.time,
        on_snapshot=apply_snapshot,
    )
    discovery = Discovery(resolver)
    prober = Prober(registry, discovery, foundation.client, foundation.metrics, time.time)
    stack.push_async_callback(prober.close)
    loops = (
        Loop("prober", settings.probe_interval, prober.probe_all, time.monotonic, rng),
        Loop("unhealthy", UNHEALTHY_PROBE_SECONDS, prober.probe_unhealthy, time.monotonic, rng),
        Loop("lease", RENEW_SECONDS, lease.renew, time.monotonic, rng),
    )
    return FleetContext(registry, lease, FleetAdmin(registry, discovery), startup, loops)


def observe_snapshot(events: EventDetector, feed: StatusFeed, snapshot: Snapshot) -> None:
    """Detect events; show them at once."""
    version = events.version
    events.observe_snapshot(snapshot)
    if events.version != version:
        feed.wake()


def build_status(
    foundation: Foundation,
    owner: str,
    registry: Registry,
    detector: EventDetector,
    feed: StatusFeed,
    draining: asyncio.Event,
) -> tuple[StatusContext, Loop]:
    """Build the status page's data, and its loop."""
    settings, metrics = foundation.settings, foundation.metrics
    store = SummaryStore(settings.redis_url.get_secret_value(), settings.redis_prefix, settings.redis_timeout)
    foundation.stack.push_async_callback(store.close)
    ring = FigureRing(lambda: Totals.of(metrics.requests, metrics.seconds), time.time())
    monitor = StatusMonitor(
        owner,
        store,
        registry,
        foundation.local_stats,
        ring,
        detector,
        feed,
        is_draining=draining.is_set,
        sweep_seconds=settings.probe_interval,
        clock=time.time,
    )
    metrics.issue.set_function(monitor.codes)
    expectations = PairExpectations(lambda url: registry.expected.service_of(registry.names.get(url, ())))
    loop = Loop("status", status_monitor.TICK_SECONDS, monitor.tick, time.monotonic, foundation.rng)
    return StatusContext(monitor, expectations, feed), loop


async def build_forwarding(foundation: Foundation, registry: Registry) -> tuple[Forwarder, Loop]:
    """Build the forwarder, and the loop of canary probes."""
    settings, rng = foundation.settings, foundation.rng
    client, local_stats, metrics = foundation.client, foundation.local_stats, foundation.metrics
    selector, retry_budget = ReplicaSelector(local_stats, rng), RetryBudget(time.monotonic)
    retry_policy = RetryPolicy(selector, local_stats, retry_budget, settings.max_attempts)
    hedging_policy = HedgingPolicy(selector, local_stats, retry_budget, settings.max_attempts)
    forwarder = Forwarder(registry, client, local_stats, metrics, retry_policy, hedging_policy)
    canaries = CanaryProber(registry, local_stats, client, metrics, time.monotonic, rng)
    await foundation.stack.enter_async_context(canaries.closing())
    return forwarder, Loop("canaries", CANARY_TICK_SECONDS, canaries.tick, time.monotonic, rng)


def build_translation(
    foundation: Foundation,
    registry: Registry,
    forwarder: Forwarder,
    detector: LanguageDetector,
    coalescer: RequestCoalescer,
    redis_cache: RedisCache | None,
    turns: LoopTurns,
    long_bodies: LongBodies,
) -> TranslationContext:
    """Build the pipeline of translation requests."""
    settings, local_stats, metrics = foundation.settings, foundation.local_stats, foundation.metrics
    pivots = None
    if settings.pivot:
        pivots = PivotOrder(settings.preferred_pivots, lambda pair: local_stats.pair_stats(pair).typical_seconds)
    planner, detection = RoutePlanner(pivots), DetectionService(detector, turns, long_bodies)
    grouper = LanguageGrouper(detector, detection, metrics)
    admission = AdmissionController(local_stats, metrics, time.monotonic, foundation.rng)
    result_turns = ResultTurns(turns)
    dispatcher = Dispatcher(registry, planner, forwarder, grouper, metrics, admission, turns, result_turns)
    cache = build_cache(foundation, registry, redis_cache, turns, long_bodies)
    service = TranslationService(dispatcher, coalescer, cache, metrics, result_turns)
    target_lists = TargetListTranslator(registry, service, dispatcher, grouper, admission, result_turns, turns)
    loops: tuple[Loop, ...] = ()
    if redis_cache is not None:
        loops = (Loop("cache", FLUSH_SECONDS, redis_cache.flush, time.monotonic, foundation.rng),)
    fault_retry = TransientFaultRetry(metrics, time.monotonic, foundation.rng)
    limits = RequestLimits(
        texts=settings.max_texts,
        characters=settings.max_text_chars,
        bytes=settings.max_body_bytes,
        targets=MAX_TARGETS,
    )
    return TranslationContext(
        service,
        target_lists,
        detection,
        coalescer,
        fault_retry,
        LanguageLists(pivots),
        languages_render(limits),
        result_turns,
        loops,
    )


def build_redis_cache(foundation: Foundation) -> RedisCache | None:
    """Build the cache's second tier, if configured."""
    settings = foundation.settings
    url = settings.cache_redis_url.get_secret_value()
    if not url:
        return None
    store = RedisCache(url, settings.redis_prefix, time.time, time.monotonic)
    foundation.stack.push_async_callback(store.close)
    return store


def build_cache(
    foundation: Foundation, registry: Registry, store: RedisCache | None, turns: LoopTurns, long_bodies: LongBodies
) -> TranslationCache | None:
    """Build the cache of translations, if configured."""
    settings, metrics = foundation.settings, foundation.metrics
    if not settings.cache_bytes:
        return None
    memory, versions = MemoryCache(settings.cache_bytes, time.time), ModelVersions(lambda: registry.snapshot)
    return TranslationCache(memory, store, versions, metrics, settings.cache_seconds, time.time, turns, long_bodies)
