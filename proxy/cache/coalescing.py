"""Coalescing: equal requests in flight share one computation."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, cast

from proxy.cache.fingerprints import FINGERPRINT_BYTES, INLINE_CHARS
from proxy.call import TranslationCall
from shared.protocol.errors import ClientGoneError, DeadlineExceededError, OverloadedError, PairwayError
from shared.protocol.translate_request import TranslateRequest

# An abandoned computation continues for this fraction of its age: its client may repeat the request
# (docs/decisions/0016-coalescing-and-cache.md).
LINGER_SHARE: Final = 0.1
LONGEST_LINGER_SECONDS: Final = 1.0
# After joining this many failed computations, a request computes alone.
MAX_JOINED: Final = 2
# A retry needs this much time: no engine answers faster.
WORTHWHILE_SECONDS: Final = 0.05
_HASH_KEY_BYTES: Final = 32


def request_fingerprint(request: TranslateRequest, key: bytes) -> bytes:
    """Return a digest of all fields, keyed with at most 64 bytes."""
    return blake2b(request.model_dump_json().encode(), digest_size=FINGERPRINT_BYTES, key=key).digest()


@dataclass(eq=False, slots=True)
class SharedComputation:
    """Computation in one request's ``task``, for which ``joiners`` other requests wait.

    The first joiner creates ``result``. ``cancel`` is set once the client disconnected; ``end_timer`` calls it.
    """

    fingerprint: bytes
    call: TranslationCall
    task: asyncio.Task[Any]
    started_at: float
    joiners: int = 0
    result: asyncio.Future[bytes] | None = None
    cancel: Callable[[], object] | None = None
    end_timer: asyncio.TimerHandle | None = None

    def is_for(self, call: TranslationCall) -> bool:
        """Return whether it is at least as urgent as the call."""
        return self.call.priority.rank <= call.priority.rank

    def is_private_error(self, error: PairwayError, call: TranslationCall) -> bool:
        """Return whether the error applies only to the computation's caller."""
        if isinstance(error, (DeadlineExceededError, ClientGoneError)):
            return True
        is_same_caller = self.call.caller == call.caller and self.call.priority is call.priority
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


class RequestCoalescer:
    """Joins equal requests in flight; keeps abandoned results for ``LONGEST_LINGER_SECONDS``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hash_key = secrets.token_bytes(_HASH_KEY_BYTES)
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
        self, call: TranslationCall, compute: Callable[[TranslationCall], Awaitable[bytes]]
    ) -> tuple[bytes, bool]:
        """Return the result, and whether another request computed it.

        Raises:
            PairwayError: the computation failed, or this call's deadline passed.
        """
        key, request = self._hash_key, call.request
        if call.cost.chars > INLINE_CHARS:
            fingerprint = await asyncio.to_thread(request_fingerprint, request, key)
        else:
            fingerprint = request_fingerprint(request, key)
        for _ in range(MAX_JOINED):
            computation = self._newest.get(fingerprint)
            if computation is None or not computation.is_for(call):
                return await self._lead(fingerprint, call, compute), False
            try:
                return await self._join(computation, call), True
            except PairwayError as error:
                if not computation.is_private_error(error, call):
                    raise
                if call.deadline.remaining() < WORTHWHILE_SECONDS:
                    raise call.deadline.exceeded_error() from error
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

    async def _lead(
        self, fingerprint: bytes, call: TranslationCall, compute: Callable[[TranslationCall], Awaitable[bytes]]
    ) -> bytes:
        task = cast("asyncio.Task[Any]", asyncio.current_task())  # never None inside a coroutine
        computation = SharedComputation(fingerprint, call, task, self._clock())
        self._newest[fingerprint] = self._by_task[task] = computation
        try:
            result = await compute(call)
        except BaseException as error:
            self._stop_lingering(computation)
            self._forget(computation)
            computation.end(None, error)
            raise
        if computation.end_timer is None:
            self._forget(computation)
        else:  # keep the result until the timer ends
            computation.result = computation.result or asyncio.get_running_loop().create_future()
            computation.cancel = None
        computation.end(result, None)
        return result

    async def _join(self, computation: SharedComputation, call: TranslationCall) -> bytes:
        self._stop_lingering(computation)
        if computation.result is None:
            computation.result = asyncio.get_running_loop().create_future()
        computation.joiners += 1
        try:
            await asyncio.wait({computation.result}, timeout=call.deadline.remaining())
        finally:
            sample = computation.call.sample
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
            raise _copy_error(error) from error

    def _linger(self, computation: SharedComputation) -> None:
        seconds = min(LONGEST_LINGER_SECONDS, LINGER_SHARE * (self._clock() - computation.started_at))
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._end, computation)

    def _stop_lingering(self, computation: SharedComputation) -> None:
        if computation.end_timer is not None:
            computation.end_timer.cancel()
            computation.end_timer = None

    def _end(self, computation: SharedComputation) -> None:
        """Cancel an abandoned computation, or drop its result."""
        computation.end_timer = None
        if computation.cancel is None:
            self._forget(computation)
            return
        if self._newest.get(computation.fingerprint) is computation:
            del self._newest[computation.fingerprint]
        computation.cancel()

    def _forget(self, computation: SharedComputation) -> None:
        self._by_task.pop(computation.task, None)
        if self._newest.get(computation.fingerprint) is computation:
            del self._newest[computation.fingerprint]


def _copy_error(error: PairwayError) -> PairwayError:
    """Return a copy, because each caller may change its error."""
    kind = type(error)
    copy = kind.__new__(kind, *error.args)
    copy.__dict__.update(error.__dict__)
    copy.facts = dict(error.facts)
    return copy
