"""HealthTracker: keeps the registry true: asks every replica how it is and writes down the answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from proxy.client import BrokenAnswerError, SilentError, UnreachableError
from proxy.fleet import Replica, ReplicaState

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.client import ReplicaClient
    from proxy.discovery import Discovery
    from proxy.registry import Registry
    from shared.telemetry import ProxyMetrics

log = logging.getLogger(__name__)

# A refused connection is a fact: the kernel answers it however busy the process is. Silence is not: a process that
# loads a model can miss a probe, so it takes two in a row.
PATIENCE_UNREACHABLE: Final = 1
PATIENCE_SILENT: Final = 2
# Probes under way at once; a fleet of 1,000 is swept in a few rounds.
MAX_CONCURRENT_PROBES: Final = 256


class HealthTracker:
    """One sweep at a time; mutable state is the registry's, and which pairs have a metric."""

    def __init__(
        self,
        registry: Registry,
        discovery: Discovery,
        client: ReplicaClient,
        metrics: ProxyMetrics,
        clock: Callable[[], float],
    ) -> None:
        """Take the parts; ``clock`` gives Unix seconds."""
        self._registry = registry
        self._discovery = discovery
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._counted: set[str] = set()
        self._probing = asyncio.Semaphore(MAX_CONCURRENT_PROBES)

    async def sweep(self) -> None:
        """Bring the Snapshot up to date: probe the fleet, or take what the leading proxy found.

        A replica of which the shared registry knows nothing fresh is probed here, whoever leads: Redis that comes back
        empty, or a leader that hangs, blinds nobody.
        """
        with self._metrics.sweep_seconds.time():
            urls, leading = await asyncio.gather(self._discovery.urls(), self._registry.lead())
            shared = {} if leading else await self._registry.shared()
            before = self._registry.snapshot.replicas
            replicas = await asyncio.gather(
                *(self._known(shared[url]) if url in shared else self._probe(url, before.get(url)) for url in urls)
            )
            self._note_changes(replicas)
            self._registry.adopt(replicas)
            if leading:
                await self._registry.publish()
        self._count()

    @staticmethod
    async def _known(replica: Replica) -> Replica:
        return replica

    async def _probe(self, url: str, before: Replica | None) -> Replica:
        known = before or Replica(url=url, state=ReplicaState.STARTING, why="not probed yet", probed_at=self._clock())
        try:
            async with self._probing:
                report = await self._client.report(url)
        except UnreachableError as error:
            return known.silent(str(error), self._clock(), patience=PATIENCE_UNREACHABLE)
        except (SilentError, BrokenAnswerError) as error:
            return known.silent(str(error), self._clock(), patience=PATIENCE_SILENT)
        return Replica.reported(url, report, self._clock())

    def _note_changes(self, replicas: list[Replica]) -> None:
        before = self._registry.snapshot.replicas
        for replica in replicas:
            old = before.get(replica.url)
            if old is None or old.state is not replica.state or old.pairs != replica.pairs:
                level = logging.WARNING if replica.state is ReplicaState.DOWN else logging.INFO
                ready = [str(pair) for pair, is_ready in replica.pairs.items() if is_ready]
                fields = {"replica": replica.url, "state": replica.state, "why": replica.why, "ready": ready}
                log.log(level, "replica changed", extra=fields)
        for url in before.keys() - {replica.url for replica in replicas}:
            log.info("replica left", extra={"replica": url})
            self._metrics.attempts.remove_by_labels({"replica": url})  # addresses of containers come and go

    def _count(self) -> None:
        snapshot = self._registry.snapshot
        for state in ReplicaState:
            count = sum(replica.state is state for replica in snapshot.replicas.values())
            self._metrics.replicas.labels(state).set(count)
        ready = {str(pair): len(urls) for pair, urls in snapshot.ready.items()}
        for pair, count in ready.items():
            self._metrics.pair_ready.labels(pair).set(count)
        for pair in self._counted - ready.keys():  # forgotten: a series left at 0 would alert for ever
            self._metrics.pair_ready.remove(pair)
        self._counted = set(ready)
        self._metrics.redis_up.set(self._registry.redis_error is None)
        self._metrics.leader.set(self._registry.leading)
