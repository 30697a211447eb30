"""The prober lease: one proxy at a time probes the fleet for all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from proxy.fleet.store import FleetStore
from proxy.redis_client import StoreUnavailableError
from shared.runtime.background import PERIOD_JITTER

log = logging.getLogger(__name__)

# The holder renews, and the others try to take it, this often.
RENEW_SECONDS: Final = 0.5
# A holder may lose one renewal to a slow Redis and still be in time with the next.
RENEWALS: Final = 2
NOT_ASKED: Final = "not asked yet"


class LeaderLease:
    """Mutable state: until when it is ours, by our monotonic ``clock``, and why Redis did not answer the last time.

    A holder that is killed is followed within ``ttl`` (1.6 s by default), a try of another and its call: 2.4 s. Our
    own time begins before the call, Redis's when it is asked; ours ends first, so no two ever hold the lease.
    """

    def __init__(self, store: FleetStore, owner: str, redis_timeout: float, clock: Callable[[], float]) -> None:
        self._store = store
        self._owner = owner
        self._clock = clock
        self._until = 0.0
        self.ttl = RENEWALS * (RENEW_SECONDS * (1 + PERIOD_JITTER) + redis_timeout)
        self.error: str | None = NOT_ASKED

    @property
    def is_ours(self) -> bool:
        """Whether this proxy is the one to probe and to publish."""
        return self._clock() < self._until

    async def renew(self) -> None:
        """Take or renew it; while Redis is away, it stays ours only as long as Redis would have kept it."""
        started = self._clock()
        try:
            is_ours = await self._store.hold_lease(self._owner, self.ttl)
        except StoreUnavailableError as error:
            if self.error in {None, NOT_ASKED}:
                log.warning("redis away, going on alone", extra={"error": str(error)})
            self.error = str(error)
            return
        if self.error is not None:
            log.info("redis answers", extra={"before": self.error})
        self.error = None
        was_ours = self.is_ours
        self._until = started + self.ttl if is_ours else 0.0
        if was_ours is not is_ours:
            log.info("prober lease taken" if is_ours else "prober lease lost")

    async def resign(self) -> None:
        """Give it back, so that another proxy need not wait for its end."""
        if not self.is_ours:
            return
        self._until = 0.0
        try:
            await self._store.release_lease(self._owner)
        except StoreUnavailableError as error:
            log.info("lease not given back, it will expire", extra={"error": str(error)})
