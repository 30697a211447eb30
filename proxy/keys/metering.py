"""Metering: counts what each key uses, within its limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Self

from proxy.keys.api_key import ApiKey
from proxy.keys.cached_store import CachedKeyStore
from proxy.keys.quota import UsageDelta, UsageResult, limit_headers
from proxy.keys.refusals import Refusals
from proxy.redis_client import StoreUnavailableError
from shared.protocol.sse import OnDelta

log = logging.getLogger(__name__)


class KeyMeter:
    """Counts requests and characters of keys, and refuses what is over their limits.

    Mutable state: the refunds under way, at most one for each request.
    ``on_headers`` takes headers for whatever the answer will be.
    """

    def __init__(self, store: CachedKeyStore, refusals: Refusals) -> None:
        self._store = store
        self._refusals = refusals
        self._refunds: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Wait for the refunds under way, as long as Redis may take."""
        await asyncio.gather(*self._refunds)

    async def count_request(self, key: ApiKey, on_headers: Callable[[Mapping[str, str]], None]) -> None:
        """Count one request in a key's minute.

        Raises:
            PairwayError: the key is over its limit or was revoked, or cannot be looked up now.
        """
        usage = await self._count(key, UsageDelta(requests=1))
        on_headers(limit_headers(key, usage))
        if not usage.granted:
            raise self._refusals.too_many_requests(key, usage)

    async def charge(self, key: ApiKey, chars: int, on_headers: Callable[[Mapping[str, str]], None]) -> UsageResult:
        """Charge characters to a key's day.

        Raises:
            RateLimitedError: the day has not so many left.
            TooLargeError: no day has so many.
        """
        limit = key.chars_per_day
        if limit is not None and chars > limit:
            raise self._refusals.larger_than_a_day(chars, limit)
        usage = await self._count(key, UsageDelta(chars=chars))
        on_headers(limit_headers(key, usage, of_day=not usage.fits_day))
        if not usage.fits_day:
            raise self._refusals.too_many_characters(key, chars, usage)
        return usage

    async def refund(self, key: ApiKey, chars: int, charged: UsageResult) -> None:
        """Give characters back, also when this request is cancelled."""
        # The task outlives a cancelled request, for one call of Redis.
        task = asyncio.create_task(self._give_back(key, chars, charged))
        self._refunds.add(task)
        task.add_done_callback(self._refunds.discard)
        await asyncio.shield(task)

    async def usage(self, key: ApiKey) -> UsageResult:
        """Return what a key has used."""
        return await self._count(key, UsageDelta())

    def charging(
        self, key: ApiKey | None, chars: int, on_headers: Callable[[Mapping[str, str]], None]
    ) -> CharacterCharge:
        """Return the charge for a request's characters, to be used as a context manager."""
        return CharacterCharge(self, key, chars, on_headers)

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
            raise self._refusals.invalid_key()
        return usage

    async def _give_back(self, key: ApiKey, chars: int, charged: UsageResult) -> None:
        try:
            await self._store.give_back(key, chars, charged)
        except StoreUnavailableError:
            log.info("characters not given back", extra={"key": key.id, "chars": chars})


class CharacterCharge:
    """Charge for the characters of one request, as a context manager.

    Without a key none are counted. Mutable state: whether any part of the answer was sent.
    """

    __slots__ = ("_charged", "_chars", "_key", "_meter", "_on_headers", "_sent")

    def __init__(
        self, meter: KeyMeter, key: ApiKey | None, chars: int, on_headers: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._meter = meter
        self._key = key
        self._chars = chars
        self._on_headers = on_headers
        self._sent = False
        self._charged: UsageResult | None = None

    async def __aenter__(self) -> Self:
        """Charge them.

        Raises:
            PairwayError: they can not be charged; says why.
        """
        if self._key is not None:
            self._charged = await self._meter.charge(self._key, self._chars, self._on_headers)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Refund them if the block failed before any part was sent."""
        if kind is not None and self._key is not None and self._charged is not None and not self._sent:
            await self._meter.refund(self._key, self._chars, self._charged)

    def watch(self, on_delta: OnDelta | None) -> OnDelta | None:
        """Return ``on_delta`` wrapped: the charge notes what was sent."""
        if on_delta is None:
            return None

        def send(index: int, text: str) -> None:
            self._sent = self._sent or bool(text)
            on_delta(index, text)

        return send
