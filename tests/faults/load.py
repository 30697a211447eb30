"""An open loop of translations in a process of its own: ``python -m tests.faults.load PLAN`` (a :class:`Plan` as JSON).

Sends one request every 1/``rate`` seconds, however long the others take, until SIGTERM or the end of the process that
started it; then waits for the last answers. Every outcome is a line of the file ``out``; the last line is
``[sent, CPU seconds]``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO, cast

import aiohttp
import uvloop

from tests.faults.outcomes import Outcome
from tests.processes import Server
from tests.waiting import wait_until


@dataclass(frozen=True)
class Plan:
    """``text`` and ``answer`` hold ``{}`` for the request's number: the answer must be in the translation.

    A client waits for ``limit`` seconds.
    """

    url: str
    out: str
    name: str
    rate: float
    text: str
    answer: str
    source: str = "en"
    target: str = "de"
    limit: float = 5.0
    # The numbers' first, and how many there are: a small model can not translate every number.
    first: int = 0
    numbers: int = 1_000_000_000


class Load:
    """Sends and writes down."""

    def __init__(self, plan: Plan, session: aiohttp.ClientSession, out: TextIO) -> None:
        self._plan = plan
        self._session = session
        self._out = out

    async def send(self, number: int) -> None:
        """Send one request and write its outcome down."""
        plan = self._plan
        named = plan.first + number % plan.numbers
        body = {"text": plan.text.format(named), "source_lang": plan.source, "target_lang": plan.target}
        request_id = f"{plan.name}-{number}"
        sent = time.monotonic()
        status, code, model, right, retry_after = 0, "", "", False, False
        try:
            async with self._session.post(plan.url, json=body, headers={"X-Request-Id": request_id}) as response:
                answer = _object(await response.read())
                status = response.status
                retry_after = "Retry-After" in response.headers
                code, model = str(answer.get("code", "")), str(answer.get("model", ""))
                asked_and_answered = response.headers.get("X-Request-Id") == request_id
                right = asked_and_answered and plan.answer.format(named) in str(answer.get("translation"))
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError) as error:
            code = type(error).__name__
        outcome = Outcome(number, sent, time.monotonic() - sent, status, code, model, right, retry_after)
        self._out.write(json.dumps(outcome) + "\n")


def _object(body: bytes) -> dict[str, Any]:
    value: Any = json.loads(body)
    if not isinstance(value, dict):
        raise TypeError("no JSON object")
    return cast("dict[str, Any]", value)


async def run(plan: Plan) -> None:
    """Send until told to stop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    timeout = aiohttp.ClientTimeout(total=plan.limit)
    pending: set[asyncio.Task[None]] = set()
    number = 0
    starter = os.getppid()  # whose end ends us
    with Path(plan.out).open("w") as out:  # noqa: ASYNC230 - a line of a buffered file
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
            load = Load(plan, session, out)
            began = loop.time()
            while not stop.is_set() and os.getppid() == starter:
                task = asyncio.create_task(load.send(number))
                pending.add(task)
                task.add_done_callback(pending.discard)
                number += 1
                due = began + number / plan.rate
                if (pause := due - loop.time()) > 0:
                    await asyncio.sleep(pause)
            if pending:
                await asyncio.wait(pending)  # each is bounded by the limit
        out.write(json.dumps([number, time.process_time()]) + "\n")


class LoadProcess:
    """A load as the orchestrator sees it."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.cpu_seconds = 0.0
        self.sent = 0
        self._server = Server(
            [sys.executable, "-m", "tests.faults.load", json.dumps(asdict(plan))], folder / f"{plan.name}.log"
        )

    async def start(self) -> None:
        """Start it and wait until it sends."""
        self._server.start()
        await wait_until(Path(self.plan.out).exists, 20, "the load")

    async def end(self) -> None:
        """End it after its last answers."""
        await asyncio.to_thread(self._server.stop)

    async def stop(self) -> list[Outcome]:
        """End it, wait for its last answers and return every outcome in the order in which they were sent."""
        await self.end()
        lines = Path(self.plan.out).read_text().splitlines()  # noqa: ASYNC240 - the load is over
        assert lines, self._server.tail()
        self.sent, self.cpu_seconds = json.loads(lines[-1])
        outcomes = [Outcome(*json.loads(line)) for line in lines[:-1]]
        assert len(outcomes) == len({one.number for one in outcomes}) == self.sent, "an answer was lost or came twice"
        return sorted(outcomes)


def main() -> None:
    uvloop.run(run(Plan(**json.loads(sys.argv[1]))))


if __name__ == "__main__":
    main()
