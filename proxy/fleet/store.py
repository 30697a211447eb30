"""The fleet in Redis: lease, replicas, known pairs and overrides."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import Override
from proxy.fleet.replica import Replica
from proxy.redis_client import MAX_CONNECTIONS, RedisKeys, connect, mapped_errors, pipeline
from shared.languages import LanguagePair
from shared.protocol.report import ServedPairs

T = TypeVar("T")

# Pairs without replicas stay known this long: 503 instead of 404.
REMEMBERED_SECONDS: Final = 24 * 3600
# Life of overrides and expectations after all proxies stopped.
OVERRIDES_SECONDS: Final = 30 * 24 * 3600
# Records in one call; 64 block the event loop for 10 ms.
BATCH: Final = 64

# Take a free lease, or renew ours. KEYS[1] lease; ARGV[1] owner; ARGV[2] milliseconds.
LEASE_SCRIPT: Final = """
local holder = redis.call('GET', KEYS[1])
if holder == false or holder == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
end
return 0
"""
# Release the lease if it is ours. KEYS[1] lease; ARGV[1] owner.
RELEASE_SCRIPT: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
"""
# Write overrides, but replace no later one. KEYS[1] overrides; ARGV[1] seconds to live; then each URL, time, record.
OVERRIDES_SCRIPT: Final = """
for i = 2, #ARGV, 3 do
    local held = redis.call('HGET', KEYS[1], ARGV[i])
    local readable, change = pcall(cjson.decode, held or '')
    local at = readable and type(change) == 'table' and tonumber(change.at) or 0
    if at < tonumber(ARGV[i + 1]) then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    end
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
"""
# Write expectations, but replace no later or greater one. KEYS[1] expectations; ARGV[1] seconds to live; then each
# service, time, count, record.
EXPECTED_SCRIPT: Final = """
for i = 2, #ARGV, 4 do
    local held = redis.call('HGET', KEYS[1], ARGV[i])
    local readable, one = pcall(cjson.decode, held or '')
    readable = readable and type(one) == 'table'
    local at, count = readable and tonumber(one.at) or -1, readable and tonumber(one.count) or -1
    local new_at, new_count = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    if at < new_at or (at == new_at and count < new_count) then
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 3])
    end
end
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1
"""

_PAIRS: Final = TypeAdapter(ServedPairs)

log = logging.getLogger(__name__)


class FleetStore:
    """The fleet in Redis; every key expires. ``clock`` returns Unix seconds.

    A command takes at most ``timeout`` seconds, a batch of records twice that. Failures raise StoreUnavailableError.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        self._redis = connect(url, timeout, MAX_CONNECTIONS)
        self._keys = RedisKeys(prefix)
        self._pairs: dict[str, ServedPairs] = {}  # by version, as last written or read
        self._timeout = timeout
        self._clock = clock

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def hold_lease(self, owner: str, ttl: float) -> bool:
        """Take or renew the leader lease; return whether it is ours."""
        return bool(await self._execute("EVAL", LEASE_SCRIPT, 1, self._keys.lease, owner, int(ttl * 1000)))

    async def release_lease(self, owner: str) -> None:
        """Release the lease, if it is ours."""
        await self._execute("EVAL", RELEASE_SCRIPT, 1, self._keys.lease, owner)

    async def _execute(self, *command: str | int, timeouts: int = 1) -> Any:
        with mapped_errors(self._timeout):
            async with asyncio.timeout(timeouts * self._timeout):
                # redis-py's typed methods return unions of both protocols' shapes.
                return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there

    async def write(self, replicas: Iterable[Replica], known: Mapping[LanguagePair, float], ttl: float) -> None:
        """Write replicas for ``ttl`` seconds, and known pairs."""
        now, index, ttl_ms = self._clock(), self._keys.replicas, int(ttl * 1000)
        replicas = tuple(replicas)
        self._pairs = {each.report.pairs.version: each.report.pairs for each in replicas if each.report is not None}
        for versions in _batches(tuple(self._pairs)):
            async with pipeline(self._redis, 2 * self._timeout) as pipe:
                for version in versions:
                    pipe.set(self._keys.served_pairs(version), to_json(self._pairs[version]), px=ttl_ms)
        for batch in _batches(replicas):
            async with pipeline(self._redis, 2 * self._timeout) as pipe:
                for replica in batch:
                    pipe.set(self._keys.replica(replica.url), _record(replica), px=ttl_ms)
                pipe.zadd(index, dict.fromkeys((replica.url for replica in batch), now))
                pipe.pexpire(index, ttl_ms)
        # ``en>zh-Hant`` can be split, unlike its label.
        pairs = {f"{pair.source}>{pair.target}": seen for pair, seen in known.items()}
        remembered = self._keys.pairs
        async with pipeline(self._redis, 2 * self._timeout) as pipe:
            pipe.zremrangebyscore(index, "-inf", now - ttl)
            pipe.pexpire(index, ttl_ms)
            if pairs:
                pipe.zadd(remembered, pairs, gt=True)  # another proxy may have seen it later
            pipe.zremrangebyscore(remembered, "-inf", now - REMEMBERED_SECONDS)
            pipe.expire(remembered, REMEMBERED_SECONDS)

    async def read(self) -> tuple[list[Replica], dict[LanguagePair, float]]:
        """Return readable replicas, and known pairs with their last Unix times."""
        urls: list[str] = await self._execute("ZRANGE", self._keys.replicas, 0, -1)
        members: list[tuple[str, float]] = await self._execute("ZRANGE", self._keys.pairs, 0, -1, "WITHSCORES")
        replicas: list[Replica] = []
        for batch in _batches(urls):
            records: list[str | None] = await self._execute("MGET", *map(self._keys.replica, batch), timeouts=2)
            replicas += _parsed(Replica.model_validate_json, records)
        await self._read_pairs(replicas)
        parts = ((member.split(">"), seen) for member, seen in members)
        return [known for each in replicas if (known := self._with_pairs(each)) is not None], {
            LanguagePair(*pair): float(seen) for pair, seen in parts if len(pair) == len(LanguagePair._fields)
        }

    async def _read_pairs(self, replicas: Iterable[Replica]) -> None:
        named = {each.report.pairs_version or "" for each in replicas if each.report is not None} - {""}
        self._pairs = {version: pairs for version, pairs in self._pairs.items() if version in named}
        for versions in _batches(sorted(named - self._pairs.keys())):
            records: list[str | None] = await self._execute("MGET", *map(self._keys.served_pairs, versions), timeouts=2)
            self._pairs |= {
                version: pairs
                for version, record in zip(versions, records, strict=True)
                for pairs in _parsed(_PAIRS.validate_json, [record])
            }

    def _with_pairs(self, replica: Replica) -> Replica | None:
        """Return the replica with pairs; None if those expired."""
        report = replica.report
        if report is None or report.pairs_version is None:  # written before pairs had versions
            return replica
        pairs = self._pairs.get(report.pairs_version)
        if pairs is None:
            return None
        return replica.model_copy(update={"report": report.model_copy(update={"pairs": pairs})})

    async def read_overrides(self, *, renew: bool) -> list[Override]:
        """Return readable overrides; ``renew`` restarts ``OVERRIDES_SECONDS``."""
        key = self._keys.overrides
        records: dict[str, str] = await self._execute("HGETALL", key)
        if renew and records:
            await self._execute("EXPIRE", key, OVERRIDES_SECONDS)
        return _parsed(Override.model_validate_json, records.values())

    async def write_overrides(self, overrides: Iterable[Override]) -> None:
        """Write overrides unless Redis has later ones."""
        parts = [part for each in overrides for part in (each.url, repr(each.at), each.model_dump_json())]
        await self._execute("EVAL", OVERRIDES_SCRIPT, 1, self._keys.overrides, OVERRIDES_SECONDS, *parts)

    async def delete_overrides(self, urls: Sequence[str]) -> None:
        """Delete these URLs' overrides (at least one)."""
        await self._execute("HDEL", self._keys.overrides, *urls)

    async def read_expected(self, *, renew: bool) -> list[Expectation]:
        """Return readable expectations; ``renew`` restarts ``OVERRIDES_SECONDS``."""
        key = self._keys.expected
        records: dict[str, str] = await self._execute("HGETALL", key)
        if renew and records:
            await self._execute("EXPIRE", key, OVERRIDES_SECONDS)
        return _parsed(Expectation.model_validate_json, records.values())

    async def write_expected(self, expectations: Iterable[Expectation]) -> None:
        """Write expectations unless Redis has later or greater ones."""
        parts = [
            part for each in expectations for part in (each.service, repr(each.at), each.count, each.model_dump_json())
        ]
        await self._execute("EVAL", EXPECTED_SCRIPT, 1, self._keys.expected, OVERRIDES_SECONDS, *parts)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))


def _record(replica: Replica) -> str:
    # The version of the pairs replaces them.
    if replica.report is None:
        return replica.model_dump_json()
    report = replica.report.model_copy(update={"pairs_version": replica.report.pairs.version})
    return replica.model_copy(update={"report": report}).model_dump_json(exclude={"report": {"pairs"}})


def _parsed(parse: Callable[[str], T], records: Iterable[str | None]) -> list[T]:
    parsed: list[T] = []
    for record in records:
        try:
            if record is not None:
                parsed.append(parse(record))
        except ValidationError as error:
            log.debug("record cannot be read", extra={"errors": error.error_count()})
    return parsed
