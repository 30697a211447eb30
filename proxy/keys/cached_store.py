"""Keys read recently, for use while Redis is away."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import UsageResult
from proxy.keys.store import KeyStore
from proxy.storage.connection import StoreUnavailableError, WriteRefusedError
from proxy.storage.recent_copies import Outage, RecentCopies
from shared.protocol.errors import KeysUnavailableError

T = TypeVar("T")

# A record is read again after this time; counting notices a revocation at once.
FRESH_SECONDS: Final = 1.0
# Records (2 KiB each); the least recently read is dropped first.
MAX_KNOWN: Final = 10_000
# Look-ups at once of ids that are not known here, a quarter of Redis' calls: guesses do not delay callers that are known.
MAX_STRANGERS: Final = 4
# Most of them that wait for a turn; more are refused at once.
MAX_WAITING_STRANGERS: Final = 256
MAX_TURN_SECONDS: Final = 1.0


class CachedKeyStore:
    """Cache of keys in front of the store; ``clock`` gives monotonic seconds.

    Every method raises KeysUnavailableError if it needs Redis while Redis is away.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float], *, serves_without_redis: bool) -> None:
        self._store = store
        self.clock = clock
        self.serves_without_redis = serves_without_redis
        self._copies = RecentCopies[str, ApiKey](
            self._now, FRESH_SECONDS, MAX_KNOWN, KeysUnavailableError, serves_without_redis=serves_without_redis
        )
        self._strangers = asyncio.Semaphore(MAX_STRANGERS)
        self._waiting_strangers = 0
        # A Redis with a full disk refuses to count, and can still be read.
        fields = {"serves_without_redis": serves_without_redis}
        self._reads = Outage(self._now, "keys cannot be looked up", "keys can be looked up again", **fields)
        self._writes = Outage(self._now, "usage of keys cannot be counted", "usage of keys is counted again", **fields)

    def _now(self) -> float:
        return self.clock()

    async def look_up(self, key_id: str) -> ApiKey | None:
        """Return a key, None if there is none."""

        async def read(known: ApiKey | None) -> ApiKey | None:
            return await (self._read_stranger(key_id) if known is None else self._read(key_id))

        return await self._copies.get(key_id, read)

    async def _read(self, key_id: str) -> ApiKey | None:
        return await self._call_redis(self._reads, lambda: self._store.read(key_id))

    async def _read_stranger(self, key_id: str) -> ApiKey | None:
        """Read a key that is not known here, in its turn.

        Those who wait too long say nothing about Redis, so no outage begins.
        """
        if self._waiting_strangers >= MAX_WAITING_STRANGERS:
            raise KeysUnavailableError
        self._waiting_strangers += 1
        try:
            async with asyncio.timeout(MAX_TURN_SECONDS):
                await self._strangers.acquire()
        except TimeoutError:
            raise KeysUnavailableError from None
        finally:
            self._waiting_strangers -= 1
        try:
            return await self._read(key_id)
        finally:
            self._strangers.release()

    async def count(self, key_id: str, *, requests: int = 0, chars: int = 0) -> UsageResult | None:
        """Count as ``KeyStore.count`` does; forget a revoked key."""
        usage = await self._call_redis(self._writes, lambda: self._store.count(key_id, requests=requests, chars=chars))
        if usage is None:
            self._copies.forget(key_id)
        return usage

    async def refund(self, counters: Sequence[str], chars: int) -> None:
        """Subtract characters from their counters."""
        await self._call_redis(self._writes, lambda: self._store.refund(counters, chars))

    async def _call_redis(self, outage: Outage, call: Callable[[], Awaitable[T]]) -> T:
        if not outage.start_call():
            raise KeysUnavailableError
        try:
            result = await call()
        except WriteRefusedError as error:
            outage.begin(error)
            raise KeysUnavailableError from None
        except StoreUnavailableError as error:
            self._reads.begin(error)
            self._writes.begin(error)
            raise KeysUnavailableError from None
        outage.end()
        return result
