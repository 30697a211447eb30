"""Keys in Redis: their records, and what each has used, counted for all proxies by one script and Redis' own clock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from pydantic import ValidationError

from proxy.keys.api_key import ApiKey
from proxy.keys.quota import BUCKETS, DAY_SECONDS, UsageDelta, UsageResult
from proxy.redis_client import RedisKeys, StoreUnavailableError, connect, mapped_errors
from shared.protocol.access_errors import KeysFullError, UnknownKeyError

log = logging.getLogger(__name__)

MAX_KEYS: Final = 10_000
# Records read at once where all are listed: parsing so many takes a few milliseconds, in which nobody else is served.
PAGE: Final = 100
# A key that was revoked or has expired is shown this long.
OVER_SECONDS: Final = 30 * 24 * 3600
# Calls at once; the others wait here, not in the time that Redis has to answer. A call takes a fraction of a
# millisecond. A few connections more for what was cancelled and not yet closed.
MAX_CALLS: Final = 16
MAX_CONNECTIONS: Final = MAX_CALLS + 8
# Two operators who change one key in the same millisecond: the second one reads again.
MAX_TRIES: Final = 5

# Count for a key if its record allows it; see proxy/keys/quota.py, which does the same. KEYS[1] record, KEYS[2] use;
# ARGV[1] requests, ARGV[2] characters, ARGV[3] day to give characters back to, or ''.
COUNT_SCRIPT: Final = f"""
local record = redis.call('GET', KEYS[1])
local key = record and cjson.decode(record)
if not key or type(key.revoked_at) == 'number' then
    return false
end
local clock = redis.call('TIME')
local second, micros = tonumber(clock[1]), tonumber(clock[2])
local day = math.floor(second / {DAY_SECONDS})
local requests, chars, of_day, seconds = 0, 0, 0, {{}}
local fields = redis.call('HGETALL', KEYS[2])
for i = 1, #fields, 2 do
    local name, n = fields[i], tonumber(fields[i + 1])
    if name == 'chars' then
        chars = n
    elseif name == 'day' then
        of_day = n
    elseif math.abs(second - tonumber(name)) < {BUCKETS} then
        requests = requests + n
        seconds[#seconds + 1] = {{tonumber(name), n}}
    else
        redis.call('HDEL', KEYS[2], name)
    end
end
if of_day ~= day then
    chars = 0
end
local asked, more = tonumber(ARGV[1]), tonumber(ARGV[2])
local limit = type(key.requests_per_minute) == 'number' and key.requests_per_minute
local chars_limit = type(key.chars_per_day) == 'number' and key.chars_per_day
local fits_minute = asked == 0 or not limit or requests + asked <= limit
local fits_day = more <= 0 or not chars_limit or chars + more <= chars_limit
if fits_minute and fits_day and (asked > 0 or more ~= 0) then
    if asked > 0 then
        redis.call('HINCRBY', KEYS[2], second, asked)
        requests = requests + asked
        local counted = false
        for _, each in ipairs(seconds) do
            if each[1] == second then
                each[2] = each[2] + asked
                counted = true
            end
        end
        if not counted then
            seconds[#seconds + 1] = {{second, asked}}
        end
    end
    if ARGV[3] == '' or tonumber(ARGV[3]) == day then
        chars = math.max(0, chars + more)
        redis.call('HSET', KEYS[2], 'day', day, 'chars', string.format('%.0f', chars))
    end
    redis.call('EXPIRE', KEYS[2], {DAY_SECONDS + BUCKETS})
end
table.sort(seconds, function(a, b) return a[1] < b[1] end)
local leaving, wait = limit and math.max(1, requests - limit + 1) or 1, 0
for _, each in ipairs(seconds) do
    leaving = leaving - each[2]
    if leaving <= 0 then
        wait = (each[1] + {BUCKETS} - second) * 1000000 - micros
        break
    end
end
return {{fits_minute and 1 or 0, fits_day and 1 or 0, requests, wait, chars, second, micros}}
"""
# Write a record if it still is as it was read. KEYS[1] record, KEYS[2] index; ARGV[1] as it was, or '' for none,
# ARGV[2] as it is to be, ARGV[3] Unix milliseconds of its end or '', ARGV[4] id, ARGV[5] its creation, ARGV[6] most keys.
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


class KeyStore:
    """Keys in Redis, over connections of its own: a flood of wrong keys never delays the fleet's health.

    Every call is bounded by ``timeout`` seconds, the wait for its turn by as many, and raises StoreUnavailableError
    (``all`` is a call for each page). A record lives until
    ``OVER_SECONDS`` after its key is over, what was used of it for a day.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        """Connect lazily; ``clock`` gives Unix seconds."""
        self._redis = connect(url, timeout, MAX_CONNECTIONS)
        self._keys = RedisKeys(prefix)
        self._timeout = timeout
        self._clock = clock
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._failures = 0

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def read(self, key_id: str) -> ApiKey | None:
        """Return a key, also one that is over; None where there is none."""
        async with self._slot():
            return _parse(await self._execute("GET", self._keys.api_key(key_id)))

    async def count(self, key_id: str, delta: UsageDelta) -> UsageResult | None:
        """Count if the key's limits allow it; None where there is no such key, or it was revoked."""
        keys = (self._keys.api_key(key_id), self._keys.usage(key_id))
        day = "" if delta.day is None else delta.day
        async with self._slot():
            counts = await self._execute("EVAL", COUNT_SCRIPT, 2, *keys, delta.requests, delta.chars, day)
        if counts is None:
            return None
        fits_minute, fits_day, requests, wait, chars, second, micros = counts
        return UsageResult(bool(fits_minute), bool(fits_day), requests, wait / 1e6, chars, second + micros / 1e6)

    async def all(self) -> list[ApiKey]:
        """Return all keys, the oldest first; what is no longer there leaves the index."""
        index = self._keys.api_keys
        async with self._slot():
            ids: list[str] = await self._execute("ZRANGE", index, 0, -1)
        keys: list[ApiKey | None] = []
        for first in range(0, len(ids), PAGE):
            page = ids[first : first + PAGE]
            async with self._slot():
                records: list[str | None] = await self._execute("MGET", *map(self._keys.api_key, page))
                if missing := [key_id for key_id, record in zip(page, records, strict=True) if record is None]:
                    await self._execute("ZREM", index, *missing)
            keys += map(_parse, records)
        return [key for key in keys if key is not None]

    async def add(self, key: ApiKey) -> None:
        """Keep a new key.

        Raises:
            KeysFullError: there are ``MAX_KEYS`` already.
        """
        if await self._write("", key) < 0:
            await self.all()  # perhaps some are only in the index
            if await self._write("", key) < 0:
                raise KeysFullError(MAX_KEYS)

    async def change(self, key_id: str, changes: Mapping[str, object]) -> ApiKey:
        """Change fields of a key and return it; what it is given must be valid.

        Raises:
            UnknownKeyError: there is none, or it was revoked.
        """
        for _ in range(MAX_TRIES):
            async with self._slot():
                record = await self._execute("GET", self._keys.api_key(key_id))
            key = _parse(record)
            if key is None or key.revoked_at is not None:
                raise UnknownKeyError(key_id)
            changed = ApiKey.model_validate({**key.model_dump(), **changes})
            if await self._write(record, changed):
                return changed
        raise UnknownKeyError(key_id)  # it never stays as it is: somebody's loop gone wild

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it; nobody is let in with it from now on.

        Raises:
            UnknownKeyError: there is none, or it was revoked before.
        """
        return await self.change(key_id, {"revoked_at": self._clock()})

    async def _write(self, before: str, key: ApiKey) -> int:
        """Write a record unless it is not as before; 1 if written, 0 if it changed, -1 if there are too many."""
        over_at = key.revoked_at or key.expires_at
        # In the past only for a key that was over long ago; Redis would take such a time as a deletion too.
        end = "" if over_at is None else int((over_at + OVER_SECONDS) * 1000)
        keys = (self._keys.api_key(key.id), self._keys.api_keys)
        async with self._slot():
            return await self._execute(
                "EVAL", WRITE_SCRIPT, 2, *keys, before, key.model_dump_json(), end, key.id, key.created_at, MAX_KEYS
            )

    @asynccontextmanager
    async def _slot(self) -> AsyncGenerator[None]:
        """Wait for a turn, and for Redis within it; who waits gives up as soon as another has waited in vain."""
        failures = self._failures
        with mapped_errors(self._timeout):
            async with asyncio.timeout(self._timeout):
                await self._slots.acquire()
        try:
            if failures != self._failures:
                raise StoreUnavailableError("Redis did not answer those before")
            try:
                with mapped_errors(self._timeout):
                    async with asyncio.timeout(self._timeout):
                        yield
            except StoreUnavailableError:
                self._failures += 1
                raise
        finally:
            self._slots.release()

    async def _execute(self, *command: str | float) -> Any:
        # Any: redis-py's types are unions over both protocols; the plain command is what we mean.
        return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there


def _parse(record: str | None) -> ApiKey | None:
    """Return the key; what a proxy of another version wrote in another form opens nothing."""
    if record is None:
        return None
    try:
        return ApiKey.model_validate_json(record)
    except ValidationError as error:
        log.warning("key can not be read", extra={"errors": error.error_count()})
        return None
