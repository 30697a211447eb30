"""Registries of several proxies over one Redis."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

from proxy.balancing.local_stats import LocalStats
from proxy.fleet.overrides import OverrideKind
from proxy.fleet.registry import Registry
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.store import FleetStore
from proxy.storage.lease import LeaderLease
from tests.conftest import PREFIX

TIMEOUT = 0.25
PATIENT = 5.0  # a Redis that pauses is not away
A, B = "http://a:1", "http://b:1"


@dataclass(slots=True)
class ProxyParts:
    """What of one proxy knows Redis."""

    store: FleetStore
    lease: LeaderLease
    registry: Registry

    def adopt(self, *replicas: Replica) -> None:
        """Make these the fleet."""
        self.registry.set_addresses({each.url: (each.url,) for each in replicas})
        self.registry.update(replicas)

    def drain(self, url: str) -> None:
        self.registry.override(url, OverrideKind.DRAINED, added=False, weight=None, new_verdict=True)

    def state(self, url: str) -> ReplicaState:
        return self.registry.snapshot.replicas[url].state


@asynccontextmanager
async def proxy_at(
    url: str,
    owner: str = "me",
    clock: Callable[[], float] = time.time,
    monotonic: Callable[[], float] = time.monotonic,
    configured: Sequence[str] = (A, B),
    patience: float = PATIENT,
) -> AsyncGenerator[ProxyParts]:
    store = FleetStore(url, PREFIX, patience, clock)
    try:
        lease = store.lease(owner, TIMEOUT, monotonic)
        await lease.renew()
        local_stats = LocalStats(time.monotonic, Random(1))  # noqa: S311 - picks, not secrets
        yield ProxyParts(
            store,
            lease,
            Registry(store, lease, configured, report_ttl=60, clock=clock, on_snapshot=local_stats.apply_snapshot),
        )
    finally:
        await store.close()
