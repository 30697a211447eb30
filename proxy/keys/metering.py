"""Metering: counts what each key uses, within its limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from proxy.keys.api_key import ApiKey
from proxy.keys.cached_store import CachedKeyStore
from proxy.keys.quota import UsageDelta, UsageResult, limit_headers
from proxy.keys.refusals import Refusals
from proxy.redis_client import StoreUnavailableError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Charge:
    """Characters charged to a key for one request; ``headers`` are those of its limits, for the answer."""

    key: ApiKey
    chars: int
    usage: UsageResult
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class KeyMeter:
    """Counts requests and characters of keys, and refuses what is over their limits.

    Mutable state: the refunds under way, at most one for each request.
    """

    def __init__(self, store: CachedKeyStore, refusals: Refusals) -> None:
        self._store = store
        self._refusals = refusals
        self._refunds: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for the refunds under way, as long as Redis may take."""
        await asyncio.gather(*self._refunds)

    async def count_request(self, key: ApiKey) -> Mapping[str, str]:
        """Count one request in a key's minute; return the headers of the key's limits.

        Raises:
            PairwayError: the key is over its limit or was revoked, or cannot be looked up now.
        """
        usage = await self._count(key, UsageDelta(requests=1))
        if not usage.granted:
            raise self._refusals.too_many_requests(key, usage)
        return limit_headers(key, usage)

    async def charge(self, key: ApiKey, chars: int) -> Charge:
        """Charge characters to a key's day.

        Raises:
            RateLimitedError: the day has not so many left.
            TooLargeError: no day has so many.
        """
        limit = key.chars_per_day
        if limit is not None and chars > limit:
            raise self._refusals.larger_than_a_day(chars, limit)
        usage = await self._count(key, UsageDelta(chars=chars))
        if not usage.fits_day:
            raise self._refusals.too_many_characters(key, chars, usage)
        return Charge(key, chars, usage, limit_headers(key, usage))

    async def refund(self, charge: Charge) -> None:
        """Give back what a request was charged, also when it is cancelled."""
        # The task outlives a cancelled request, for one call of Redis.
        task = asyncio.create_task(self._give_back(charge))
        self._refunds.add(task)
        task.add_done_callback(self._refunds.discard)
        await asyncio.shield(task)

    async def usage(self, key: ApiKey) -> UsageResult:
        """Return what a key has used."""
        return await self._count(key, UsageDelta())

    async def _count(self, key: ApiKey, delta: UsageDelta) -> UsageResult:
        """Count, or refuse.

        Raises:
            KeyRefusedError: the key was revoked a moment ago.
            KeysUnavailableError: Redis is away, and nobody is let in without.
        """
        try:
            usage = await self._store.count(key, delta)
        except StoreUnavailableError:
            raise self._refusals.unavailable() from None
        if usage is None:
            raise self._refusals.invalid_key(key.id)
        return usage

    async def _give_back(self, charge: Charge) -> None:
        try:
            await self._store.give_back(charge.key, charge.chars, charge.usage)
        except StoreUnavailableError:
            log.info("characters not given back", extra={"key": charge.key.id, "chars": charge.chars})
