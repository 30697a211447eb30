"""The overload benchmark's clients, in a process of their own: ``python -m benchmarks.harness.load PLAN`` (as JSON).

Each stream of a plan is one client address with connections of its own. An open stream sends at Poisson times, however long
the answers take; a closed one keeps ``concurrency`` requests in flight. Every answer is a line of the file ``out``, written
when all have come; the last line says when it began, what CPU it took and how late it was with what was due.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import aiohttp
import uvloop

from benchmarks.harness.texts import Mix, Text, read_sentences
from shared.priority import PRIORITY_HEADER

if TYPE_CHECKING:
    from collections.abc import Iterator

    Numbered = tuple[int, Text]

# Longer than any time-out of the servers for these texts: a request that nobody answers shows as one.
PATIENCE_SECONDS: Final = 60.0
# What a client obeys at most; more counts as a place never given.
LONGEST_RETRY_SECONDS: Final = 60.0
# Before a closed stream asks anew after a refusal.
REFUSED_PAUSE_SECONDS: Final = 0.1
OK: Final = 200
BUSY: Final = frozenset({429, 503})
# Clients have machines of their own: here they come before the servers, where that is allowed.
NICENESS: Final = -10


@dataclass(frozen=True)
class Stream:
    """One client: ``rate`` a second (open), or ``concurrency`` at once (closed); ``returns``: who is refused asks again."""

    name: str
    rate: float = 0.0
    concurrency: int = 0
    address: str = "127.0.0.1"
    priority: str = "interactive"
    returns: bool = False


@dataclass(frozen=True)
class Plan:
    """``warm_up`` and ``seconds`` of sending; ``first`` is the number of the first text, ``pairs`` the file of sentences."""

    url: str
    out: str
    pairs: str
    seed: int
    first: int
    warm_up: float
    seconds: float
    streams: list[Stream]


class Answer(NamedTuple):
    """One asking and what came of it; times are monotonic seconds.

    ``due`` is when it should have been sent, ``status`` 0 is no answer, ``code`` the problem's or the client's error,
    ``retry_after`` -1 without one, ``turn`` 1 or, for who came back, 2.
    """

    stream: str
    number: int
    units: float
    due: float
    sent: float
    ended: float
    status: int
    code: str
    retry_after: float
    turn: int


class Client:
    """Sends one stream's requests and keeps what came."""

    def __init__(self, plan: Plan, stream: Stream, session: aiohttp.ClientSession, texts: Iterator[Numbered]) -> None:
        self.stream = stream
        self.answers: list[Answer] = []
        self._plan = plan
        self._session = session
        self._headers = {PRIORITY_HEADER: stream.priority, "Content-Type": "application/json"}
        self._texts = texts
        self._rng = random.Random(f"{plan.seed} {plan.first} {stream.name}")  # noqa: S311 - a schedule, no secret

    async def run(self, began: float) -> None:
        """Send from ``began`` on as long as the plan says, and wait for the last answer."""
        until = began + self._plan.warm_up + self._plan.seconds
        if self.stream.concurrency:
            await asyncio.gather(*(self._ask_on(until) for _ in range(self.stream.concurrency)))
            return
        async with asyncio.TaskGroup() as group:
            due = began
            while (due := due + self._rng.expovariate(self.stream.rate)) < until:
                if (pause := due - time.monotonic()) > 0:
                    await asyncio.sleep(pause)
                group.create_task(self._ask(next(self._texts), due))

    async def _ask_on(self, until: float) -> None:
        while (now := time.monotonic()) < until:
            if (await self._ask(next(self._texts), now)).status != OK:
                await asyncio.sleep(REFUSED_PAUSE_SECONDS)

    async def _ask(self, numbered: Numbered, due: float) -> Answer:
        number, text = numbered
        asked = {"text": text.text, "source_lang": "en", "target_lang": "de"}
        body = json.dumps(asked).encode()
        answer = await self._post(number, text.units, body, due, 1)
        if self.stream.returns and answer.status in BUSY and 0 <= answer.retry_after <= LONGEST_RETRY_SECONDS:
            back = answer.ended + answer.retry_after
            await asyncio.sleep(back - time.monotonic())
            await self._post(number, text.units, body, back, 2)
        return answer

    async def _post(self, number: int, units: float, body: bytes, due: float, turn: int) -> Answer:
        sent = time.monotonic()
        status, code, retry_after = 0, "", -1.0
        try:
            async with self._session.post(self._plan.url, data=body, headers=self._headers) as response:
                content: dict[str, Any] = json.loads(await response.read())
                status = response.status
                retry_after = _seconds(response.headers.get("Retry-After"))
                code = "" if status == OK and content["translation"] else str(content.get("code", "no translation"))
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError) as error:
            status, code = 0, type(error).__name__
        ended = time.monotonic()
        answer = Answer(self.stream.name, number, units, due, sent, ended, status, code, retry_after, turn)
        self.answers.append(answer)
        return answer


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else -1.0


async def run(plan: Plan) -> None:
    """Send every stream and write down what came."""
    timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
    mix = Mix(read_sentences(Path(plan.pairs) if plan.pairs else None), plan.seed)
    texts = ((number, mix.text(number)) for number in itertools.count(plan.first))
    clients: list[Client] = []
    sessions: list[aiohttp.ClientSession] = []
    try:
        for stream in plan.streams:
            connector = aiohttp.TCPConnector(limit=0, local_addr=(stream.address, 0))
            sessions.append(aiohttp.ClientSession(connector=connector, timeout=timeout))
            clients.append(Client(plan, stream, sessions[-1], texts))
        cpu = time.process_time()
        began = time.monotonic()
        await asyncio.gather(*(client.run(began) for client in clients))
    finally:
        await asyncio.gather(*(session.close() for session in sessions))
    with Path(plan.out).open("w") as out:  # noqa: ASYNC230 - everything has been sent
        out.writelines(json.dumps(answer) + "\n" for client in clients for answer in client.answers)
        out.write(json.dumps({"began": began, "ended": time.monotonic(), "cpu": time.process_time() - cpu}) + "\n")


def as_json(plan: Plan) -> str:
    """Return what the process takes as its argument."""
    return json.dumps(asdict(plan))


def main() -> None:
    """Run the plan of the command line."""
    with contextlib.suppress(PermissionError):
        os.nice(NICENESS)
    fields = json.loads(sys.argv[1])
    streams = [Stream(**stream) for stream in fields.pop("streams")]
    uvloop.run(run(Plan(**fields, streams=streams)))


if __name__ == "__main__":
    main()
