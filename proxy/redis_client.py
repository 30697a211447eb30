"""The Redis client of the proxy, and its error."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

# The sweep, the lease and operators' changes, one call each at a time; a few more for what was cancelled and not yet
# closed.
MAX_CONNECTIONS: Final = 8


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
    """Map every way in which Redis can fail into one error, at this one door."""
    try:
        yield
    except TimeoutError as error:
        message = f"Redis did not answer within {timeout:g} s"
        raise StoreUnavailableError(message) from error
    except (RedisError, OSError, ValueError) as error:  # the last where a value is no UTF-8
        message = f"Redis: {type(error).__name__}: {error}"
        raise StoreUnavailableError(message) from error
