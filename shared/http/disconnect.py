"""Client disconnects: how the work on a request learns of one, and ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar, cast

from fastapi import Request

from shared.protocol.errors import ClientGoneError

T = TypeVar("T")

# Where a request's scope has its connection's DisconnectSignal, among ASGI's extensions: of our own server only.
DISCONNECT_EXTENSION: Final = "pairway.disconnect"


class DisconnectSignal:
    """One connection's end, for all its requests. Mutable state: whether it came, and the callbacks to call then."""

    __slots__ = ("_callbacks", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._callbacks: dict[Callable[[], None], None] = {}

    def set(self) -> None:
        """Record the disconnect, and call every callback."""
        self.is_set = True
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks:
            callback()

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call it when the client disconnects."""
        self._callbacks[callback] = None

    def remove_callback(self, callback: Callable[[], None]) -> None:
        """Call it no more."""
        self._callbacks.pop(callback, None)


# Says whether a task goes on though its client has gone; then it is the one to call what would cancel it.
OutlivesClient = Callable[["asyncio.Task[Any]", Callable[[], None]], bool]


async def while_connected(
    request: Request, work: Coroutine[Any, Any, T], outlives_client: OutlivesClient | None = None
) -> T:
    """Await the work, but cancel it as soon as the client hangs up; the body must have been read before.

    Raises:
        ClientGoneError: the client hung up; the work has ended, cancelled unless it was to outlive the client.
    """
    signal, stop_listening = _listen(request)
    if signal.is_set:
        work.close()
        raise ClientGoneError
    cancelled = False
    task = cast("asyncio.Task[Any]", asyncio.current_task())  # a coroutine runs in one

    def cancel() -> None:
        nonlocal cancelled
        cancelled = True
        task.cancel()

    def disconnect() -> None:
        if outlives_client is None or not outlives_client(task, cancel):
            cancel()

    signal.add_callback(disconnect)
    try:
        result = await work
    except BaseException:
        if cancelled and task.cancelling() == 1:  # nobody else wants it cancelled; compare asyncio.timeout
            raise ClientGoneError from None
        raise
    finally:
        if cancelled:
            task.uncancel()
        signal.remove_callback(disconnect)
        stop_listening()
    if signal.is_set:
        raise ClientGoneError
    return result


def _listen(request: Request) -> tuple[DisconnectSignal, Callable[[], object]]:
    """Return the connection's signal, and what ends the listening: at another server a task, 20 µs a request."""
    signal: DisconnectSignal | None = request.scope.get("extensions", {}).get(DISCONNECT_EXTENSION)
    if signal is not None:
        return signal, lambda: None
    signal = DisconnectSignal()
    return signal, asyncio.create_task(_wait_for_disconnect(request, signal)).cancel


async def _wait_for_disconnect(request: Request, signal: DisconnectSignal) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    signal.set()
