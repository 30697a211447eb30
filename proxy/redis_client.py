"""Redis: the connection, the names of keys, and the error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

# The sweep, the lease and operators' overrides, one call each; a few more for what was cancelled and not yet closed.
MAX_CONNECTIONS: Final = 8


class RedisKeys:
    """Names of the keys in the fleet's Redis; docs/operations.md lists them."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.lease = f"{prefix}prober"
        self.replicas = f"{prefix}replicas"
        self.pairs = f"{prefix}pairs"
        self.overrides = f"{prefix}changes"
        self.api_keys = f"{prefix}keys"

    def replica(self, url: str) -> str:
        """Return the key of a replica's record."""
        return f"{self._prefix}replica:{url}"

    def served_pairs(self, version: str) -> str:
        """Return the key of the pairs that replicas report in this version."""
        return f"{self._prefix}served:{version}"

    def api_key(self, key_id: str) -> str:
        """Return the key of an API key's record."""
        return f"{self._prefix}key:{key_id}"

    def usage(self, key_id: str, unit: str, window: str) -> str:
        """Return the key of how many units an API key has used in a window."""
        return f"{self._prefix}use:{key_id}:{unit}:{window}"


class StoreUnavailableError(Exception):
    """Redis did not answer in time, or not as it should."""


def connect(url: str, timeout: float, connections: int) -> Redis:
    """Return a Redis that connects lazily, with a pool of its own, and never tries again by itself."""
    return Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - partly untyped in redis-py
        url,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        max_connections=connections,
        retry=Retry(NoBackoff(), 0),  # the next sweep is the retry, or the next request
        protocol=3,  # in RESP2, plain commands would answer scores as strings in one flat list
        decode_responses=True,
    )


@contextmanager
def mapped_errors(timeout: float) -> Generator[None]:
    """Map whatever can go wrong with Redis into one error."""
    try:
        yield
    except TimeoutError as error:
        raise StoreUnavailableError(f"Redis did not answer within {timeout:g} s") from error
    except (RedisError, OSError, ValueError) as error:  # the last where a value is no UTF-8
        raise StoreUnavailableError(f"Redis: {type(error).__name__}: {error}") from error


@asynccontextmanager
async def pipeline(redis: Redis, seconds: float) -> AsyncGenerator[Pipeline]:
    """Send the block's commands together at its end, within ``seconds``; raise StoreUnavailableError if that fails."""
    with mapped_errors(seconds):
        async with asyncio.timeout(seconds), redis.pipeline(transaction=False) as commands:
            yield commands
            await commands.execute()
