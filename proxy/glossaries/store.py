"""Glossaries in Redis: a list and records for each owner."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from proxy.glossaries.glossary import MAX_GLOSSARY_BYTES, Glossary, GlossaryDraft, GlossaryInfo
from proxy.glossaries.owner import GlossaryOwner
from proxy.redis_client import BoundedRedis, RedisKeys, StoreUnavailableError
from shared.protocol.answers import KEEPS_NO_WORDS
from shared.protocol.errors import (
    GlossariesFullError,
    GlossariesUnavailableError,
    PairwayError,
    TooLargeError,
    UnknownGlossaryError,
)

log = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)

# Of one owner.
MAX_GLOSSARIES: Final = 100
# Of all owners: half of what Redis holds in compose, so that the fleet's state always has space.
MAX_STORED_BYTES: Final = 64 * 1024 * 1024
# What Redis needs for a glossary beside its record.
OVERHEAD_BYTES: Final = 1024
# An owner that expires uses glossaries this long after the last use, which is written at most once in RENEW_SECONDS.
KEPT_SECONDS: Final = 31 * 24 * 3600
RENEW_SECONDS: Final = 24 * 3600
# After that an API key is looked for again; glossaries outlive it by no more.
KEY_CHECK_SECONDS: Final = 24 * 3600
# Owners whose renewal this proxy remembers; a forgotten one is renewed again.
MAX_RENEWED: Final = 10_000
PURGE_SECONDS: Final = 3600.0
# Owners purged in one call, and calls of one purge; the next purge continues.
PURGE_PAGE: Final = 20
MAX_PURGE_PAGES: Final = 500
# Calls at once: records are large.
MAX_CALLS: Final = 8
# The owner's other clients may change a glossary at the same moment.
MAX_TRIES: Final = 5
# Larger records are read and written in a thread.
INLINE_BYTES: Final = 16_384
INLINE_ENTRIES: Final = 500

# Renew an owner. ``list`` is its list, ARGV[1] its name, ARGV[2] the beginning of its records' names, ARGV[3] seconds to
# live or '', ARGV[4] the Unix time of its next purge.
_RENEW: Final = """
local function renew(list, owners)
    if ARGV[3] ~= '' then
        redis.call('EXPIRE', list, ARGV[3])
        for _, id in ipairs(redis.call('HKEYS', list)) do
            redis.call('EXPIRE', ARGV[2] .. id, ARGV[3])
        end
    end
    redis.call('ZADD', owners, ARGV[4], ARGV[1])
end
"""
# Forget what an owner's glossaries count, in ``bytes``: its part of all, and its own.
_FORGET_BYTES: Final = """
local function forget_bytes(bytes, owner)
    redis.call('HINCRBY', bytes, 'all', 0 - tonumber(redis.call('HGET', bytes, owner) or 0))
    redis.call('HDEL', bytes, owner)
end
"""
# KEYS: list, owners.
RENEW_SCRIPT: Final = f"""{_RENEW}
if redis.call('EXISTS', KEYS[1]) == 1 then
    renew(KEYS[1], KEYS[2])
end
"""
# Write a glossary unless it changed since read. KEYS: list, owners, bytes; ARGV[5]: id, ARGV[6]: version read or 0,
# ARGV[7]: record, ARGV[8]: its line in the list, ARGV[9]: its size, ARGV[10]: most glossaries, ARGV[11]: most bytes.
WRITE_SCRIPT: Final = f"""{_RENEW}{_FORGET_BYTES}
if redis.call('EXISTS', KEYS[1]) == 0 then
    forget_bytes(KEYS[3], ARGV[1])
end
local line = redis.call('HGET', KEYS[1], ARGV[5])
local before = line and cjson.decode(line) or {{version = 0, size = 0}}
if before.version ~= tonumber(ARGV[6]) then
    return 0
end
if not line and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[10]) then
    return -1
end
local more = tonumber(ARGV[9]) - before.size
if more > 0 and tonumber(redis.call('HGET', KEYS[3], 'all') or 0) + more > tonumber(ARGV[11]) then
    return -2
end
redis.call('SET', ARGV[2] .. ARGV[5], ARGV[7])
redis.call('HSET', KEYS[1], ARGV[5], ARGV[8])
redis.call('HINCRBY', KEYS[3], 'all', more)
redis.call('HINCRBY', KEYS[3], ARGV[1], more)
renew(KEYS[1], KEYS[2])
return 1
"""
# Delete a glossary. KEYS: list, owners, bytes, record; ARGV[1]: owner, ARGV[2]: id.
DELETE_SCRIPT: Final = f"""{_FORGET_BYTES}
local line = redis.call('HGET', KEYS[1], ARGV[2])
if not line then
    return 0
end
local size = cjson.decode(line).size
redis.call('DEL', KEYS[4])
redis.call('HDEL', KEYS[1], ARGV[2])
redis.call('HINCRBY', KEYS[3], 'all', -size)
redis.call('HINCRBY', KEYS[3], ARGV[1], -size)
if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('ZREM', KEYS[2], ARGV[1])
    forget_bytes(KEYS[3], ARGV[1])
end
return 1
"""
# Forget owners that expired, or whose API key is deleted. KEYS: owners, bytes; ARGV[1]: Unix time, ARGV[2]: time of the
# next look at a key that exists, ARGV[3]: most owners; then beginnings of names: lists, records, API keys.
PURGE_SCRIPT: Final = f"""{_FORGET_BYTES}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
for _, owner in ipairs(due) do
    local key = string.match(owner, '^key%-(.+)$')
    if key and redis.call('EXISTS', ARGV[6] .. key) == 1 then
        redis.call('ZADD', KEYS[1], ARGV[2], owner)
    else
        for _, id in ipairs(redis.call('HKEYS', ARGV[4] .. owner)) do
            redis.call('DEL', ARGV[5] .. owner .. ':' .. id)
        end
        redis.call('DEL', ARGV[4] .. owner)
        forget_bytes(KEYS[2], owner)
        redis.call('ZREM', KEYS[1], owner)
    end
end
return #due
"""


class _Line(BaseModel):
    """A glossary in its owner's list; ``size`` is in bytes."""

    model_config = KEEPS_NO_WORDS

    version: int
    size: int
    info: GlossaryInfo


class GlossaryStore(BoundedRedis):
    """Glossaries in Redis, over connections of their own; ``clock`` gives Unix seconds.

    Every method raises GlossariesUnavailableError if Redis is away or refuses to write.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        super().__init__(url, timeout, MAX_CALLS)
        self._keys = RedisKeys(prefix)
        self._clock = clock
        self._renewed: dict[str, float] = {}
        self._change = asyncio.Lock()

    async def create(self, owner: GlossaryOwner, draft: GlossaryDraft) -> Glossary:
        """Store a new glossary.

        Raises:
            GlossariesFullError: the owner, or all owners together, have too many.
            TooLargeError: it has too many bytes.
        """
        glossary = Glossary.create(draft, self._clock())
        await self._write(owner, glossary, 0)
        return glossary

    async def list_all(self, owner: GlossaryOwner) -> list[GlossaryInfo]:
        """Return the owner's readable glossaries, the oldest first."""
        await self.renew(owner)
        lines: list[str] = await self._run("HVALS", self._keys.glossaries(owner.name))
        parsed = [line.info for each in lines if (line := _parse(_Line, each)) is not None]
        return sorted(parsed, key=lambda info: (info.created_at, info.id))

    async def info(self, owner: GlossaryOwner, glossary_id: str) -> GlossaryInfo:
        """Return a glossary without entries; raise UnknownGlossaryError without one."""
        await self.renew(owner)
        return (await self._line(owner, glossary_id)).info

    async def version(self, owner: GlossaryOwner, glossary_id: str) -> int:
        """Return a glossary's version; raise UnknownGlossaryError without one."""
        return (await self._line(owner, glossary_id)).version

    async def read(self, owner: GlossaryOwner, glossary_id: str) -> Glossary:
        """Return a glossary with its entries; raise UnknownGlossaryError without one."""
        await self.renew(owner)
        record: str | None = await self._run("GET", self._keys.glossary(owner.name, glossary_id))
        small = len(record or "") <= INLINE_BYTES
        glossary = _parse(Glossary, record) if small else await asyncio.to_thread(_parse, Glossary, record)
        if glossary is None:
            raise UnknownGlossaryError(glossary_id)
        return glossary

    async def update(self, owner: GlossaryOwner, glossary_id: str, change: Callable[[Glossary], Glossary]) -> Glossary:
        """Write what ``change`` makes of a glossary.

        ``change`` is called again if the glossary changed meanwhile. One glossary is changed at a time: a small change of
        a large one takes the memory of the whole.

        Raises:
            UnknownGlossaryError: there is no such glossary.
            GlossariesFullError: all owners together have too many bytes.
            TooLargeError: it has too many bytes.
        """
        async with self._change:
            for _ in range(MAX_TRIES):
                before = await self.read(owner, glossary_id)
                after = change(before)
                if await self._write(owner, after, before.version):
                    return after
        raise GlossariesUnavailableError("The glossary was changed by other requests at every try.")

    async def delete(self, owner: GlossaryOwner, glossary_id: str) -> None:
        """Delete a glossary; raise UnknownGlossaryError without one."""
        record = self._keys.glossary(owner.name, glossary_id)
        if not await self._run("EVAL", DELETE_SCRIPT, 4, *self._names(owner), record, owner.name, glossary_id):
            raise UnknownGlossaryError(glossary_id)

    async def renew(self, owner: GlossaryOwner) -> None:
        """Note a use by an owner that may expire.

        Within RENEW_SECONDS after another use nothing is done. Without Redis nothing is noted; the next use is.
        """
        now = self._clock()
        if not owner.expires or now < self._renewed.get(owner.name, -math.inf) + RENEW_SECONDS:
            return
        try:
            await self._run("EVAL", RENEW_SCRIPT, 2, *self._names(owner)[:2], *self._renewal(owner))
        except GlossariesUnavailableError:  # a Redis that refuses to write can still be read
            return
        self._renewed.pop(owner.name, None)
        self._renewed[owner.name] = now
        if len(self._renewed) > MAX_RENEWED:
            del self._renewed[next(iter(self._renewed))]

    async def purge(self) -> None:
        """Forget owners that expired, and delete the glossaries of deleted API keys."""
        now, keys = self._clock(), self._keys
        names = (keys.glossaries(""), keys.glossary("", "").removesuffix(":"), keys.api_key(""))
        for _ in range(MAX_PURGE_PAGES):
            arguments = (now, now + KEY_CHECK_SECONDS, PURGE_PAGE, *names)
            due: int = await self._run("EVAL", PURGE_SCRIPT, 2, keys.glossary_owners, keys.glossary_bytes, *arguments)
            if due < PURGE_PAGE:
                return

    async def tick(self) -> None:
        """Purge, unless Redis is away."""
        try:
            await self.purge()
        except GlossariesUnavailableError as error:
            log.warning("glossaries cannot be purged", extra={"error": str(error.__cause__)})

    async def _write(self, owner: GlossaryOwner, glossary: Glossary, version: int) -> bool:
        """Return whether it is written; not if its version in Redis differs."""
        entries = sum(len(each.entries) for each in glossary.dictionaries)
        small = entries <= INLINE_ENTRIES
        record = glossary.model_dump_json() if small else await asyncio.to_thread(glossary.model_dump_json)
        size = len(record.encode())
        if size > MAX_GLOSSARY_BYTES:
            raise TooLargeError("The glossary", size=size, limit=MAX_GLOSSARY_BYTES, unit="bytes as JSON")
        size += OVERHEAD_BYTES
        line = _Line(version=glossary.version, size=size, info=glossary.info).model_dump_json()
        arguments = (*self._renewal(owner), glossary.id, version, record, line, size, MAX_GLOSSARIES, MAX_STORED_BYTES)
        written: int = await self._run("EVAL", WRITE_SCRIPT, 3, *self._names(owner), *arguments)
        if written == -2:  # expired ones may still be counted
            await self.purge()
            written = await self._run("EVAL", WRITE_SCRIPT, 3, *self._names(owner), *arguments)
        if written == -1:
            detail = f"You have {MAX_GLOSSARIES} glossaries, which is the maximum; delete one."
            raise GlossariesFullError(detail, limit=MAX_GLOSSARIES, unit="glossaries")
        if written == -2:
            detail = f"The glossaries of all callers fill this fleet's limit of {MAX_STORED_BYTES} bytes."
            raise GlossariesFullError(detail, limit=MAX_STORED_BYTES, unit="bytes")
        return bool(written)

    async def _line(self, owner: GlossaryOwner, glossary_id: str) -> _Line:
        line = _parse(_Line, await self._run("HGET", self._keys.glossaries(owner.name), glossary_id))
        if line is None:
            raise UnknownGlossaryError(glossary_id)
        return line

    def _names(self, owner: GlossaryOwner) -> tuple[str, str, str]:
        return self._keys.glossaries(owner.name), self._keys.glossary_owners, self._keys.glossary_bytes

    def _renewal(self, owner: GlossaryOwner) -> tuple[str | float, ...]:
        """Return the first arguments of scripts that renew."""
        seconds = KEPT_SECONDS if owner.expires else KEY_CHECK_SECONDS
        lifetime = KEPT_SECONDS if owner.expires else ""
        return owner.name, self._keys.glossary(owner.name, ""), lifetime, self._clock() + seconds

    async def _run(self, *command: str | float) -> Any:
        try:
            return await self._call(*command)
        except StoreUnavailableError as error:
            # Callers learn no addresses of Redis.
            raise GlossariesUnavailableError("Glossaries cannot be read or changed now.") from error


def _parse(model: type[M], record: str | None) -> M | None:
    """Return the record; None without one, or if it is unreadable."""
    if record is None:
        return None
    try:
        return model.model_validate_json(record)
    except (ValidationError, PairwayError) as error:
        log.warning("glossary cannot be read", extra={"error": type(error).__name__})
        return None
