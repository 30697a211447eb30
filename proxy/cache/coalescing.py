"""RequestCoalescer: equal requests at the same time are computed once."""

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
from shared.protocol.messages import TranslateRequest

# What nobody waits for any more goes on for this share of its age, and no longer than this: a client that gave up and
# asks again at once finds it still there (docs/decisions/0016-coalescing-and-cache.md).
LINGER_SHARE: Final = 0.1
LONGEST_LINGER_SECONDS: Final = 1.0
# Computations of others that one request joins, one after the other; where each ends by its own call's error, it goes alone.
MAX_JOINED: Final = 2
# With less time left than this nothing is started after another's computation failed: no engine answers within it.
WORTHWHILE_SECONDS: Final = 0.05
_HASH_KEY_BYTES: Final = 32


def request_fingerprint(request: TranslateRequest, key: bytes) -> bytes:
    """Return what all equal requests have in common, and no others: every field counts; ``key`` is up to 64 bytes."""
    return blake2b(request.model_dump_json().encode(), digest_size=FINGERPRINT_BYTES, key=key).digest()


@dataclass(eq=False, slots=True)
class SharedComputation:
    """One request's computation, in its own ``task``, and the ``joiners`` who wait for it beside its client.

    ``result`` is there from the first joiner on. Once the client has gone, ``cancel`` ends the task; ``end_timer``
    calls it when nobody waits any more.
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
        """Say whether it is urgent enough for the call: in a less urgent one the call would wait longer."""
        return self.call.priority.rank <= call.priority.rank

    def is_private_error(self, error: PairwayError, call: TranslationCall) -> bool:
        """Say whether the error concerns only its own caller: their time, capacity or share, or an end of theirs."""
        if isinstance(error, (DeadlineExceededError, ClientGoneError)):
            return True
        is_same_caller = self.call.caller == call.caller and self.call.priority is call.priority
        return isinstance(error, OverloadedError) and not is_same_caller

    def end(self, result: bytes | None, error: BaseException | None) -> None:
        """Give the joiners what came of it."""
        if self.result is None or self.result.done():
            return
        if error is None:
            self.result.set_result(result or b"")
            return
        self.result.set_exception(error if isinstance(error, Exception) else ClientGoneError())
        self.result.exception()  # one that nobody asks for would be logged


class RequestCoalescer:
    """Mutable state: the newest computation of each fingerprint, and all that are under way, by task.

    Never more than requests in flight, and for a while the results of those that ended while nobody waited.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hash_key = secrets.token_bytes(_HASH_KEY_BYTES)
        self._newest: dict[bytes, SharedComputation] = {}
        self._by_task: dict[asyncio.Task[Any], SharedComputation] = {}

    def __len__(self) -> int:
        return len(self._by_task)

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """At the end of the block, end what still is under way."""
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
        """Return the result for the call, and whether another's request computed it.

        Raises:
            PairwayError: as the computation did, each joiner's own copy; or the time of this call is over.
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
        """Say whether a request's task goes on though its client has gone.

        It computes something that others wait for or may ask for again; ``cancel`` is called once nobody has for a
        while.
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
        """Compute in this request's own task; others can join."""
        task = cast("asyncio.Task[Any]", asyncio.current_task())  # a coroutine runs in one
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
        else:  # the client asks again, perhaps: the result is kept as long as the computation would have gone on
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
            call.sample.pair, call.sample.replicas = sample.pair, list(sample.replicas)
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
        """Have it cancelled, so that nobody joins it any more; or forget its result."""
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
    """Return a copy for one caller, who may write into it."""
    kind = type(error)
    copy = kind.__new__(kind, *error.args)
    copy.__dict__.update(error.__dict__)
    copy.facts = dict(error.facts)
    return copy
