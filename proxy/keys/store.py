"""Keys in Redis: records, and usage through all proxies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from pydantic import ValidationError

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import CHARS_PER_DAY, CHARS_PER_MONTH, LIMITS, UsageResult, windows_at
from proxy.redis_client import BoundedRedis, RedisKeys
from shared.protocol.errors import KeysFullError, UnknownKeyError

log = logging.getLogger(__name__)

K = TypeVar("K", bound=ApiKey | None)

MAX_KEYS: Final = 10_000
# Records read at once; parsing them blocks the event loop for milliseconds.
PAGE: Final = 100
# How long a revoked or expired key is listed.
OVER_SECONDS: Final = 30 * 24 * 3600
# Calls at once.
MAX_CALLS: Final = 16
# Other operators may change a key at the same moment.
MAX_TRIES: Final = 5

CHAR_LIMITS: Final = (CHARS_PER_DAY, CHARS_PER_MONTH)
# A counter outlives its window, because proxies' clocks differ.
GRACE_SECONDS: Final = 60

# Count if the record allows it. KEYS[1]: record, KEYS[2..]: counters in the order of LIMITS; ARGV[1..3]: amounts,
# ARGV[4..6]: seconds to live. Returns the last exceeded limit (0: none, all is counted), and the counts.
COUNT_SCRIPT: Final = f"""
local limits = {{{", ".join(f"'{limit.field}'" for limit in LIMITS)}}}
local values = redis.call('MGET', unpack(KEYS))
local key = values[1] and cjson.decode(values[1])
if not key or type(key.revoked_at) == 'number' then
    return false
end
local answer = {{0}}
for i, name in ipairs(limits) do
    local used, more, limit = tonumber(values[i + 1] or 0), tonumber(ARGV[i]), key[name]
    answer[i + 1] = used
    if more > 0 and type(limit) == 'number' and used + more > limit then
        answer[1] = i
    end
end
for i = 1, #limits do
    if answer[1] == 0 and tonumber(ARGV[i]) > 0 then
        answer[i + 1] = redis.call('INCRBY', KEYS[i + 1], ARGV[i])
        redis.call('EXPIRE', KEYS[i + 1], ARGV[i + #limits])
    end
end
return answer
"""
# Subtract ARGV[1] from the counters KEYS that still exist.
REFUND_SCRIPT: Final = """
for _, counter in ipairs(KEYS) do
    local used = tonumber(redis.call('GET', counter) or 0)
    if used > 0 then
        redis.call('DECRBY', counter, math.min(used, tonumber(ARGV[1])))
    end
end
"""
# Raise the counter KEYS[1] to ARGV[1]; ARGV[2]: seconds to live.
RAISE_SCRIPT: Final = """
if tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
end
"""
# Write a record unless it changed since read. KEYS[1]: record, KEYS[2]: index; ARGV[1]: old record or '', ARGV[2]: new
# record, ARGV[3]: its end in Unix milliseconds or '', ARGV[4]: id, ARGV[5]: creation, ARGV[6]: most keys.
WRITE_SCRIPT: Final = """
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
    return 0
end
if ARGV[1] == '' and redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then
    return -1
end
redis.call('SET', KEYS[1], ARGV[2])
if ARGV[3] ~= '' then
    redis.call('PEXPIREAT', KEYS[1], ARGV[3])
end
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
return 1
"""


class KeyStore(BoundedRedis):
    """Keys in Redis, over connections that the fleet's health does not use.

    ``clock`` gives Unix seconds.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        super().__init__(url, timeout, MAX_CALLS)
        self._keys = RedisKeys(prefix)
        self.clock = clock

    async def read(self, key_id: str) -> ApiKey | None:
        """Return a key, also revoked or expired; None if absent."""
        return _parse(await self._call("GET", self._keys.api_key(key_id)))

    async def count(self, key_id: str, *, requests: int = 0, chars: int = 0) -> UsageResult | None:
        """Count both amounts or neither; None for an absent or revoked key."""
        now = self.clock()
        windows = windows_at(now)
        counters = [self._keys.usage(key_id, window.limit.unit, window.name) for window in windows]
        lifetimes = (window.end + GRACE_SECONDS - int(now) for window in windows)
        keys = (self._keys.api_key(key_id), *counters)
        amounts = (requests, chars, chars)
        answer: list[int] | None = await self._call("EVAL", COUNT_SCRIPT, len(keys), *keys, *amounts, *lifetimes)
        if answer is None:
            return None
        exceeded, *used = answer
        for window, count in zip(windows, used, strict=True):
            window.used = count
        return UsageResult(now, windows, counters, windows[exceeded - 1] if exceeded else None)

    async def refund(self, counters: Sequence[str], chars: int) -> None:
        """Subtract characters from their counters."""
        await self._call("EVAL", REFUND_SCRIPT, len(counters), *counters, chars)

    async def all(self) -> list[ApiKey]:
        """Return readable keys, oldest first."""
        return [key for key in (await self.records()).values() if key is not None]

    async def records(self) -> dict[str, ApiKey | None]:
        """Return keys by id, oldest first, None if unreadable.

        Missing keys are removed from the index.
        """
        index = self._keys.api_keys
        ids: list[str] = await self._call("ZRANGE", index, 0, -1)
        keys: dict[str, ApiKey | None] = {}
        for first in range(0, len(ids), PAGE):
            page = ids[first : first + PAGE]
            records: list[str | None] = await self._call("MGET", *map(self._keys.api_key, page))
            if missing := [key_id for key_id, record in zip(page, records, strict=True) if record is None]:
                await self._call("ZREM", index, *missing)
            keys |= {name: _parse(record) for name, record in zip(page, records, strict=True) if record is not None}
        return keys

    async def chars_used(self, ids: Sequence[str]) -> list[dict[str, int]]:
        """Return each key's characters in this UTC day and month."""
        names = [window.name for window in windows_at(self.clock()) if window.limit in CHAR_LIMITS]
        used: list[dict[str, int]] = []
        for first in range(0, len(ids), PAGE):
            page = ids[first : first + PAGE]
            counters = (self._keys.usage(key_id, CHARS_PER_DAY.unit, name) for key_id in page for name in names)
            counts: list[str | None] = await self._call("MGET", *counters)
            pairs = iter(counts)
            used += [{name: int(count) for name in names if (count := next(pairs)) is not None} for _ in page]
        return used

    async def raise_chars(self, key_id: str, used: Mapping[str, int]) -> None:
        """Raise the counters of windows that last to at least these characters."""
        now = self.clock()
        for window in windows_at(now):
            if window.limit in CHAR_LIMITS and used.get(window.name):
                counter = self._keys.usage(key_id, window.limit.unit, window.name)
                lifetime = window.end + GRACE_SECONDS - int(now)
                await self._call("EVAL", RAISE_SCRIPT, 1, counter, used[window.name], lifetime)

    async def add(self, key: ApiKey) -> None:
        """Store a new key; raise KeysFullError beyond ``MAX_KEYS``."""
        if await self._write("", key) < 0:
            await self.all()  # removes keys that are only in the index
            if await self._write("", key) < 0:
                raise KeysFullError(MAX_KEYS)

    async def update(self, key_id: str, decide: Callable[[ApiKey | None], K]) -> K:
        """Write what ``decide`` makes of the key; None keeps it.

        ``decide`` is called again if the key changed meanwhile.

        Raises:
            KeysFullError: a new key would exceed ``MAX_KEYS``.
            UnknownKeyError: the key changed at every try.
        """
        for _ in range(MAX_TRIES):
            record: str | None = await self._call("GET", self._keys.api_key(key_id))
            key = decide(_parse(record))
            if key is None:
                return key
            written = await self._write(record or "", key)
            if written < 0:
                raise KeysFullError(MAX_KEYS)
            if written:
                return key
        raise UnknownKeyError(key_id)

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

    async def _write(self, before: str, key: ApiKey) -> int:
        """Return 1 if written, 0 if changed before, -1 if too many."""
        over_at = key.revoked_at or key.expires_at
        # A past time makes Redis delete the record at once.
        end = "" if over_at is None else int((over_at + OVER_SECONDS) * 1000)
        keys = (self._keys.api_key(key.id), self._keys.api_keys)
        record = key.model_dump_json(exclude_none=True)  # older proxies can read it
        return await self._call("EVAL", WRITE_SCRIPT, 2, *keys, before, record, end, key.id, key.created_at, MAX_KEYS)


def _parse(record: str | None) -> ApiKey | None:
    """Return the key, None if another version wrote it differently."""
    if record is None:
        return None
    try:
        return ApiKey.model_validate_json(record)
    except ValidationError as error:
        log.warning("key cannot be read", extra={"errors": error.error_count()})
        return None
