"""The proxy's parts, as its HTTP endpoints reach them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from proxy.api.health_view import HealthPage
from proxy.balancing.local_stats import LocalStats
from proxy.cache.coalescing import RequestCoalescer
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.registry import Registry
from proxy.keys.authenticator import Authenticator
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from proxy.routing.pivots import Pivots
from proxy.settings import ProxySettings
from proxy.translation.service import TranslationService
from shared.http.body_budget import ByteBudget
from shared.runtime.background import Loop


@dataclass(frozen=True, slots=True)
class ProxyContext:
    """The app's parts, on ``app.state.parts`` while its lifespan lasts."""

    settings: ProxySettings
    registry: Registry
    evidence: LocalStats
    page: HealthPage
    access: Authenticator
    keys: KeyStore
    answers: TranslationService
    flights: RequestCoalescer
    listed_pivots: Pivots | None
    control: FleetAdmin
    metrics: ProxyMetrics
    loops: tuple[Loop, ...]
    bodies: ByteBudget
    draining: asyncio.Event
    started_at: float
