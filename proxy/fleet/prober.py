"""Prober: requests every replica's report."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterable
from itertools import count
from typing import Final
from weakref import WeakValueDictionary

from proxy.fleet.discovery import Discovery
from proxy.fleet.registry import Registry
from proxy.fleet.replica import Replica, ReplicaState
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.response_classifier import BrokenAnswerError, SilentError, UnreachableError
from shared.protocol.report import ServedPairs

log = logging.getLogger(__name__)

# Missed probes until DOWN; a process that loads a model may miss one.
MISSES_UNREACHABLE: Final = 1
MISSES_SILENT: Final = 2
MAX_CONCURRENT_PROBES: Final = 256
# Starting 1,000 probes at once would delay requests by 0.1 s; bursts take 0.3 s.
BURST: Final = 32
BURST_SECONDS: Final = 0.01
# A sweep publishes after each round and ends after the last; either loop publishes later results.
ROUND_SECONDS: Final = 0.1
SWEEP_ROUNDS: Final = 5
# Longest wait of a starting proxy: a probe's default timeout (1 s), and as much for names and Redis.
FIRST_SWEEP_SECONDS: Final = 2.0
# So that a replica gets requests within a second of being READY.
UNHEALTHY_PROBE_SECONDS: Final = 0.5
# Our own probe overrides another proxy's report, which may be older, for this long.
OWN_PROBE_SECONDS: Final = 3 * UNHEALTHY_PROBE_SECONDS
# Per round, longest unprobed first.
MAX_UNHEALTHY_PROBES: Final = 64


class Prober:
    """Prober of the fleet; one probe in flight per replica."""

    def __init__(
        self,
        registry: Registry,
        discovery: Discovery,
        client: ReplicaClient,
        metrics: ProxyMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._discovery = discovery
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._logged_snapshot = registry.snapshot
        self._probing = asyncio.Semaphore(MAX_CONCURRENT_PROBES)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._results: dict[str, Replica] = {}
        # Weak: pairs disappear with the last report that holds them.
        self._pairs_by_version: WeakValueDictionary[str, ServedPairs] = WeakValueDictionary()

    async def probe_all(self) -> None:
        """Sweep the fleet: probe replicas that the leader does not report healthy.

        Its other entries do not count (docs/decisions/0012-operator-changes.md). The first sweep waits for all.
        """
        registry = self._registry
        with self._metrics.sweep_seconds.time():
            urls_by_name, _ = await asyncio.gather(
                self._discovery.expand(registry.fleet_urls()), registry.sync_changes()
            )
            registry.set_addresses(urls_by_name, self._discovery.unresolved)
            self._publish_results(())
            shared = {} if registry.is_leader else await registry.read_shared()
            healthy = {
                url: shared[url] for url in registry.probed_replicas if url in shared and self._trusts(shared[url])
            }
            if healthy:
                registry.update(healthy.values())
            probes = self._start_probes(url for url in registry.probed_replicas if url not in healthy)
            for _ in range(SWEEP_ROUNDS) if registry.swept.is_set() else count():
                if not probes:
                    break
                done, probes = await asyncio.wait(probes, timeout=ROUND_SECONDS)
                self._publish_results(done)
            await registry.publish()
        registry.note_sweep()
        self._log_changes()

    def _trusts(self, replica: Replica) -> bool:
        """Return whether another proxy's report overrides our last probe."""
        own = self._registry.probed_replicas[replica.url]
        seen = own.missed > 0 or own.report is not None
        return replica.is_healthy and (own.is_healthy or not seen or self._clock() - own.probed_at > OWN_PROBE_SECONDS)

    async def probe_unhealthy(self) -> None:
        """Probe unhealthy replicas; publish the results of one round."""
        self._publish_results(())
        unhealthy = [replica for replica in self._registry.probed_replicas.values() if not replica.is_healthy]
        oldest = heapq.nsmallest(MAX_UNHEALTHY_PROBES, unhealthy, key=lambda replica: replica.probed_at)
        if probes := self._start_probes(replica.url for replica in oldest):
            done, _ = await asyncio.wait(probes, timeout=ROUND_SECONDS)
            self._publish_results(done)

    async def close(self) -> None:
        """Cancel the probes in flight."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start_probes(self, urls: Iterable[str]) -> set[asyncio.Task[None]]:
        """Return a task per replica, started in order of missed probes."""
        probed = self._registry.probed_replicas
        ordered = sorted(urls, key=lambda url: probed[url].missed)
        for number, url in enumerate(url for url in ordered if url not in self._tasks):
            self._tasks[url] = asyncio.create_task(self._probe(url, number // BURST * BURST_SECONDS))
        return {self._tasks[url] for url in ordered}

    async def _probe(self, url: str, pause: float) -> None:
        try:
            if pause:
                await asyncio.sleep(pause)
            async with self._probing:
                self._results[url] = await self._request_report(url)
        finally:
            del self._tasks[url]

    async def _request_report(self, url: str) -> Replica:
        try:
            report = await self._client.report(url, self._last_state(url).report)
        except UnreachableError as error:
            return self._last_state(url).silent(str(error), self._clock(), max_misses=MISSES_UNREACHABLE)
        except (SilentError, BrokenAnswerError) as error:
            return self._last_state(url).silent(str(error), self._clock(), max_misses=MISSES_SILENT)
        # Copies of equal pairs (300 of each of 1,000 replicas) would take 200 MB.
        pairs = self._pairs_by_version.setdefault(report.pairs.version, report.pairs)
        if pairs is not report.pairs:
            report = report.model_copy(update={"pairs": pairs})
        return Replica.reported(url, report, self._clock())

    def _last_state(self, url: str) -> Replica:
        return self._registry.probed_replicas.get(url) or Replica.unseen(url, self._clock())

    def _publish_results(self, done: Iterable[asyncio.Task[None]]) -> None:
        results, self._results = self._results, {}
        if results:
            self._registry.update(results.values())
            self._log_changes()
        for task in done:
            task.result()  # raises errors of our own code

    def _log_changes(self) -> None:
        logged, self._logged_snapshot = self._logged_snapshot, self._registry.snapshot
        if logged.ready is self._logged_snapshot.ready:  # only newer reports of the same pairs
            return
        for pair in self._logged_snapshot.ready.keys() - logged.ready.keys():
            self._metrics.start_pair(str(pair))
        before, now = logged.replicas, self._logged_snapshot.replicas
        for replica in now.values():
            old = before.get(replica.url)
            if old is None or old.state is not replica.state or old.pairs != replica.pairs:
                level = logging.WARNING if replica.state is ReplicaState.DOWN else logging.INFO
                ready = [str(pair) for pair, is_ready in replica.pairs.items() if is_ready]
                fields = {"replica": replica.url, "state": replica.state, "why": replica.why, "ready": ready}
                log.log(level, "replica changed", extra=fields)
        for url in before.keys() - now.keys():
            log.info("replica left", extra={"replica": url})
            self._metrics.forget(url)
