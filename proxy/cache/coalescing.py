"""Coalescing: equal requests in flight share one computation."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import Any, Final, cast

from pydantic_core import to_json

from proxy.cache.abandoned_computations import AbandonedComputations
from proxy.cache.fingerprints import FINGERPRINT_BYTES, INLINE_CHARS
from proxy.cache.shared_computation import SharedComputation, private_key
from proxy.call import TranslationCall
from shared.protocol.errors import PairwayError
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.gc_tuning import drop_tracebacks

# An abandoned computation continues for this fraction of its age: its client may repeat the request
# (docs/decisions/0016-coalescing-and-cache.md).
LINGER_SHARE: Final = 0.1
LONGEST_LINGER_SECONDS: Final = 1.0
# A client that leaves earlier did not time out: its user cancelled, so TranslationCall.linger_seconds does not apply.
SHORTEST_TIMEOUT_SECONDS: Final = 1.0
# After joining this many failed computations, a request computes alone.
MAX_JOINED: Final = 2
# A retry needs this much time: no engine answers faster.
WORTHWHILE_SECONDS: Final = 0.05
_HASH_KEY_BYTES: Final = 32


def request_fingerprint(request: TranslateRequest, key: bytes) -> bytes:
    """Return a digest of all fields, keyed with at most 64 bytes."""
    return blake2b(to_json(request), digest_size=FINGERPRINT_BYTES, key=key).digest()


class RequestCoalescer:
    """Joins equal requests in flight, and those that clients abandoned.

    Abandoned computations linger, and their results are kept as long.
    While ``is_draining``, none lingers longer than ``LONGEST_LINGER_SECONDS``.
    """

    def __init__(self, clock: Callable[[], float], is_draining: Callable[[], bool]) -> None:
        self._clock = clock
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
                self._forget(computation)
                (computation.cancel or computation.task.cancel)()
            await asyncio.gather(*(computation.task for computation in computations), return_exceptions=True)

    async def run(
        self,
        call: TranslationCall,
        compute: Callable[[TranslationCall], Awaitable[bytes]],
        *,
        is_private: bool = False,
    ) -> tuple[bytes, bool]:
        """Return the result, and whether another request computed it.

        ``is_private``: it was one of the same caller.

        Raises:
            PairwayError: the computation failed, or this call's deadline passed.
        """
        key, request = self._hash_key, call.request
        if call.cost.chars > INLINE_CHARS:
            fingerprint = await asyncio.to_thread(request_fingerprint, request, key)
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
        return await compute(call), False

    def outlives_client(self, task: asyncio.Task[Any], cancel: Callable[[], object]) -> bool:
        """Return whether a task continues after its client disconnected.

        Only computations do: others await or may repeat them. ``cancel`` is called after a time without joiners.
        """
        computation = self._by_task.get(task)
        if computation is None:
            return False
        computation.cancel = cancel
        if not computation.joiners:
            self._linger(computation)
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
        self,
        fingerprint: bytes,
        call: TranslationCall,
        compute: Callable[[TranslationCall], Awaitable[bytes]],
        *,
        is_private: bool,
    ) -> bytes:
        task = cast("asyncio.Task[Any]", asyncio.current_task())  # never None inside a coroutine
        computation = SharedComputation(
            fingerprint, call.caller, call.cost, call.sample, task, self._clock(), is_private
        )
        if call.linger_seconds:
            computation.add_repeater(call)
        self._newest[fingerprint] = self._by_task[task] = computation
        try:
            result = await compute(call)
        except BaseException as error:
            self._stop_lingering(computation)
            self._forget(computation)
            computation.end(None, error)
            del task, computation  # the task holds its error, and that holds this frame
            raise
        if computation.end_timer is None:
            self._forget(computation)
            computation.end(result, None)
        else:
            self._keep(computation, result)
        return result

    async def _join(self, computation: SharedComputation, call: TranslationCall) -> bytes:
        self._stop_lingering(computation)
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
                self._forget(computation)
            elif not computation.joiners and computation.cancel is not None:
                self._linger(computation)
        if not computation.result.done():
            raise call.deadline.exceeded_error()
        try:
            return computation.result.result()
        except PairwayError as error:
            raise error.with_detail(error.detail) from error  # each caller may change its error

    def _linger(self, computation: SharedComputation) -> None:
        """Let it go on, first for all equal requests, then for repeaters."""
        age = self._clock() - computation.started_at
        seconds = min(LONGEST_LINGER_SECONDS, LINGER_SHARE * age)
        computation.linger_left = 0.0
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._end_period, computation)
        if computation.repeaters and age >= SHORTEST_TIMEOUT_SECONDS:
            computation.linger_left = computation.linger_seconds - seconds
            for key in computation.keys_for_repeaters():
                self._newest[key] = computation
            self._limit(computation)

    def _keep(self, computation: SharedComputation, result: bytes) -> None:
        """Keep the result of an abandoned computation until its time ends."""
        computation.result = computation.result or asyncio.get_running_loop().create_future()
        computation.end(result, None)
        computation.cancel = None
        if computation.linger_left > 0:
            self._limit(computation)

    def _limit(self, computation: SharedComputation) -> None:
        """Count it as abandoned, and end what exceeds the limits."""
        for excess in self._abandoned.add(computation):
            if excess is computation:  # too large
                computation.linger_left = 0.0
            else:
                self._end(excess)

    def _stop_lingering(self, computation: SharedComputation) -> None:
        if computation.end_timer is not None:
            computation.end_timer.cancel()
            computation.end_timer = None
            self._abandoned.discard(computation)

    def _end_period(self, computation: SharedComputation) -> None:
        """End it, or let it go on for its repeaters only."""
        seconds = min(LONGEST_LINGER_SECONDS, computation.linger_left)
        if seconds <= 0 or self._is_draining():
            self._end(computation)
            return
        if not computation.is_private:
            self._remove_key(computation.fingerprint, computation)
        computation.linger_left -= seconds
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._end_period, computation)

    def _end(self, computation: SharedComputation) -> None:
        """Cancel an abandoned computation, or drop its result."""
        self._stop_lingering(computation)
        if computation.cancel is None:
            self._forget(computation)
            return
        self._remove_keys(computation)
        computation.cancel()

    def _forget(self, computation: SharedComputation) -> None:
        self._by_task.pop(computation.task, None)
        self._remove_keys(computation)

    def _remove_keys(self, computation: SharedComputation) -> None:
        self._remove_key(computation.fingerprint, computation)
        for key in computation.keys_for_repeaters():
            self._remove_key(key, computation)

    def _remove_key(self, key: bytes, computation: SharedComputation) -> None:
        if self._newest.get(key) is computation:
            del self._newest[key]
