"""A coalescer with computations that tests end by hand."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from proxy.cache.coalescing import RequestCoalescer
from proxy.call import RequestCost, TranslationCall
from proxy.keys.caller import Caller
from shared.languages import LanguagePair
from shared.parsing.long_bodies import LongBodies
from shared.protocol.deadline import Deadline
from shared.protocol.priority import Priority
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import RequestSample
from shared.runtime.turns import LoopTurns
from tests.support.clock import HandClock
from tests.support.waiting import wait_until

HELLO = TranslateRequest(text="Hello", source_lang="en", target_lang="de")


@dataclass
class Computations:
    """What is computed: one future per computation, to be ended by hand."""

    calls: list[TranslationCall] = field(default_factory=list[TranslationCall])
    results: list[asyncio.Future[bytes]] = field(default_factory=list[asyncio.Future[bytes]])
    cancelled: int = 0

    async def __call__(self, call: TranslationCall) -> bytes:
        self.calls.append(call)
        call.sample.pair = call.sample.route = "en-de"
        result = asyncio.get_running_loop().create_future()
        self.results.append(result)
        try:
            return await result
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def count(self, count: int) -> None:
        await wait_until(lambda: len(self.calls) == count, 3, f"{count} computations")


@dataclass
class CoalescerHarness:
    """A coalescer, its computations, and callers that wait."""

    clock: HandClock = field(default_factory=HandClock)
    is_draining: bool = False
    coalescer: RequestCoalescer = field(init=False)
    computations: Computations = field(default_factory=Computations)
    tasks: list[asyncio.Task[tuple[bytes, bool]]] = field(default_factory=list[asyncio.Task[tuple[bytes, bool]]])

    def __post_init__(self) -> None:
        self.coalescer = RequestCoalescer(self.clock, lambda: self.is_draining, LongBodies(LoopTurns()))

    def call(
        self,
        request: TranslateRequest = HELLO,
        *,
        caller: str = "ann",
        priority: Priority = Priority.INTERACTIVE,
        seconds: float = 30,
        linger_seconds: float = 0,
        pairs: frozenset[LanguagePair] | None = None,
    ) -> TranslationCall:
        deadline = Deadline.after(seconds, asyncio.get_running_loop().time)
        cost = RequestCost.of(request, priority)
        who, sample = Caller(caller, pairs=pairs), RequestSample()
        return TranslationCall(request, cost, who, priority, deadline, "id", sample, linger_seconds=linger_seconds)

    async def request(
        self, call: TranslationCall | None = None, *, is_private: bool = False
    ) -> asyncio.Task[tuple[bytes, bool]]:
        """Start to wait, and return once it does."""
        call = call or self.call()
        work = self.coalescer.run(call, lambda: self.computations(call), is_private=is_private)
        task = asyncio.create_task(work)
        self.tasks.append(task)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return task

    async def leave(self, task: asyncio.Task[Any]) -> None:
        """Hang up, as the client of that request; it ends at once unless its computation goes on."""
        if not self.coalescer.outlive_client(task, task.cancel):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
