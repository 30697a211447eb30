"""API keys as Redis has them, cached; while Redis is away, as this proxy saw them last."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import LocalCounts, UsageDelta, UsageResult
from proxy.keys.store import KeyStore
from proxy.redis_client import StoreUnavailableError

T = TypeVar("T")


class RecentlyUsed(Generic[T]):
    """Mutable state: the values used last, with the time each was put in; at most ``max_values``."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._values: OrderedDict[str, tuple[T, float]] = OrderedDict()

    def put(self, name: str, value: T, now: float) -> None:
        """Keep a value; the one least recently used goes."""
        self._values[name] = (value, now)
        self._values.move_to_end(name)
        if len(self._values) > self._max_values:
            self._values.popitem(last=False)

    def get(self, name: str, now: float, within: float) -> T | None:
        """Return a value put in less than so many seconds ago."""
        value, at = self._values.get(name, (None, 0.0))
        if value is None or now - at >= within:
            return None
        self._values.move_to_end(name)
        return value

    def drop(self, name: str) -> None:
        """Forget a value."""
        self._values.pop(name, None)


log = logging.getLogger(__name__)

# How long a record is believed unread, so that a key's every request need not read it. What counts a request sees a
# revocation at once all the same.
FRESH_SECONDS: Final = 1.0
# How long a key is let in after it was last read, where Redis is away.
KNOWN_SECONDS: Final = 3600.0
# Records kept, the least recently used forgotten first (2 KiB each), and as many ids that no key has (0.1 KiB each).
MAX_KNOWN: Final = 10_000
# How long Redis is not asked again after it failed; then one request tries, while the others go on without.
AWAY_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Clocks:
    """Unix seconds for what is kept, and a clock that only goes forward."""

    unix: Callable[[], float]
    monotonic: Callable[[], float]


class CachedKeyStore:
    """Mutable state: keys read lately, what this proxy counted, and whether Redis is away.

    ``serves_without_redis``: keys read lately are let in while it is; otherwise every method raises StoreUnavailableError then.
    """

    def __init__(self, store: KeyStore, clocks: Clocks, *, serves_without_redis: bool) -> None:
        self._store = store
        self._clocks = clocks
        self._serves_without_redis = serves_without_redis
        self._counts = LocalCounts(clocks.unix)
        self._known: RecentlyUsed[ApiKey] = RecentlyUsed(MAX_KNOWN)
        self._unknown: RecentlyUsed[bool] = RecentlyUsed(MAX_KNOWN)
        self._away = False
        self._ask_after = 0.0

    async def look_up(self, key_id: str) -> ApiKey | None:
        """Return a key, None where there is none.

        Raises:
            StoreUnavailableError: Redis is away, and this one is not known, or nobody is let in without.
        """
        now = self._clocks.monotonic()
        if key := self._known.get(key_id, now, FRESH_SECONDS):
            return key
        if self._unknown.get(key_id, now, FRESH_SECONDS):
            return None
        try:
            key = await self._call_redis(lambda: self._store.read(key_id))
        except StoreUnavailableError:
            if known := self._known.get(key_id, now, KNOWN_SECONDS if self._serves_without_redis else 0.0):
                return known
            raise
        if key is None:
            self._unknown.put(key_id, value=True, now=now)
            self._known.drop(key_id)
        else:
            self._known.put(key_id, key, now)
        return key

    async def count(self, key: ApiKey, delta: UsageDelta) -> UsageResult | None:
        """Count in Redis for all proxies and here too; here alone while Redis is away. None: the key was revoked.

        What was counted here alone Redis never hears of: as long as a limit's window reaches back to it, this proxy's
        own count must allow what Redis allows.

        Raises:
            StoreUnavailableError: Redis is away, and nobody is let in without.
        """
        local = self._counts.count(key, delta, with_redis=True)
        if not local.granted:
            return local
        try:
            result = await self._call_redis(lambda: self._store.count(key.id, delta))
        except StoreUnavailableError:
            self._counts.undo(key.id, delta, local)
            if not self._serves_without_redis:
                raise
            return self._counts.count(key, delta)
        except BaseException:  # this request is cancelled, and nothing of it will be served
            self._counts.undo(key.id, delta, local)
            raise
        if result is None or not result.granted:
            self._counts.undo(key.id, delta, local)
        if result is None:
            self._known.drop(key.id)
            return None
        return result.stricter(local) if local.is_local else result

    async def give_back(self, key: ApiKey, chars: int, charged: UsageResult) -> None:
        """Give characters back where they were counted: what Redis never counted is not taken off there.

        Raises:
            StoreUnavailableError: Redis is away, and nobody is let in without.
        """
        delta = UsageDelta(chars=-chars, day=charged.day)
        if charged.is_local:
            self._counts.count(key, delta)
        else:
            await self.count(key, delta)

    async def _call_redis(self, call: Callable[[], Awaitable[T]]) -> T:
        """Ask Redis, unless it failed a moment ago.

        Raises:
            StoreUnavailableError: it is away.
        """
        now = self._clocks.monotonic()
        if now < self._ask_after:
            raise StoreUnavailableError("Redis did not answer a moment ago")
        if self._away:
            self._ask_after = now + AWAY_SECONDS  # this one tries, the others need not wait for it
        try:
            result = await call()
        except StoreUnavailableError as error:
            if not self._away:
                log.warning(
                    "keys can not be looked up",
                    extra={"error": str(error), "serves_without_redis": self._serves_without_redis},
                )
            self._away, self._ask_after = True, self._clocks.monotonic() + AWAY_SECONDS
            raise
        if self._away:
            log.info("keys can be looked up again")
        self._away, self._ask_after = False, 0.0
        return result
