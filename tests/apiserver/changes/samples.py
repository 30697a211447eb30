"""Hosts and catalogs of the tests of reloads."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

from apiserver.catalog.loader import Catalog
from apiserver.catalog.model_entry import ModelEntry
from apiserver.changes.plan import CatalogComparison, compare
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.model_host import HostServices, HostSettings, ModelHost
from apiserver.hosting.server_hosts import HostBuilder
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import QueueBounds
from tests.support.scripted_engine import ScriptedFactory


def entry_of(name: str = "m", *pairs: str, engine: dict[str, Any] | None = None, path: str = "o/m") -> ModelEntry:
    return ModelEntry.model_validate(
        {
            "name": name,
            "path": path,
            "pairs": pairs or ("en-de", "de-en"),
            "prompt": "demo-tags",
            "engine": engine or {},
        }
    )


def builder_of(factory: ScriptedFactory, metrics: ApiServerMetrics) -> HostBuilder:
    settings = HostSettings(10.0, restart_backoff=0.2, stall_seconds=60.0, queue=QueueBounds(1.0, 300))
    guards = QualityGuard(OutputLanguage())
    services = HostServices(factory, metrics, guards, asyncio.Lock(), time.monotonic, random.Random(1))  # noqa: S311 - jitter, no secret
    return HostBuilder(settings, services, factory)


def host_of(entry: ModelEntry, rank: int = 0, metrics: ApiServerMetrics | None = None) -> ModelHost:
    builder = builder_of(ScriptedFactory(), metrics or ApiServerMetrics())
    return builder.host(entry, dict.fromkeys(entry.all_pairs, rank))


def compared(hosts: list[ModelHost], *entries: ModelEntry) -> CatalogComparison:
    """Return how a catalog of these entries differs from the hosts."""
    return compare(Catalog(entries, entries), hosts, {})
