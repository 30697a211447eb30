"""The fleet's health: shared through the store, and the last good Snapshot in memory, which is all a request reads."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from proxy.fleet import Replica, Snapshot
from proxy.store import REMEMBERED_SECONDS, StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from proxy.evidence import LocalEvidence
    from proxy.store import Store
    from shared.languages import LanguagePair

log = logging.getLogger(__name__)

# Bound on the pairs remembered: a fleet of 100 languages has 9,900; a broken replica must not fill memory.
MAX_REMEMBERED_PAIRS: Final = 20_000


class Registry:
    """Mutable state: the Snapshot (replaced whole), pairs remembered with Unix time last seen, Redis's state, the lease.

    Only the tracker changes it; with Redis gone it goes on with what this proxy knows by itself.
    """

    def __init__(
        self,
        store: Store,
        evidence: LocalEvidence,
        owner: str,
        *,
        report_ttl: float,
        lease_ttl: float,
        clock: Callable[[], float],
    ) -> None:
        """Take the store, this proxy's name, life times in seconds, and a clock of Unix seconds."""
        self._store = store
        self._evidence = evidence
        self._owner = owner
        self._report_ttl = report_ttl
        self._lease_ttl = lease_ttl
        self._clock = clock
        self._remembered: dict[LanguagePair, float] = {}
        self.snapshot = Snapshot.of((), ())
        self.redis_error: str | None = "not asked yet"
        self.leading = False
        self.swept = False

    async def lead(self) -> bool:
        """Say whether this proxy is the one to probe: it holds the lease, or Redis is away and each is on its own."""
        try:
            self.leading = await self._store.hold_lease(self._owner, self._lease_ttl)
        except StoreUnavailableError as error:
            self._redis_is_away(error)
            self.leading = False
            return True
        self._redis_answers()
        return self.leading

    async def shared(self) -> dict[str, Replica]:
        """Return what the leading proxy found, by URL; empty when Redis is away or holds nothing that is fresh."""
        try:
            replicas, pairs = await self._store.read()
        except StoreUnavailableError as error:
            self._redis_is_away(error)
            return {}
        self._redis_answers()
        self._remember(pairs)
        return {replica.url: replica for replica in replicas}

    def adopt(self, replicas: Iterable[Replica]) -> None:
        """Make these replicas the Snapshot; what is not among them has left the fleet, its pairs stay known."""
        fleet = tuple(replicas)
        now = self._clock()
        self._remember({pair: now for replica in fleet for pair in replica.pairs})
        horizon = now - REMEMBERED_SECONDS
        self._remembered = {pair: seen for pair, seen in self._remembered.items() if seen > horizon}
        self.snapshot = Snapshot.of(fleet, self._remembered)
        self._evidence.note_snapshot(self.snapshot)
        self.swept = True

    async def publish(self) -> None:
        """Write the Snapshot's replicas for the other proxies, unless Redis has just proved to be away."""
        if self.redis_error is not None:
            return
        try:
            await self._store.write(tuple(self.snapshot.replicas.values()), self._remembered, self._report_ttl)
        except StoreUnavailableError as error:
            self._redis_is_away(error)

    async def recall(self) -> None:
        """Learn from the store, once at start, which pairs were known: their replicas may be gone."""
        await self.shared()

    async def resign(self) -> None:
        """Give up the lease, so that another proxy takes over at its next sweep."""
        if self.leading:
            try:
                await self._store.release_lease(self._owner)
            except StoreUnavailableError as error:
                log.info("lease not given back, it will expire", extra={"error": str(error)})

    def _remember(self, pairs: Mapping[LanguagePair, float]) -> None:
        for pair, seen in pairs.items():
            if pair in self._remembered or len(self._remembered) < MAX_REMEMBERED_PAIRS:
                self._remembered[pair] = max(seen, self._remembered.get(pair, 0.0))

    def _redis_is_away(self, error: StoreUnavailableError) -> None:
        if self.redis_error is None or not self.swept:
            log.warning("redis away, going on alone", extra={"error": str(error)})
        self.redis_error = str(error)

    def _redis_answers(self) -> None:
        if self.redis_error is not None:
            log.info("redis answers", extra={"before": self.redis_error})
        self.redis_error = None
