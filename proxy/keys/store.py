"""Keys in Redis: records, usage through all proxies, and keys read recently."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from proxy.keys.api_key import ApiKey
from proxy.keys.usage import CHARS_PER_DAY, CHARS_PER_MONTH, LIMITS, UsageResult, windows_at
from proxy.keys.usage_store import UsageStore
from proxy.storage.connection import RedisConnection, StoreUnavailableError, WriteRefusedError
from proxy.storage.period_counters import PeriodCounters
from proxy.storage.recent_copies import Outage, RecentCopies
from proxy.storage.records import (
    PAGE,
    Codec,
    IndexedRecords,
    RecordContendedError,
    RecordsFullError,
    UsageCounters,
    pages,
)
from proxy.storage.redis_keys import RedisKeys
from shared.protocol.errors import KeysFullError, KeysUnavailableError, UnknownKeyError

K = TypeVar("K", bound=ApiKey | None)

MAX_KEYS: Final = 10_000
# How long a revoked or expired key is listed.
OVER_SECONDS: Final = 30 * 24 * 3600
# Calls at once.
MAX_CALLS: Final = 16
CHAR_LIMITS: Final = (CHARS_PER_DAY, CHARS_PER_MONTH)
# A counter outlives its window, because proxies' clocks differ.
GRACE_SECONDS: Final = 60

_LIMIT_FIELDS: Final = tuple(limit.field for limit in LIMITS)


class KeyStore:
    """Keys in Redis, over connections that the fleet's health does not use.

    ``clock`` gives Unix seconds. Failures raise StoreUnavailableError.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        self.redis = RedisConnection(url, timeout, MAX_CALLS)
        self.clock = clock
        self._keys = keys = RedisKeys(prefix)
        codec = Codec("key", _encoded, ApiKey.model_validate_json)
        self._counters = UsageCounters(self.redis)
        self.usage = UsageStore(PeriodCounters(self.redis, keys), clock)
        self._records = IndexedRecords(
            self.redis, codec, keys.api_keys, keys.api_key, score=lambda key: key.created_at, life=_life, most=MAX_KEYS
        )

    async def close(self) -> None:
        """Close the connections."""
        await self.redis.close()

    async def read(self, key_id: str) -> ApiKey | None:
        """Return a key, also revoked or expired; None if absent."""
        return await self._records.get(key_id)

    async def count(self, key_id: str, *, requests: int = 0, chars: int = 0) -> UsageResult | None:
        """Count both amounts or neither; None for an absent or revoked key."""
        now = self.clock()
        windows = windows_at(now)
        counters = [self._keys.usage(key_id, window.limit.unit, window.name) for window in windows]
        lifetimes = [window.end + GRACE_SECONDS - int(now) for window in windows]
        record, amounts = self._keys.api_key(key_id), (requests, chars, chars)
        answer = await self._counters.count(record, counters, _LIMIT_FIELDS, amounts, lifetimes)
        if answer is None:
            return None
        exceeded, used = answer
        for window, count in zip(windows, used, strict=True):
            window.used = count
        return UsageResult(now, windows, counters, windows[exceeded - 1] if exceeded else None)

    async def refund(self, counters: Sequence[str], chars: int) -> None:
        """Subtract characters from their counters."""
        await self._counters.refund(counters, chars)

    async def all(self) -> list[ApiKey]:
        """Return readable keys, oldest first."""
        return [key for key in (await self.records()).values() if key is not None]

    async def records(self) -> dict[str, ApiKey | None]:
        """Return keys by id, oldest first, None if unreadable.

        Missing ones leave the index.
        """
        return await self._records.all(forget_missing=True)

    async def chars_used(self, ids: Sequence[str]) -> list[dict[str, int]]:
        """Return each key's characters in this UTC day and month."""
        names = [window.name for window in windows_at(self.clock()) if window.limit in CHAR_LIMITS]
        used: list[dict[str, int]] = []
        for page in pages(ids, PAGE):
            counters = [self._keys.usage(key_id, CHARS_PER_DAY.unit, name) for key_id in page for name in names]
            counts = iter(await self._counters.read(counters))
            used += [{name: count for name in names if (count := next(counts)) is not None} for _ in page]
        return used

    async def raise_chars(self, key_id: str, used: Mapping[str, int]) -> None:
        """Raise the counters of windows that last to at least these characters."""
        now = self.clock()
        for window in windows_at(now):
            if window.limit in CHAR_LIMITS and used.get(window.name):
                counter = self._keys.usage(key_id, window.limit.unit, window.name)
                lifetime = window.end + GRACE_SECONDS - int(now)
                await self._counters.raise_to(counter, used[window.name], lifetime)

    async def add(self, key: ApiKey) -> None:
        """Store a new key; raise KeysFullError beyond ``MAX_KEYS``."""
        try:
            await self._records.replace(key.id, "", key)
        except RecordsFullError:
            await self._records.all(forget_missing=True)  # removes keys that are only in the index
            await self.update(key.id, lambda _: key)

    async def update(self, key_id: str, decide: Callable[[ApiKey | None], K]) -> K:
        """Write what ``decide`` makes of the key; None keeps it.

        It is called again if the key changed meanwhile. Raises KeysFullError beyond ``MAX_KEYS``; UnknownKeyError if
        the key changed at every try, or another version wrote it.
        """
        try:
            return await self._records.update(key_id, decide)
        except RecordsFullError:
            raise KeysFullError(MAX_KEYS) from None
        except RecordContendedError:
            raise UnknownKeyError(key_id) from None

    async def change(self, key_id: str, changes: Mapping[str, object]) -> ApiKey:
        """Change a key's fields; raise UnknownKeyError if absent or revoked."""

        def changed(key: ApiKey | None) -> ApiKey:
            if key is None or key.revoked_at is not None:
                raise UnknownKeyError(key_id)
            return ApiKey.model_validate({**key.model_dump(), **changes})

        return await self.update(key_id, changed)

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; raise UnknownKeyError as ``change`` does."""
        return await self.change(key_id, {"revoked_at": self.clock()})


def _encoded(key: ApiKey) -> str:
    return key.model_dump_json(exclude_none=True)  # older proxies can read it


def _life(key: ApiKey) -> Sequence[object]:
    over_at = key.revoked_at or key.expires_at
    # A past time makes Redis delete the record at once.
    return () if over_at is None else ("PEXPIREAT", int((over_at + OVER_SECONDS) * 1000))


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
    """Cache of keys in front of the store; ``clock`` is monotonic.

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

        Waiting too long says nothing about Redis, so no outage begins.
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
