"""Registry: the proxy's replicas, shared through Redis."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from proxy.fleet.expected_replicas import Expectation, ExpectedReplicas, ServiceReplicas
from proxy.fleet.overrides import Override, OverrideKind, Overrides
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.fleet.store import REMEMBERED_SECONDS, FleetStore
from proxy.storage.connection import StoreUnavailableError
from proxy.storage.latest_copy import D, LatestCopy
from proxy.storage.lease import LeaderLease
from proxy.storage.records import LatestRecords
from shared.languages import LanguagePair

log = logging.getLogger(__name__)

# A fleet of 100 languages has 9,900; a broken replica must not fill memory.
MAX_REMEMBERED_PAIRS: Final = 20_000


class Registry:
    """The fleet's state, changed on the event loop only.

    ``snapshot`` is replaced whole. ``report_ttl``: a shared report's life in seconds; ``clock`` returns Unix seconds.
    ``swept`` is set after the first sweep; ``swept_at`` is the time of the last, before it that of the start.
    """

    def __init__(
        self,
        store: FleetStore,
        lease: LeaderLease,
        configured: Sequence[str],
        *,
        report_ttl: float,
        clock: Callable[[], float],
        on_snapshot: Callable[[Snapshot], None],
    ) -> None:
        self._store = store
        self._lease = lease
        self._report_ttl = report_ttl
        self._clock = clock
        self._on_snapshot = on_snapshot
        self._remembered: dict[LanguagePair, float] = {}
        self._snapshot_pairs: frozenset[LanguagePair] = frozenset()
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._errors: dict[str, str] = {}
        self._ready: dict[str, int] = {}
        self.configured = tuple(configured)
        self.overrides = Overrides(clock)
        self.expected = ExpectedReplicas(configured, clock)
        self.names: dict[str, tuple[str, ...]] = {}
        self.probed_replicas: dict[str, Replica] = {}
        self.snapshot = Snapshot.of((), ())
        self.swept = asyncio.Event()
        self.swept_at = clock()

    @property
    def redis_error(self) -> str | None:
        """Error of the last call to Redis; any thread may ask."""
        return self._lease.error or next(iter(tuple(self._errors.values())), None)

    @property
    def is_leader(self) -> bool:
        """Whether this proxy probes for all proxies."""
        return self._lease.is_ours

    @property
    def redis_is_away(self) -> bool:
        """Whether Redis is away: each proxy probes for itself."""
        return self._lease.error is not None

    def fleet_urls(self) -> list[str]:
        """Return the fleet's URLs, names not expanded."""
        return self.overrides.fleet_urls(self.configured)

    @property
    def services(self) -> list[ServiceReplicas]:
        """Ready and expected replicas of each service."""
        return self.expected.compare(self._ready)

    def set_addresses(self, urls_by_name: Mapping[str, Sequence[str]], unresolved: Collection[str] = ()) -> None:
        """Set names' addresses; replicas without a name leave the fleet.

        An ``unresolved`` name whose replicas operators retired keeps only ready addresses.
        """
        before = self._addresses
        absent = {name for name in unresolved if self.expected.is_retired(name)}
        self._addresses = before | {
            name: tuple(url for url in urls if name not in absent or self._is_ready(url))
            for name, urls in urls_by_name.items()
        }
        if self._addresses != before:
            self._rebuild()

    def update(self, replicas: Iterable[Replica]) -> None:
        """Update replicas; ignore those that have left the fleet."""
        self.probed_replicas |= {replica.url: replica for replica in replicas if replica.url in self.probed_replicas}
        self._rebuild()

    def override(
        self, url: str, verdict: OverrideKind, *, added: bool, weight: float | None, new_verdict: bool
    ) -> Override:
        """Apply an override here at once, or raise FleetFullError."""
        override = self.overrides.change(url, verdict, added=added, weight=weight, new_verdict=new_verdict)
        self._rebuild()
        return override

    async def share_override(self, override: Override) -> bool:
        """Write an override for other proxies; return False if later sweeps must."""
        return await self._share("overrides", self._store.overrides, [override])

    def expect(self, counts: Mapping[str, int | None]) -> list[Expectation]:
        """State services' numbers here at once; raise InvalidRequestError if wrong."""
        expectations = self.expected.state(counts)
        self._rebuild()
        return expectations

    async def share_expected(self, expectations: Iterable[Expectation]) -> bool:
        """Write expectations for other proxies; return False if later sweeps must."""
        return await self._share("expected", self._store.expected, expectations)

    async def sync_changes(self) -> None:
        """Merge operators' changes with Redis, in both directions."""
        await asyncio.gather(
            self._sync("overrides", self._store.overrides, self.overrides),
            self._sync("expected", self._store.expected, self.expected),
        )

    async def _share(self, subject: str, stored: LatestRecords[D], records: Iterable[D]) -> bool:
        if self.redis_is_away:
            return False
        with self._noting_errors(subject):
            await stored.write(records)
        return subject not in self._errors

    async def _sync(self, subject: str, stored: LatestRecords[D], copy: LatestCopy[D]) -> None:
        if self.redis_is_away:
            return
        with self._noting_errors(subject):
            await stored.sync(copy, self._rebuild, renew=self.is_leader)

    async def read_shared(self) -> dict[str, Replica]:
        """Return the leader's replicas by URL; empty without Redis."""
        if self.redis_is_away:
            return {}
        replicas: list[Replica] = []
        with self._noting_errors("records"):
            replicas, pairs = await self._store.read()
            self._remember(pairs)
        return {replica.url: replica for replica in replicas}

    def note_sweep(self) -> None:
        """Note that a sweep has ended."""
        self.swept_at = self._clock()
        self.swept.set()

    async def publish(self) -> None:
        """Write probed replicas for other proxies, as leader."""
        if not self.is_leader or self.redis_is_away:
            return
        with self._noting_errors("records"):
            await self._store.write(tuple(self.probed_replicas.values()), self._remembered, self._report_ttl)

    async def restore(self) -> None:
        """Read pairs, overrides and expectations from Redis, at start."""
        await self.read_shared()
        await self.sync_changes()

    def _rebuild(self) -> None:
        """Build the snapshot; pairs of replicas that left stay known."""
        now = self._clock()
        fleet_urls = self.fleet_urls()
        self._addresses = {name: self._addresses[name] for name in fleet_urls if name in self._addresses}
        names_by_url: dict[str, list[str]] = {}
        for name, urls in self._addresses.items():
            for url in urls:
                names_by_url.setdefault(url, []).append(name)
        kinds = {url: self.overrides.kind(url, names) for url, names in names_by_url.items()}
        self.names = {
            url: tuple(names) for url, names in names_by_url.items() if kinds[url] is not OverrideKind.REMOVED
        }
        self.probed_replicas = {url: self.probed_replicas.get(url) or Replica.unseen(url, now) for url in self.names}
        replicas = {
            url: replica.with_override(
                drained=kinds[url] is OverrideKind.DRAINED, weight=self.overrides.weight(url, self.names[url])
            )
            for url, replica in self.probed_replicas.items()
        }
        horizon = now - REMEMBERED_SECONDS
        self._remembered = {pair: seen for pair, seen in self._remembered.items() if seen > horizon}
        self._ready = self.expected.ready(self._addresses, replicas)
        known_pairs = self._known_pairs(replicas)
        if known_pairs == self._snapshot_pairs and _serve_alike(self.snapshot.replicas, replicas):
            # The usual case; building indexes of 1,000 replicas blocks the event loop.
            self.snapshot = replace(self.snapshot, replicas=MappingProxyType(replicas))
        else:
            self.snapshot = Snapshot.of(replicas.values(), known_pairs)
        self._remember({pair: now for pair, count in self.snapshot.total.items() if count})
        self._snapshot_pairs = self._known_pairs(replicas)
        self._on_snapshot(self.snapshot)

    def _is_ready(self, url: str) -> bool:
        return url in self.probed_replicas and self.probed_replicas[url].state is ReplicaState.READY

    def _known_pairs(self, replicas: Mapping[str, Replica]) -> frozenset[LanguagePair]:
        """Return remembered pairs; none if those without replicas are retired."""
        if self.expected.explains(self._ready) and all(each.report is not None for each in replicas.values()):
            return frozenset()
        return frozenset(self._remembered)

    def _remember(self, pairs: Mapping[LanguagePair, float]) -> None:
        for pair, seen in pairs.items():
            if pair in self._remembered or len(self._remembered) < MAX_REMEMBERED_PAIRS:
                self._remembered[pair] = max(seen, self._remembered.get(pair, 0.0))

    @contextmanager
    def _noting_errors(self, subject: str) -> Generator[None]:
        try:
            yield
        except StoreUnavailableError as error:
            if subject not in self._errors:
                log.warning("redis failed, continuing alone", extra={"with": subject, "error": str(error)})
            self._errors[subject] = str(error)
        else:
            self._errors.pop(subject, None)


def _serve_alike(before: Mapping[str, Replica], now: Mapping[str, Replica]) -> bool:
    """Return whether replicas, states, pairs and model revisions are equal."""

    def served(replica: Replica) -> object:
        report = replica.report
        return replica.state, report and (report.pairs, [(name, each.revision) for name, each in report.models.items()])

    return list(before) == list(now) and all(
        old is new or served(old) == served(new) for old, new in zip(before.values(), now.values(), strict=True)
    )
