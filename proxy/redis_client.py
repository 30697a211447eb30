"""Redis: the connection, the names of keys, and errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.client import Pipeline
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError

from shared.runtime.logging import describe, describe_connection_error

# One each for the sweep, the lease and operators' overrides; the others replace cancelled calls not yet closed.
MAX_CONNECTIONS: Final = 8

# The codes of such answers, which Redis 6 hides in a script's error, and redis-py may cut off. Redis 7 adds the script.
_WRITE_REFUSAL: Final = re.compile(r"\b(?:MISCONF|OOM|READONLY)\b.*?(?=\.? script: |$)")


class RedisKeys:
    """Names of the keys in the fleet's Redis (docs/operations/runbooks.md)."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.lease = f"{prefix}prober"
        self.replicas = f"{prefix}replicas"
        self.pairs = f"{prefix}pairs"
        self.overrides = f"{prefix}changes"
        self.expected = f"{prefix}expected"
        self.api_keys = f"{prefix}keys"
        self.glossary_owners = f"{prefix}glossary-owners"
        self.glossary_bytes = f"{prefix}glossary-bytes"
        self.proxies = f"{prefix}proxies"

    def replica(self, url: str) -> str:
        """Return the name of a replica's record."""
        return f"{self._prefix}replica:{url}"

    def proxy(self, name: str) -> str:
        """Return the name of a proxy's summary."""
        return f"{self._prefix}proxy:{name}"

    def served_pairs(self, version: str) -> str:
        """Return the name of the record of reported pairs with this version."""
        return f"{self._prefix}served:{version}"

    def api_key(self, key_id: str) -> str:
        """Return the name of an API key's record."""
        return f"{self._prefix}key:{key_id}"

    def usage(self, key_id: str, unit: str, window: str) -> str:
        """Return the name of an API key's counter in a window."""
        return f"{self._prefix}use:{key_id}:{unit}:{window}"

    def glossaries(self, owner: str) -> str:
        """Return the name of an owner's list of glossaries."""
        return f"{self._prefix}glossaries:{owner}"

    def glossary(self, owner: str, glossary_id: str) -> str:
        """Return the name of a glossary's record."""
        return f"{self._prefix}glossary:{owner}:{glossary_id}"


class StoreUnavailableError(Exception):
    """Redis did not answer in time, or answered with an error."""


class WriteRefusedError(StoreUnavailableError):
    """Redis answers, but refuses to write: its disk or memory is full."""


def connect(url: str, timeout: float, connections: int) -> Redis:
    """Return a client that connects lazily, with its own pool, without retries."""
    return Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - partly untyped in redis-py
        url,
        socket_timeout=timeout,
        socket_connect_timeout=timeout,
        max_connections=connections,
        retry=Retry(NoBackoff(), 0),  # the next sweep or request is the retry
        protocol=3,  # RESP2 returns scores of plain commands as strings in a flat list
        decode_responses=True,
    )


@contextmanager
def mapped_errors(timeout: float) -> Generator[None]:
    """Raise every failure of Redis as StoreUnavailableError."""
    try:
        yield
    except TimeoutError as error:
        raise StoreUnavailableError(f"Redis did not answer within {timeout:g} s") from error
    except ResponseError as error:
        refusal = _WRITE_REFUSAL.search(str(error))
        if refusal is not None or isinstance(error, OutOfMemoryError | ReadOnlyError):
            raise WriteRefusedError(f"Redis refuses to write: {refusal[0] if refusal else error}") from error
        raise StoreUnavailableError(f"Redis: {describe(error)}") from error
    except (RedisError, OSError, ValueError) as error:  # ValueError: a value is not UTF-8
        # redis-py's own text repeats the address.
        cause = error.__context__ if isinstance(error.__context__, OSError) else error
        raise StoreUnavailableError(f"Redis: {describe_connection_error(cause)}") from error


# Connections beyond the calls at once, for cancelled calls not yet closed.
SPARE_CONNECTIONS: Final = 8
# redis-py's own time-outs, for closing connections; a call's is shorter, and stops while the event loop stands still.
CONNECTION_SECONDS: Final = 10.0
# A pause of the event loop counts as one part at most: answers that came meanwhile are read in the others.
TIMEOUT_PARTS: Final = 5


class RunningTimeout:
    """Time-out that stands still while the event loop does.

    A context manager that raises TimeoutError after ``seconds`` in which the loop ran.

    A plain time-out fires before the loop looks at an answer that came while it stood still.
    """

    __slots__ = ("_handle", "_left", "_loop", "_seconds", "_timeout")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds / TIMEOUT_PARTS
        self._left = TIMEOUT_PARTS
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._loop = asyncio.get_running_loop()
        self._handle = self._loop.call_later(self._seconds, self._end_part)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _end_part(self) -> None:
        self._left -= 1
        if self._left:
            self._handle = self._loop.call_later(self._seconds, self._end_part)
        else:
            self._timeout.reschedule(self._loop.time())


class BoundedRedis:
    """Base of stores with their own connections, a few calls at once.

    A call waits at most ``timeout`` seconds for its turn and as long for Redis, then raises StoreUnavailableError. Time
    in which the event loop stands still does not count: Redis is not away because this process is busy.
    """

    def __init__(self, url: str, timeout: float, max_calls: int) -> None:
        self._redis = connect(url, CONNECTION_SECONDS, max_calls + SPARE_CONNECTIONS)
        self._timeout = timeout
        self._slots = asyncio.Semaphore(max_calls)
        self._failures = 0

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def _call(self, *command: str | float) -> Any:
        """Wait for a turn, then for Redis; fail if another call failed."""
        failures = self._failures
        with mapped_errors(self._timeout):
            async with RunningTimeout(self._timeout):
                await self._slots.acquire()
        try:
            if failures != self._failures:
                raise StoreUnavailableError("Redis did not answer an earlier call")
            try:
                with mapped_errors(self._timeout):
                    async with RunningTimeout(self._timeout):
                        return await self._execute(*command)
            except WriteRefusedError:
                raise
            except StoreUnavailableError:
                self._failures += 1
                raise
        finally:
            self._slots.release()

    async def _execute(self, *command: str | float) -> Any:
        # redis-py's types are unions over both protocols.
        return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there


@asynccontextmanager
async def pipeline(redis: Redis, seconds: float) -> AsyncGenerator[Pipeline]:
    """Send the block's commands together at its end, within ``seconds``.

    Raises:
        StoreUnavailableError: Redis failed.
    """
    with mapped_errors(seconds):
        async with asyncio.timeout(seconds), redis.pipeline(transaction=False) as commands:
            yield commands
            await commands.execute()
