"""Connection to the fleet's Redis: turns, time-outs, errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError

from shared.runtime.logging import describe, describe_connection_error

# The codes of such answers, which Redis 6 hides in a script's error, and redis-py may cut off. Redis 7 adds the script.
_WRITE_REFUSAL: Final = re.compile(r"\b(?:MISCONF|OOM|READONLY)\b.*?(?=\.? script: |$)")
# Connections beyond the calls at once, for cancelled calls not yet closed.
SPARE_CONNECTIONS: Final = 8
# redis-py's own time-outs, for closing connections; a call's is shorter, and stops while the event loop stands still.
CONNECTION_SECONDS: Final = 10.0
# A pause of the event loop counts as one part at most: answers that came meanwhile are read in the others.
TIMEOUT_PARTS: Final = 5

Argument = str | float | bytes


class StoreUnavailableError(Exception):
    """Redis did not answer in time, or answered with an error."""


class WriteRefusedError(StoreUnavailableError):
    """Redis answers, but refuses to write: its disk or memory is full."""


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


class RunningTimeout:
    """Raises TimeoutError after ``seconds`` in which the event loop ran.

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


class RedisConnection:
    """Connections of one part of the proxy, for few calls.

    A call waits at most ``timeout`` seconds for its turn and as long for Redis, then raises StoreUnavailableError. A
    busy event loop does not count: Redis is not away because this process is busy.
    """

    def __init__(self, url: str, timeout: float, max_calls: int) -> None:
        self._redis = Redis.from_url(  # pyright: ignore[reportUnknownMemberType] - partly untyped in redis-py
            url,
            socket_timeout=CONNECTION_SECONDS,
            socket_connect_timeout=CONNECTION_SECONDS,
            max_connections=max_calls + SPARE_CONNECTIONS,
            retry=Retry(NoBackoff(), 0),  # the next sweep or request is the retry
            protocol=3,  # RESP2 returns scores of plain commands as strings in a flat list
            decode_responses=True,
        )
        self._timeout = timeout
        self._slots = asyncio.Semaphore(max_calls)
        self._failures = 0

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def call(self, *command: Argument, timeouts: int = 1) -> Any:
        """Send a command; return the answer within ``timeouts`` time-outs."""

        async def execute() -> Any:
            # redis-py's types are unions over both protocols.
            return await self._redis.execute_command(*command)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there

        return await self._in_turn(execute, timeouts)

    async def send(self, commands: Sequence[Sequence[Argument]], timeouts: int = 2) -> list[Any]:
        """Send commands together; return their answers."""

        async def execute() -> list[Any]:
            async with self._redis.pipeline(transaction=False) as pipe:
                for command in commands:
                    pipe.execute_command(*command)  # pyright: ignore[reportUnknownMemberType] - untyped there
                return await pipe.execute()

        return await self._in_turn(execute, timeouts)

    async def _in_turn(self, execute: Callable[[], Awaitable[Any]], timeouts: int) -> Any:
        """Wait for a turn, then for Redis; fail if another call failed."""
        failures, seconds = self._failures, timeouts * self._timeout
        with mapped_errors(self._timeout):
            async with RunningTimeout(self._timeout):
                await self._slots.acquire()
        try:
            if failures != self._failures:
                raise StoreUnavailableError("Redis did not answer an earlier call")
            try:
                with mapped_errors(seconds):
                    async with RunningTimeout(seconds):
                        return await execute()
            except WriteRefusedError:
                raise
            except StoreUnavailableError:
                self._failures += 1
                raise
        finally:
            self._slots.release()
