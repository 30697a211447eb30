"""Coalescing: equal requests share one computation, which may outlive its client.

The states of a computation (docs/decisions/0016-coalescing-and-cache.md)::

    WANTED ⇄ ABANDONED → KEPT → ENDED

A computation that fails, or succeeds while WANTED, ends at once. Only an ABANDONED one that succeeds is KEPT. Both wait
for a join for a time, first of any equal request, then of repeaters only.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from hashlib import blake2b
from typing import Any, Final, cast

from pydantic_core import to_json

from proxy.call import RequestCost, TranslationCall
from proxy.keys.caller import Caller
from shared.parsing.long_bodies import LongBodies
from shared.protocol.errors import ClientGoneError, DeadlineExceededError, OverloadedError, PairwayError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.gc_tuning import drop_tracebacks
from shared.runtime.metrics import RequestSample

# 256 bits: texts are attacker-controlled, so collisions must be infeasible.
FINGERPRINT_BYTES: Final = 32
# Longer texts are hashed in a thread: 64 KiB take 70 µs.
HASHED_INLINE_CHARS: Final = 65_536
# An abandoned computation continues for this fraction of its age: its client may repeat the request.
LINGER_SHARE: Final = 0.1
LONGEST_LINGER_SECONDS: Final = 1.0
# A client that leaves earlier did not time out: its user cancelled, so TranslationCall.linger_seconds does not apply.
SHORTEST_TIMEOUT_SECONDS: Final = 1.0
# After joining this many failed computations, a request computes alone.
MAX_JOINED: Final = 2
# A retry needs this much time: no engine answers faster.
WORTHWHILE_SECONDS: Final = 0.05
_HASH_KEY_BYTES: Final = 32

# Callers that may repeat a request; those of a text that more of them want do not wait for its abandoned computation.
MAX_REPEATERS: Final = 16
# Of UTF-8.
BYTES_PER_CHAR: Final = 4

# Abandoned computations of a caller: as many as the requests that a document tool or web page has in flight.
MAX_PER_CALLER: Final = 16
# Twice the largest body.
MAX_BYTES_PER_CALLER: Final = 4 * 1024 * 1024
MAX_IN_ALL: Final = 256
MAX_BYTES_IN_ALL: Final = 32 * 1024 * 1024


def request_fingerprint(request: TranslateRequest, key: bytes) -> bytes:
    """Return a digest of all fields, keyed with at most 64 bytes."""
    return blake2b(to_json(request), digest_size=FINGERPRINT_BYTES, key=key).digest()


def private_key(fingerprint: bytes, caller: Caller) -> bytes:
    """Return the key of a computation that only this caller may join."""
    return fingerprint + caller.tag.encode()


class ComputationState(Enum):
    """States of a shared computation."""

    WANTED = "wanted"  # it runs, and its client or a joiner waits
    ABANDONED = "abandoned"  # it runs, and nobody waits
    KEPT = "kept"  # it succeeded while nobody waited, and its result waits for a join
    ENDED = "ended"  # its time is over: nobody may join


@dataclass(eq=False, slots=True)
class SharedComputation:
    """Computation in one request's ``task``, for which ``joiners`` other requests wait.

    The first joiner creates ``result``. ``has_client``: the request's own client is still there; ``cancel`` ends the task
    without it. ``end_timer`` runs while the computation is abandoned or kept. ``repeaters`` may join for
    ``linger_seconds`` after all clients have left; of these seconds, ``linger_left`` remain. It keeps no texts: a kept
    result does not count for the budget of bodies.
    """

    fingerprint: bytes
    caller: Caller
    cost: RequestCost
    sample: RequestSample
    task: asyncio.Task[Any]
    started_at: float
    is_private: bool
    cancel: Callable[[], object]
    state: ComputationState = ComputationState.WANTED
    has_client: bool = True
    joiners: int = 0
    result: asyncio.Future[bytes] | None = None
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

    def publish(self, result: bytes | None, error: BaseException | None) -> None:
        """Give the joiners the result or the error."""
        if self.result is None or self.result.done():
            return
        if error is None:
            self.result.set_result(result or b"")
            return
        self.result.set_exception(error if isinstance(error, Exception) else ClientGoneError())
        self.result.exception()  # asyncio logs exceptions that nobody retrieves


class AbandonedComputations:
    """Computations and results that nobody waits for, the oldest first, within limits.

    Each counts for its first repeater.
    """

    def __init__(self) -> None:
        self._all: dict[SharedComputation, int] = {}
        self._by_caller: defaultdict[Caller, dict[SharedComputation, None]] = defaultdict(dict)
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, computation: SharedComputation) -> list[SharedComputation]:
        """Add a computation; return those that exceed the limits, which are removed."""
        self.discard(computation)
        size, of_caller = computation.size, self._by_caller[computation.repeaters[0]]
        self._all[computation], of_caller[computation] = size, None
        self._bytes += size
        removed: list[SharedComputation] = []
        while len(of_caller) > MAX_PER_CALLER or sum(self._all[each] for each in of_caller) > MAX_BYTES_PER_CALLER:
            removed.append(self._pop(next(iter(of_caller))))
        while len(self._all) > MAX_IN_ALL or self._bytes > MAX_BYTES_IN_ALL:
            removed.append(self._pop(next(iter(self._all))))
        return removed

    def discard(self, computation: SharedComputation) -> None:
        """Remove a computation; it may be unknown."""
        if computation in self._all:
            self._pop(computation)

    def _pop(self, computation: SharedComputation) -> SharedComputation:
        caller = computation.repeaters[0]
        self._bytes -= self._all.pop(computation)
        of_caller = self._by_caller[caller]
        del of_caller[computation]
        if not of_caller:
            del self._by_caller[caller]
        return computation


class RequestCoalescer:
    """Joins equal requests in flight, and those that clients abandoned.

    While ``is_draining``, none lingers longer than ``LONGEST_LINGER_SECONDS``.
    """

    def __init__(self, clock: Callable[[], float], is_draining: Callable[[], bool], long_bodies: LongBodies) -> None:
        self._clock = clock
        self._long_bodies = long_bodies
        self._is_draining = is_draining
        self._hash_key = secrets.token_bytes(_HASH_KEY_BYTES)
        self._abandoned = AbandonedComputations()
        self._newest: dict[bytes, SharedComputation] = {}
        self._by_task: dict[asyncio.Task[Any], SharedComputation] = {}

    def __len__(self) -> int:
        return len(self._by_task)

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """Cancel the remaining computations at the end of the block."""
        try:
            yield
        finally:
            computations = list(self._by_task.values())
            for computation in computations:
                self._stop_lingering(computation)
                if computation.state is not ComputationState.KEPT:
                    computation.cancel()
                self._end(computation)
            await asyncio.gather(*(computation.task for computation in computations), return_exceptions=True)

    async def run(
        self, call: TranslationCall, compute: Callable[[], Awaitable[bytes]], *, is_private: bool = False
    ) -> tuple[bytes, bool]:
        """Return the result, and whether another request computed it.

        ``is_private``: it was one of the same caller.

        Raises:
            PairwayError: the computation failed, or this call's deadline passed.
        """
        key, request = self._hash_key, call.request
        if call.cost.chars > HASHED_INLINE_CHARS:
            fingerprint = await self._long_bodies.read(call.caller.identity, partial(request_fingerprint, request, key))
        else:
            fingerprint = request_fingerprint(request, key)
        if is_private:
            fingerprint = private_key(fingerprint, call.caller)
        for _ in range(MAX_JOINED):
            computation = self._find(fingerprint, call)
            if computation is None:
                return await self._lead(fingerprint, call, compute, is_private=is_private), False
            try:
                return await self._join(computation, call), True
            except PairwayError as error:
                if not computation.is_private_error(error, call):
                    raise
                if call.deadline.remaining() < WORTHWHILE_SECONDS:
                    raise call.deadline.exceeded_error() from error
                drop_tracebacks(error)
        return await compute(), False

    def outlive_client(self, task: asyncio.Task[Any], cancel: Callable[[], object]) -> bool:
        """Let a task continue after its client disconnected; return whether it does.

        Only computations do: others await or may repeat them. ``cancel`` is called after a time without joiners.
        """
        computation = self._by_task.get(task)
        if computation is None:
            return False
        computation.has_client, computation.cancel = False, cancel
        if not computation.joiners:
            self._abandon(computation)
        return True

    def _find(self, fingerprint: bytes, call: TranslationCall) -> SharedComputation | None:
        computation = self._newest.get(fingerprint)
        if computation is not None and computation.is_for(call):
            return computation
        if not call.linger_seconds:
            return None
        computation = self._newest.get(private_key(fingerprint, call.caller))
        return computation if computation is not None and computation.may_repeat(call) else None

    async def _lead(
        self, fingerprint: bytes, call: TranslationCall, compute: Callable[[], Awaitable[bytes]], *, is_private: bool
    ) -> bytes:
        task = cast("asyncio.Task[Any]", asyncio.current_task())  # never None inside a coroutine
        computation = SharedComputation(
            fingerprint, call.caller, call.cost, call.sample, task, self._clock(), is_private, task.cancel
        )
        if call.linger_seconds:
            computation.add_repeater(call)
        self._newest[fingerprint] = self._by_task[task] = computation
        try:
            result = await compute()
        except BaseException as error:
            self._stop_lingering(computation)
            self._end(computation)
            computation.publish(None, error)
            del task, computation  # the task holds its error, and that holds this frame
            raise
        if computation.state is ComputationState.ABANDONED:
            self._keep(computation, result)
        else:
            self._end(computation)
            computation.publish(result, None)
        return result

    async def _join(self, computation: SharedComputation, call: TranslationCall) -> bytes:
        self._stop_lingering(computation)
        if computation.state is ComputationState.ABANDONED:
            computation.state = ComputationState.WANTED
        if computation.result is None:
            computation.result = asyncio.get_running_loop().create_future()
        computation.joiners += 1
        if call.linger_seconds:
            computation.add_repeater(call)
        try:
            await asyncio.wait({computation.result}, timeout=call.deadline.remaining())
        finally:
            sample = computation.sample
            call.sample.pair, call.sample.route = sample.pair, sample.route
            call.sample.replicas = list(sample.replicas)
            computation.joiners -= 1
            if computation.result.done():
                self._end(computation)
            elif not computation.joiners and not computation.has_client:
                self._abandon(computation)
        if not computation.result.done():
            raise call.deadline.exceeded_error()
        try:
            return computation.result.result()
        except PairwayError as error:
            raise error.with_detail(error.detail) from error  # each caller may change its error

    def _abandon(self, computation: SharedComputation) -> None:
        """Let it go on, first for all equal requests, then for repeaters."""
        age = self._clock() - computation.started_at
        seconds = min(LONGEST_LINGER_SECONDS, LINGER_SHARE * age)
        computation.state = ComputationState.ABANDONED
        computation.linger_left = 0.0
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._end_period, computation)
        if computation.repeaters and age >= SHORTEST_TIMEOUT_SECONDS:
            computation.linger_left = computation.linger_seconds - seconds
            for key in computation.keys_for_repeaters():
                self._newest[key] = computation
            self._limit(computation)

    def _keep(self, computation: SharedComputation, result: bytes) -> None:
        """Keep the result of an abandoned computation until its time ends."""
        computation.state = ComputationState.KEPT
        computation.result = computation.result or asyncio.get_running_loop().create_future()
        computation.publish(result, None)
        if computation.linger_left > 0:
            self._limit(computation)

    def _limit(self, computation: SharedComputation) -> None:
        """Count it as abandoned, and drop what exceeds the limits."""
        for excess in self._abandoned.add(computation):
            if excess is computation:  # too large
                computation.linger_left = 0.0
            else:
                self._drop(excess)

    def _stop_lingering(self, computation: SharedComputation) -> None:
        if computation.end_timer is not None:
            computation.end_timer.cancel()
            computation.end_timer = None
            self._abandoned.discard(computation)

    def _end_period(self, computation: SharedComputation) -> None:
        """Drop it, or let it go on for its repeaters only."""
        seconds = min(LONGEST_LINGER_SECONDS, computation.linger_left)
        if seconds <= 0 or self._is_draining():
            self._drop(computation)
            return
        if not computation.is_private:
            self._remove_key(computation.fingerprint, computation)
        computation.linger_left -= seconds
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._end_period, computation)

    def _drop(self, computation: SharedComputation) -> None:
        """Cancel an abandoned computation, which then ends, or drop its result."""
        self._stop_lingering(computation)
        if computation.state is ComputationState.KEPT:
            self._end(computation)
            return
        computation.state = ComputationState.ENDED
        self._remove_keys(computation)
        computation.cancel()

    def _end(self, computation: SharedComputation) -> None:
        computation.state = ComputationState.ENDED
        self._by_task.pop(computation.task, None)
        self._remove_keys(computation)

    def _remove_keys(self, computation: SharedComputation) -> None:
        self._remove_key(computation.fingerprint, computation)
        if computation.repeaters:
            for key in computation.keys_for_repeaters():
                self._remove_key(key, computation)

    def _remove_key(self, key: bytes, computation: SharedComputation) -> None:
        if self._newest.get(key) is computation:
            del self._newest[key]
