"""The proxy's parts in groups, for its HTTP endpoints."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from proxy.admission.keyless_bodies import KeylessBodies
from proxy.admission.transient_faults import TransientFaultRetry
from proxy.balancing.local_stats import LocalStats
from proxy.cache.coalescing import RequestCoalescer
from proxy.fleet.admin import FleetAdmin
from proxy.fleet.expected_replicas import PairExpectations
from proxy.fleet.registry import Registry
from proxy.glossaries.store import GlossaryStore
from proxy.glossaries.term_finder import TermFinder
from proxy.keys.authenticator import Authenticator
from proxy.keys.store import KeyStore
from proxy.metrics import ProxyMetrics
from proxy.routing.language_lists import LanguageLists, Render
from proxy.settings import ProxySettings
from proxy.status.feed import StatusFeed
from proxy.status.monitor import StatusMonitor
from proxy.storage.lease import LeaderLease
from proxy.translation.detection import DetectionService
from proxy.translation.results import ResultTurns
from proxy.translation.service import TranslationService
from proxy.translation.target_list import TargetListTranslator
from shared.parsing.byte_budget import ByteBudget
from shared.parsing.long_bodies import LongBodies
from shared.runtime.background import Loop, StartupCheck
from shared.runtime.shared_rendering import SharedRendering


@dataclass(frozen=True, slots=True)
class KeysContext:
    """API keys: authentication of callers, and the stored keys.

    ``loops`` write what keys used.
    """

    authenticator: Authenticator
    store: KeyStore
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class FleetContext:
    """The fleet: its state, the leader lease, operators' commands, start check, loops."""

    registry: Registry
    lease: LeaderLease
    admin: FleetAdmin
    startup: StartupCheck
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class TranslationContext:
    """The pipeline of translation requests, and the lists of what it serves.

    ``languages_render``: that of the native API's list.
    """

    service: TranslationService
    target_lists: TargetListTranslator
    detection: DetectionService
    coalescer: RequestCoalescer
    fault_retry: TransientFaultRetry
    language_lists: LanguageLists
    languages_render: Render
    result_turns: ResultTurns
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class GlossariesContext:
    """Glossaries: the stored ones, and their terms for requests."""

    store: GlossaryStore
    term_finder: TermFinder


@dataclass(frozen=True, slots=True)
class StatusContext:
    """The status page's data: figures and events, expected replicas of pairs, rendering."""

    monitor: StatusMonitor
    expectations: PairExpectations
    feed: StatusFeed


@dataclass(frozen=True, slots=True)
class RenderingsContext:
    """Answers that show the fleet; ``health`` has its HTTP status too."""

    health: SharedRendering[tuple[int, bytes]]
    fleet: SharedRendering[bytes]
    metrics: SharedRendering[bytes]


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """Parts of the whole process; ``started_at`` is Unix seconds.

    ``keyless_bodies`` are those that are read before their sender has shown a key.
    """

    metrics: ProxyMetrics
    loops: tuple[Loop, ...]
    body_budget: ByteBudget
    keyless_bodies: KeylessBodies
    long_bodies: LongBodies
    draining: asyncio.Event
    started_at: float


@dataclass(frozen=True, slots=True)
class ProxyContext:
    """The app's parts, in ``app.state.context`` during its lifespan."""

    settings: ProxySettings
    keys: KeysContext
    glossaries: GlossariesContext
    fleet: FleetContext
    local_stats: LocalStats
    translation: TranslationContext
    status: StatusContext
    renderings: RenderingsContext
    process: ProcessContext


class OfApp(Protocol):
    """A request of any transport, with the app that serves it."""

    @property
    def app(self) -> Any:
        """The app, with its parts in its state."""


def context(request: OfApp) -> ProxyContext:
    """Return the parts of the app that serves the request."""
    return request.app.state.context
