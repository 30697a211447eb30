"""Keys read recently, for use while Redis is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import UsageResult
from proxy.keys.store import KeyStore
from proxy.redis_client import StoreUnavailableError, WriteRefusedError
from shared.protocol.errors import KeysUnavailableError

log = logging.getLogger(__name__)

T = TypeVar("T")

# A record is read again after this time; counting notices a revocation at once.
FRESH_SECONDS: Final = 1.0
# After its last read a key is accepted this long without Redis.
KNOWN_SECONDS: Final = 3600.0
# Records (2 KiB each); the least recently read is dropped first.
MAX_KNOWN: Final = 10_000
# Pause after a failure; then one request tries, while others continue without Redis.
AWAY_SECONDS: Final = 0.5
# Look-ups at once of ids that are not known here, a quarter of Redis' calls: guesses do not delay callers that are known.
MAX_STRANGERS: Final = 4
# Most of them that wait for a turn; more are refused at once.
MAX_WAITING_STRANGERS: Final = 256
MAX_TURN_SECONDS: Final = 1.0


@dataclass(slots=True)
class _Outage:
    """Absence of Redis for one kind of call; ``ask_after`` is monotonic seconds."""

    begin: str
    end: str
    away: bool = False
    ask_after: float = 0.0


class CachedKeyStore:
    """Cache of keys in front of the store; ``clock`` gives monotonic seconds.

    Every method raises KeysUnavailableError if it needs Redis while Redis is away.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float], *, serves_without_redis: bool) -> None:
        self._store = store
        self.clock = clock
        self.serves_without_redis = serves_without_redis
        self._known: dict[str, tuple[ApiKey, float]] = {}
        self._strangers = asyncio.Semaphore(MAX_STRANGERS)
        self._waiting_strangers = 0
        # A Redis with a full disk refuses to count, and can still be read.
        self._reads = _Outage("keys cannot be looked up", "keys can be looked up again")
        self._writes = _Outage("usage of keys cannot be counted", "usage of keys is counted again")

    async def look_up(self, key_id: str) -> ApiKey | None:
        """Return a key, None if there is none."""
        now = self.clock()
        known, read_at = self._known.get(key_id, (None, 0.0))
        if known is not None and now - read_at < FRESH_SECONDS:
            return known
        try:
            key = await (self._read_stranger(key_id) if known is None else self._read(key_id))
        except KeysUnavailableError:
            if known is not None and self.serves_without_redis and now - read_at < KNOWN_SECONDS:
                return known
            raise
        self._known.pop(key_id, None)  # so that the new entry is the newest
        if key is not None:
            self._known[key_id] = (key, now)
            if len(self._known) > MAX_KNOWN:
                del self._known[next(iter(self._known))]
        return key

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
            self._known.pop(key_id, None)
        return usage

    async def refund(self, counters: Sequence[str], chars: int) -> None:
        """Subtract characters from their counters."""
        await self._call_redis(self._writes, lambda: self._store.refund(counters, chars))

    async def _call_redis(self, outage: _Outage, call: Callable[[], Awaitable[T]]) -> T:
        now = self.clock()
        if now < outage.ask_after:
            raise KeysUnavailableError
        if outage.away:
            outage.ask_after = now + AWAY_SECONDS  # other calls do not wait for this one
        try:
            result = await call()
        except WriteRefusedError as error:
            self._begin(outage, error)
            raise KeysUnavailableError from None
        except StoreUnavailableError as error:
            self._begin(self._reads, error)
            self._begin(self._writes, error)
            raise KeysUnavailableError from None
        if outage.away:
            log.info(outage.end)
        outage.away, outage.ask_after = False, 0.0
        return result

    def _begin(self, outage: _Outage, error: StoreUnavailableError) -> None:
        if not outage.away:
            log.warning(outage.begin, extra={"error": str(error), "serves_without_redis": self.serves_without_redis})
        outage.away, outage.ask_after = True, self.clock() + AWAY_SECONDS
