"""Flights: requests that ask for the same at the same time are computed once."""

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
# Flights of others that one request joins, one after the other, when each ends by what concerns only whom it was begun
# for; then it goes alone.
MAX_JOINED: Final = 2
# With less time left than this nothing is begun anew after another's flight failed: no engine answers within it.
WORTHWHILE_SECONDS: Final = 0.05
_KEY_BYTES: Final = 32


@dataclass(eq=False, slots=True)
class SharedComputation:
    """One computation, and how many wait for it; ``call`` is the one that it was begun for.

    ``held`` is what an abandoned one holds of the bodies' budget, ``end`` the timer that ends it.
    """

    fingerprint: bytes
    call: TranslationCall
    task: asyncio.Task[bytes]
    began_at: float
    waiters: int = 0
    end: asyncio.TimerHandle | None = None
    reservation: BodyReservation | None = None

    def is_for(self, call: TranslationCall) -> bool:
        """Say whether it is urgent enough for the call: in a less urgent one it would wait in a worse place."""
        return self.call.priority.rank <= call.priority.rank

    def ended_by_another(self, error: PairwayError, call: TranslationCall) -> bool:
        """Say whether the error concerns only whom it was begun for: their time, their place or their share."""
        if isinstance(error, DeadlineExceededError):
            return True
        mine = self.call.caller == call.caller and self.call.priority is call.priority
        return isinstance(error, OverloadedError) and not mine


class RequestCoalescer:
    """Mutable state: the flights under way, and the newest of each digest.

    There are never more than requests in hand, and abandoned ones, which hold their body's room in the budget and live
    for a tenth of the time that somebody waited for them.
    """

    def __init__(self, bodies: ByteBudget, clock: Callable[[], float]) -> None:
        """Take the budget of the bodies in hand, and a clock of seconds, monotonic."""
        self._bodies = bodies
        self._clock = clock
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._newest: dict[bytes, SharedComputation] = {}
        self._flights: set[SharedComputation] = set()

    def __len__(self) -> int:
        """Count the flights under way, and those that ended but may still be asked for."""
        return len(self._flights)

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """At the end of the block, end what still is under way."""
        try:
            yield
        finally:
            left = list(self._flights)
            for flight in left:
                self._revive(flight)
                self._cancel(flight)
            await asyncio.gather(*(flight.task for flight in left), return_exceptions=True)

    async def run(
        self, call: TranslationCall, work: Callable[[TranslationCall], Coroutine[None, None, bytes]]
    ) -> tuple[bytes, bool]:
        """Return what the work returns for the call, or for another that asks for the same, and whether it was another.

        The work goes on while anybody waits for it, and a little longer.

        Raises:
            PairwayError: as the work did, for this caller too; or the time of this call is over. Each call's own copy.
        """
        digest = await in_thread_if_large(call.request, partial(request_fingerprint, call.request, self._key))
        for _ in range(MAX_JOINED):
            flight = self._newest.get(digest)
            if flight is None or not flight.is_for(call):
                return await self._wait(self._begin(digest, call, work), call, None), False
            try:
                return await self._wait(flight, call, call.deadline.remaining()), True
            except PairwayError as error:
                if not flight.ended_by_another(error, call):
                    raise
                if call.deadline.remaining() < WORTHWHILE_SECONDS:
                    raise call.deadline.exceeded_error() from error
        return await work(call), False

    def _begin(
        self, digest: bytes, call: TranslationCall, work: Callable[[TranslationCall], Coroutine[None, None, bytes]]
    ) -> SharedComputation:
        # What is measured is the flight's own: the one that it was begun for may have been answered before it ends.
        call = call.with_sample(RequestSample())
        task = asyncio.create_task(work(call), name="flight")
        flight = SharedComputation(digest, call, task, self._clock())
        self._newest[digest] = flight
        self._flights.add(flight)
        task.add_done_callback(lambda _: self._ended(flight))
        return flight

    async def _wait(self, flight: SharedComputation, call: TranslationCall, seconds: float | None) -> bytes:
        """Return how the flight ends, unless the seconds pass before."""
        flight.waiters += 1
        self._revive(flight)
        try:
            await _end_of(flight.task, seconds)
        finally:
            call.sample.pair = flight.call.sample.pair
            call.sample.replicas = list(flight.call.sample.replicas)
            flight.waiters -= 1
            if not flight.waiters:
                self._abandon(flight)
        if not flight.task.done():
            raise call.deadline.exceeded_error()
        try:
            return flight.task.result()
        except PairwayError as error:
            raise _own(error) from error

    def _abandon(self, flight: SharedComputation) -> None:
        """Let it go on for a little, if the bodies' budget has room for it."""
        if flight.task.done():
            self._forget(flight)
            return
        seconds = min(LONGEST_LINGER_SECONDS, LINGER_SHARE * (self._clock() - flight.began_at))
        flight.reservation = self._bodies.reserve()
        try:
            flight.reservation.take(sum(map(sys.getsizeof, flight.call.request.texts)))
        except OverloadedError:
            self._cancel(flight)
            return
        flight.end = asyncio.get_running_loop().call_later(seconds, self._cancel, flight)

    def _revive(self, flight: SharedComputation) -> None:
        if flight.reservation is not None:
            flight.reservation.release()
            flight.reservation = None
        if flight.end is not None:
            flight.end.cancel()
            flight.end = None

    def _ended(self, flight: SharedComputation) -> None:
        """Forget what has ended; but a result that nobody took is kept as long as it would have gone on."""
        failed = (
            flight.task.cancelled() or flight.task.exception() is not None
        )  # one that nobody asks for would be logged
        if failed or flight.end is None:
            self._forget(flight)

    def _cancel(self, flight: SharedComputation) -> None:
        flight.end = None
        flight.task.cancel()
        if flight.task.done():
            self._forget(flight)
        elif self._newest.get(flight.fingerprint) is flight:
            del self._newest[flight.fingerprint]  # nobody joins what ends; it is forgotten when it has

    def _forget(self, flight: SharedComputation) -> None:
        self._revive(flight)
        self._flights.discard(flight)
        if self._newest.get(flight.fingerprint) is flight:
            del self._newest[flight.fingerprint]


async def _end_of(task: asyncio.Task[bytes], seconds: float | None) -> None:
    """Wait until the task has ended, whatever its end, or the seconds have passed (None: however long it takes).

    What asyncio.wait does, at a third of its cost where there is no limit: each request waits here.
    """
    if seconds is not None:
        await asyncio.wait({task}, timeout=seconds)
        return
    ended = asyncio.get_running_loop().create_future()

    def tell(_: asyncio.Task[bytes]) -> None:
        if not ended.done():
            ended.set_result(None)

    task.add_done_callback(tell)
    try:
        await ended
    finally:
        task.remove_done_callback(tell)


def _own(error: PairwayError) -> PairwayError:
    """Return a copy that only one caller has: what is written into it is nobody else's."""
    kind = type(error)
    copied = kind.__new__(kind, *error.args)
    copied.__dict__.update(error.__dict__)
    copied.facts = dict(error.facts)
    return copied
