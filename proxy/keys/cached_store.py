"""API keys as Redis has them, cached; and whether Redis is away."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeVar

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import UsageResult
from proxy.keys.store import KeyStore
from proxy.redis_client import StoreUnavailableError
from shared.protocol.access_errors import KeysUnavailableError

log = logging.getLogger(__name__)

T = TypeVar("T")

# How long a record is believed unread, so that a key's every request need not read it. What counts a request sees a
# revocation at once all the same.
FRESH_SECONDS: Final = 1.0
# How long a key is let in after it was last read, where Redis is away.
KNOWN_SECONDS: Final = 3600.0
# Records kept, the least recently used forgotten first (2 KiB each), and as many ids that no key has (0.1 KiB each).
MAX_KNOWN: Final = 10_000
# How long Redis is not asked again after it failed; then one request tries, while the others go on without.
AWAY_SECONDS: Final = 0.5


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


class CachedKeyStore:
    """Mutable state: keys read lately, and whether Redis is away. ``clock`` gives monotonic seconds.

    ``serves_without_redis``: keys read within the last hour are known while it is. Every method raises
    KeysUnavailableError where Redis is needed and away.
    """

    def __init__(self, store: KeyStore, clock: Callable[[], float], *, serves_without_redis: bool) -> None:
        self._store = store
        self.clock = clock
        self.serves_without_redis = serves_without_redis
        self._known: RecentlyUsed[ApiKey] = RecentlyUsed(MAX_KNOWN)
        self._unknown: RecentlyUsed[bool] = RecentlyUsed(MAX_KNOWN)
        self._away = False
        self._ask_after = 0.0

    async def look_up(self, key_id: str) -> ApiKey | None:
        """Return a key, None where there is none."""
        now = self.clock()
        if key := self._known.get(key_id, now, FRESH_SECONDS):
            return key
        if self._unknown.get(key_id, now, FRESH_SECONDS):
            return None
        try:
            key = await self._call_redis(lambda: self._store.read(key_id))
        except KeysUnavailableError:
            if self.serves_without_redis and (known := self._known.get(key_id, now, KNOWN_SECONDS)):
                return known
            raise
        if key is None:
            self._unknown.put(key_id, value=True, now=now)
            self._known.drop(key_id)
        else:
            self._known.put(key_id, key, now)
        return key

    async def count(self, key_id: str, *, requests: int = 0, chars: int = 0) -> UsageResult | None:
        """Count for all proxies if the key's limits allow it; None where it is no longer in force."""
        usage = await self._call_redis(lambda: self._store.count(key_id, requests=requests, chars=chars))
        if usage is None:
            self._known.drop(key_id)
        return usage

    async def refund(self, counters: Sequence[str], chars: int) -> None:
        """Take characters off the counters that they were counted in."""
        await self._call_redis(lambda: self._store.refund(counters, chars))

    async def _call_redis(self, call: Callable[[], Awaitable[T]]) -> T:
        """Ask Redis, unless it failed a moment ago."""
        now = self.clock()
        if now < self._ask_after:
            raise KeysUnavailableError
        if self._away:
            self._ask_after = now + AWAY_SECONDS  # this one tries, the others need not wait for it
        try:
            result = await call()
        except StoreUnavailableError as error:
            if not self._away:
                extra = {"error": str(error), "serves_without_redis": self.serves_without_redis}
                log.warning("keys can not be looked up", extra=extra)
            self._away, self._ask_after = True, self.clock() + AWAY_SECONDS
            raise KeysUnavailableError from None
        if self._away:
            log.info("keys can be looked up again")
        self._away, self._ask_after = False, 0.0
        return result
