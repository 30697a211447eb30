"""Leader lease: one proxy probes the fleet for all proxies."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from proxy.storage.connection import RedisConnection, StoreUnavailableError
from proxy.storage.scripts import hold_lease
from shared.runtime.background import PERIOD_JITTER

log = logging.getLogger(__name__)

# Between renewals, and between tries of other proxies to take it.
RENEW_SECONDS: Final = 0.5
# Within the lease's life: one may fail because Redis is slow.
RENEWALS: Final = 2
NOT_ASKED: Final = "not asked yet"


class LeaderLease:
    """Our lease, which ends before Redis' copy: two proxies never lead.

    A killed holder is replaced within 2.4 s (docs/decisions/0012-operator-changes.md). ``clock`` is monotonic.
    """

    def __init__(
        self, redis: RedisConnection, name: str, owner: str, redis_timeout: float, clock: Callable[[], float]
    ) -> None:
        self._redis = redis
        self._name = name
        self._owner = owner
        self._clock = clock
        self._until = 0.0
        self.ttl = RENEWALS * (RENEW_SECONDS * (1 + PERIOD_JITTER) + redis_timeout)
        self.error: str | None = NOT_ASKED

    @property
    def is_ours(self) -> bool:
        """Whether this proxy holds the lease."""
        return self._clock() < self._until

    async def renew(self) -> None:
        """Take or renew the lease; without Redis, ours ends after ``ttl``."""
        started = self._clock()
        try:
            is_ours = bool(await hold_lease(self._redis, self._name, self._owner, int(self.ttl * 1000)))
        except StoreUnavailableError as error:
            if self.error in {None, NOT_ASKED}:
                log.warning("redis away, continuing alone", extra={"error": str(error)})
            self.error = str(error)
            return
        if self.error is not None:
            log.info("redis answers", extra={"before": self.error})
        self.error = None
        was_ours = self.is_ours
        self._until = started + self.ttl if is_ours else 0.0
        if was_ours is not is_ours:
            log.info("leader lease taken" if is_ours else "leader lease lost")

    async def resign(self) -> None:
        """Release the lease; no proxy waits for its expiry."""
        if not self.is_ours:
            return
        self._until = 0.0
        try:
            await hold_lease(self._redis, self._name, self._owner, 0)
        except StoreUnavailableError as error:
            log.info("leader lease not released, it will expire", extra={"error": str(error)})
