"""Shared computation: one request's work, for which equal requests wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from proxy.call import TranslationCall
from proxy.keys.caller import Caller
from proxy.request_cost import RequestCost
from shared.protocol.errors import ClientGoneError, DeadlineExceededError, OverloadedError, PairwayError
from shared.runtime.metrics import RequestSample

# Callers that may repeat a request; those of a text that more of them want do not wait for its abandoned computation.
MAX_REPEATERS: Final = 16
# Of UTF-8.
BYTES_PER_CHAR: Final = 4


def private_key(fingerprint: bytes, caller: Caller) -> bytes:
    """Return the key of a computation that only this caller may join."""
    return fingerprint + caller.tag.encode()


@dataclass(eq=False, slots=True)
class SharedComputation:
    """Computation in one request's ``task``, for which ``joiners`` other requests wait.

    The first joiner creates ``result``. ``cancel`` is set once the client disconnected; ``end_timer`` is set while
    nobody waits. ``repeaters`` may join for ``linger_seconds`` after all clients have left; ``linger_left`` of them are
    left. It keeps no texts: a kept result does not count for the budget of bodies.
    """

    fingerprint: bytes
    caller: Caller
    cost: RequestCost
    sample: RequestSample
    task: asyncio.Task[Any]
    started_at: float
    is_private: bool
    joiners: int = 0
    result: asyncio.Future[bytes] | None = None
    cancel: Callable[[], object] | None = None
    end_timer: asyncio.TimerHandle | None = None
    linger_seconds: float = 0.0
    linger_left: float = 0.0
    repeaters: tuple[Caller, ...] = ()

    @property
    def size(self) -> int:
        """About its bytes: those of its texts, then those of its result."""
        is_done = self.result is not None and self.result.done()
        return len(self.result.result()) if self.result is not None and is_done else self.cost.chars * BYTES_PER_CHAR

    def keys_for_repeaters(self) -> list[bytes]:
        """Return the keys under which its repeaters find it."""
        if self.is_private:
            return [self.fingerprint]
        return [private_key(self.fingerprint, caller) for caller in self.repeaters]

    def add_repeater(self, call: TranslationCall) -> None:
        """Let the call's caller join it after all clients have left."""
        if len(self.repeaters) < MAX_REPEATERS and call.caller not in self.repeaters:
            self.repeaters += (call.caller,)
        self.linger_seconds = max(self.linger_seconds, call.linger_seconds)

    def is_for(self, call: TranslationCall) -> bool:
        """Return whether the call may join: not more urgent, and permitted."""
        return self.cost.priority.rank <= call.priority.rank and not (self.is_private and self.caller != call.caller)

    def may_repeat(self, call: TranslationCall) -> bool:
        """Return whether the call may join after all clients have left."""
        return call.caller in self.repeaters and self.is_for(call)

    def is_private_error(self, error: PairwayError, call: TranslationCall) -> bool:
        """Return whether the error applies only to the computation's caller."""
        if isinstance(error, (DeadlineExceededError, ClientGoneError)):
            return True
        is_same_caller = self.caller == call.caller and self.cost.priority is call.priority
        return isinstance(error, OverloadedError) and not is_same_caller

    def end(self, result: bytes | None, error: BaseException | None) -> None:
        """Give the joiners the result or the error."""
        if self.result is None or self.result.done():
            return
        if error is None:
            self.result.set_result(result or b"")
            return
        self.result.set_exception(error if isinstance(error, Exception) else ClientGoneError())
        self.result.exception()  # asyncio logs exceptions that nobody retrieves
