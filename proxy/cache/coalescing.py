"""RequestCoalescer: equal requests at the same time are computed once."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from proxy.cache.fingerprints import in_thread_if_large, request_fingerprint
from proxy.call import TranslationCall
from shared.http.body_budget import BodyReservation, ByteBudget
from shared.protocol.errors import DeadlineExceededError, OverloadedError, PairwayError
from shared.runtime.metrics import RequestSample

# What nobody waits for any more goes on for this share of its age, and no longer than this: a client that gave up and
# asks again at once (DeepL's: after 10 s without an answer) finds it still there. Who just went away costs an engine a
# tenth more than it has cost already.
LINGER_SHARE: Final = 0.1
LONGEST_LINGER_SECONDS: Final = 1.0
# Computations of others that one request joins, one after the other, when each ends by what concerns only the call that it
# was started for; then it goes alone.
MAX_JOINED: Final = 2
# With less time left than this nothing is started after another's computation failed: no engine answers within it.
WORTHWHILE_SECONDS: Final = 0.05
_HASH_KEY_BYTES: Final = 32


@dataclass(eq=False, slots=True)
class SharedComputation:
    """One computation, and how many wait for it.

    ``call`` is the one that it was started for; ``reservation`` is what an abandoned one holds of the bodies' budget,
    ``end_timer`` ends it.
    """

    fingerprint: bytes
    call: TranslationCall
    task: asyncio.Task[bytes]
    started_at: float
    waiters: int = 0
    end_timer: asyncio.TimerHandle | None = None
    reservation: BodyReservation | None = None

    def is_for(self, call: TranslationCall) -> bool:
        """Say whether it is urgent enough for the call.

        In a less urgent one the call would wait longer.
        """
        return self.call.priority.rank <= call.priority.rank

    def is_private_error(self, error: PairwayError, call: TranslationCall) -> bool:
        """Say whether the error concerns only the computation's own caller.

        Their time, their capacity or their share.
        """
        if isinstance(error, DeadlineExceededError):
            return True
        is_same_caller = self.call.caller == call.caller and self.call.priority is call.priority
        return isinstance(error, OverloadedError) and not is_same_caller


class RequestCoalescer:
    """Mutable state: the computations under way, and the newest of each fingerprint.

    There are never more than requests in flight, and abandoned ones, which hold their body's share of the budget and
    live for a tenth of the time that somebody waited for them.
    """

    def __init__(self, bodies: ByteBudget, clock: Callable[[], float]) -> None:
        """Begin with nothing under way; ``clock`` gives monotonic seconds.

        ``bodies`` is the budget of the bodies in memory.
        """
        self._bodies = bodies
        self._clock = clock
        self._hash_key = secrets.token_bytes(_HASH_KEY_BYTES)
        self._newest: dict[bytes, SharedComputation] = {}
        self._computations: set[SharedComputation] = set()

    def __len__(self) -> int:
        """Count the computations, those that linger included."""
        return len(self._computations)

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """At the end of the block, end what still is under way."""
        try:
            yield
        finally:
            computations = list(self._computations)
            for computation in computations:
                self._stop_lingering(computation)
                self._cancel(computation)
            await asyncio.gather(*(computation.task for computation in computations), return_exceptions=True)

    async def run(
        self, call: TranslationCall, compute: Callable[[TranslationCall], Coroutine[None, None, bytes]]
    ) -> tuple[bytes, bool]:
        """Return the result for the call, and whether another computed it.

        The computation goes on while anybody waits for it, and a little longer.

        Raises:
            PairwayError: as the computation did, for this caller too; or the time of this call is over. Each call's own copy.
        """
        fingerprint = await in_thread_if_large(call.request, partial(request_fingerprint, call.request, self._hash_key))
        for _ in range(MAX_JOINED):
            computation = self._newest.get(fingerprint)
            if computation is None or not computation.is_for(call):
                return await self._wait(self._start(fingerprint, call, compute), call, None), False
            try:
                return await self._wait(computation, call, call.deadline.remaining()), True
            except PairwayError as error:
                if not computation.is_private_error(error, call):
                    raise
                if call.deadline.remaining() < WORTHWHILE_SECONDS:
                    raise call.deadline.exceeded_error() from error
        return await compute(call), False

    def _start(
        self,
        fingerprint: bytes,
        call: TranslationCall,
        compute: Callable[[TranslationCall], Coroutine[None, None, bytes]],
    ) -> SharedComputation:
        # The sample is the computation's own: the call that it was started for may have been answered before it ends.
        call = call.with_sample(RequestSample())
        task = asyncio.create_task(compute(call), name="shared-computation")
        computation = SharedComputation(fingerprint, call, task, self._clock())
        self._newest[fingerprint] = computation
        self._computations.add(computation)
        task.add_done_callback(lambda _: self._on_done(computation))
        return computation

    async def _wait(self, computation: SharedComputation, call: TranslationCall, seconds: float | None) -> bytes:
        """Return the computation's result, unless the seconds pass before."""
        computation.waiters += 1
        self._stop_lingering(computation)
        try:
            await _wait_until_done(computation.task, seconds)
        finally:
            call.sample.pair = computation.call.sample.pair
            call.sample.replicas = list(computation.call.sample.replicas)
            computation.waiters -= 1
            if not computation.waiters:
                self._linger(computation)
        if not computation.task.done():
            raise call.deadline.exceeded_error()
        try:
            return computation.task.result()
        except PairwayError as error:
            raise _copy_error(error) from error

    def _linger(self, computation: SharedComputation) -> None:
        """Let it go on for a little, if the bodies' budget allows."""
        if computation.task.done():
            self._forget(computation)
            return
        seconds = min(LONGEST_LINGER_SECONDS, LINGER_SHARE * (self._clock() - computation.started_at))
        computation.reservation = self._bodies.reserve()
        try:
            computation.reservation.take(sum(map(sys.getsizeof, computation.call.request.texts)))
        except OverloadedError:
            self._cancel(computation)
            return
        computation.end_timer = asyncio.get_running_loop().call_later(seconds, self._cancel, computation)

    def _stop_lingering(self, computation: SharedComputation) -> None:
        if computation.reservation is not None:
            computation.reservation.release()
            computation.reservation = None
        if computation.end_timer is not None:
            computation.end_timer.cancel()
            computation.end_timer = None

    def _on_done(self, computation: SharedComputation) -> None:
        """Forget what has ended.

        But a result that nobody took is kept as long as it would have gone on.
        """
        # An exception that nobody asks for would be logged.
        failed = computation.task.cancelled() or computation.task.exception() is not None
        if failed or computation.end_timer is None:
            self._forget(computation)

    def _cancel(self, computation: SharedComputation) -> None:
        computation.end_timer = None
        computation.task.cancel()
        if computation.task.done():
            self._forget(computation)
        elif self._newest.get(computation.fingerprint) is computation:
            del self._newest[computation.fingerprint]  # nobody joins what ends; it is forgotten when it has

    def _forget(self, computation: SharedComputation) -> None:
        self._stop_lingering(computation)
        self._computations.discard(computation)
        if self._newest.get(computation.fingerprint) is computation:
            del self._newest[computation.fingerprint]


async def _wait_until_done(task: asyncio.Task[bytes], seconds: float | None) -> None:
    """Wait until the task has ended, or the seconds have passed.

    None: however long it takes. What asyncio.wait does, at a third of its cost where there is no limit: each request
    waits here.
    """
    if seconds is not None:
        await asyncio.wait({task}, timeout=seconds)
        return
    ended = asyncio.get_running_loop().create_future()

    def set_ended(_: asyncio.Task[bytes]) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(set_ended)
    try:
        await ended
    finally:
        task.remove_done_callback(set_ended)


def _copy_error(error: PairwayError) -> PairwayError:
    """Return a copy for one caller, who may write into it."""
    kind = type(error)
    copy = kind.__new__(kind, *error.args)
    copy.__dict__.update(error.__dict__)
    copy.facts = dict(error.facts)
    return copy
