"""Departure: tells who works on a request that its client has hung up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, Self, cast

from fastapi import Request

from shared.http.problems import T
from shared.protocol.errors import (
    ClientGoneError,
)

# Where a request's scope has its connection's Departure, among ASGI's extensions: of our own server only.
EXTENSION: Final = "pairway.departure"


class DisconnectSignal:
    """One connection's end. Mutable state: whether it came, and who is to be told.

    A request that is answered looks no more, so one serves all requests of its connection.
    """

    __slots__ = ("_told", "happened")

    def __init__(self) -> None:
        """Begin with the peer still there."""
        self.happened = False
        self._told: dict[Callable[[], None], None] = {}

    def happens(self) -> None:
        """Tell everybody who listens."""
        self.happened = True
        told, self._told = self._told, {}
        for each in told:
            each()

    def tell(self, what: Callable[[], None]) -> None:
        """Call it when the peer leaves."""
        self._told[what] = None

    def forget(self, what: Callable[[], None]) -> None:
        """Call it no more."""
        self._told.pop(what, None)


def departure_of(request: Request) -> DisconnectSignal | None:
    """Return that of the request's connection; None at another server than ours."""
    return request.scope.get("extensions", {}).get(EXTENSION)


class DisconnectWatch:
    """Calls something once the client of a request has hung up, while the block lasts; its body must have been read."""

    __slots__ = ("_departure", "_request", "_watcher", "_what")

    def __init__(self, request: Request, what: Callable[[], None]) -> None:
        """Take what is to be called."""
        self._request = request
        self._what = what
        self._departure = departure_of(request)
        self._watcher: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        """Listen."""
        if self._departure is None:
            self._watcher = asyncio.create_task(self._wait())
        else:
            self._departure.tell(self._what)
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        if self._departure is not None:
            self._departure.forget(self._what)
        if self._watcher is not None:
            self._watcher.cancel()

    async def _wait(self) -> None:
        """Listen to another server than ours, with a task, which costs each request 20 µs."""
        while (await self._request.receive())["type"] != "http.disconnect":
            pass
        self._what()


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await the work, but cancel it as soon as the client hangs up; the body must have been read before.

    Raises:
        ClientGoneError: the client hung up; the work was cancelled and has ended.
    """
    departure = departure_of(request)
    if departure is not None and departure.happened:
        work.close()
        raise ClientGoneError
    gone = False
    own = cast("asyncio.Task[Any]", asyncio.current_task())  # a coroutine runs in one

    def leave() -> None:
        nonlocal gone
        gone = True
        own.cancel()

    with DisconnectWatch(request, leave):
        try:
            return await work
        except BaseException:
            if gone and own.cancelling() == 1:  # nobody else wants it cancelled; compare asyncio.timeout
                raise ClientGoneError from None
            raise
        finally:
            if gone:
                own.uncancel()
