"""The only file with Redis: connection, time-outs, scripts, one method per key. docs/operations.md lists the keys."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from proxy.fleet import Replica
from shared.languages import LanguagePair

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

# A pair whose replicas are gone stays known this long: it answers 503, not 404.
REMEMBERED_SECONDS: Final = 24 * 3600
# Sweeps are the only users, one call at a time; a few more for what was cancelled and not yet closed.
MAX_CONNECTIONS: Final = 4

# Take the lease if it is free, renew it if it is ours. KEYS[1] lease; ARGV[1] us; ARGV[2] milliseconds.
LEASE_SCRIPT: Final = """
local holder = redis.call('GET', KEYS[1])
if holder == false or holder == ARGV[1] then
    redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
    return 1
end
return 0
"""
# Give the lease back if it is ours. KEYS[1] lease; ARGV[1] us.
RELEASE_SCRIPT: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then
    return redis.call('DEL', KEYS[1])
end
return 0
"""


log = logging.getLogger(__name__)


class StoreUnavailableError(Exception):
    """Redis did not answer in time, or not as it should."""


class Store:
    """The fleet's health in Redis; every call is bounded by ``timeout`` seconds, every key has a TTL."""

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        """Connect lazily; ``clock`` gives Unix seconds."""
        self._redis: Redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - partly untyped in redis-py
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            max_connections=MAX_CONNECTIONS,
            retry=Retry(NoBackoff(), 0),  # the next sweep is the retry
            protocol=3,  # in RESP2, plain commands would answer scores as strings in one flat list
            decode_responses=True,
        )
        self._prefix = prefix
        self._timeout = timeout
        self._clock = clock

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    def _key(self, name: str) -> str:
        return f"{self._prefix}{name}"

    async def hold_lease(self, owner: str, ttl: float) -> bool:
        """Take or renew the prober lease for ``ttl`` seconds; say whether it is ours."""
        with self._mapped():
            async with asyncio.timeout(self._timeout):
                return bool(await self._ask("EVAL", LEASE_SCRIPT, 1, self._key("prober"), owner, int(ttl * 1000)))

    async def release_lease(self, owner: str) -> None:
        """Give the lease back, so that another proxy need not wait for its end."""
        with self._mapped():
            async with asyncio.timeout(self._timeout):
                await self._ask("EVAL", RELEASE_SCRIPT, 1, self._key("prober"), owner)

    async def _ask(self, *command: str | int) -> Any:
        # redis-py's typed methods return unions of both protocols' shapes; the plain command is what we mean.
        return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there

    async def write(self, replicas: Iterable[Replica], known: Mapping[LanguagePair, float], ttl: float) -> None:
        """Write every replica's record for ``ttl`` seconds, the index of them, and the known pairs with their times.

        All known pairs, not just those of these replicas: a Redis that was restarted empty has forgotten the others.
        """
        now = self._clock()
        records = {replica.url: replica.model_dump_json() for replica in replicas}
        pairs = {_member(pair): seen for pair, seen in known.items()}
        with self._mapped():
            async with asyncio.timeout(2 * self._timeout), self._redis.pipeline(transaction=False) as pipe:
                for url, record in records.items():
                    pipe.set(self._key(f"replica:{url}"), record, px=int(ttl * 1000))
                index = self._key("replicas")
                if records:
                    pipe.zadd(index, dict.fromkeys(records, now))
                pipe.zremrangebyscore(index, "-inf", now - ttl)
                pipe.pexpire(index, int(ttl * 1000))
                remembered = self._key("pairs")
                if pairs:
                    pipe.zadd(remembered, pairs, gt=True)  # another proxy may have seen one since
                pipe.zremrangebyscore(remembered, "-inf", now - REMEMBERED_SECONDS)
                pipe.expire(remembered, REMEMBERED_SECONDS)
                await pipe.execute()

    async def read(self) -> tuple[list[Replica], dict[LanguagePair, float]]:
        """Return the replicas whose records are alive, and the known pairs with the Unix time each was last seen.

        A record that a proxy of another version wrote in another form is left out, as if it had expired.
        """
        with self._mapped():
            async with asyncio.timeout(2 * self._timeout):
                urls = await self._ask("ZRANGE", self._key("replicas"), 0, -1)
                records: list[str | None] = (
                    await self._ask("MGET", *(self._key(f"replica:{url}") for url in urls)) if urls else []
                )
                members = await self._ask("ZRANGE", self._key("pairs"), 0, -1, "WITHSCORES")
        replicas = [replica for record in records if record is not None and (replica := _parsed(record)) is not None]
        pairs = {_pair(member): float(seen) for member, seen in members if member.count(">") == 1}
        return replicas, pairs

    @contextmanager
    def _mapped(self) -> Generator[None]:
        """Map every way in which Redis can fail into one error, at this one door."""
        try:
            yield
        except TimeoutError as error:
            message = f"Redis did not answer within {self._timeout:g} s"
            raise StoreUnavailableError(message) from error
        except (RedisError, OSError) as error:
            message = f"Redis: {type(error).__name__}: {error}"
            raise StoreUnavailableError(message) from error


def _parsed(record: str) -> Replica | None:
    try:
        return Replica.model_validate_json(record)
    except ValidationError as error:
        log.debug("record can not be read", extra={"errors": error.error_count()})
        return None


def _member(pair: LanguagePair) -> str:
    """``en>zh-Hant``: unlike the label, it can be taken apart again."""
    return f"{pair.source}>{pair.target}"


def _pair(member: str) -> LanguagePair:
    source, target = member.split(">")
    return LanguagePair(source, target)
