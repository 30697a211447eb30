"""HTTP clients of ``/translate`` in a process of their own: ``python -m benchmarks.harness.http_load PLAN`` (as JSON).

Each stream of a plan is one client address with connections of its own; open streams send at random or at equal times. Every
response is a line of the file ``out``, written when all have come; the last line is :class:`LoadTimes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import aiohttp
import uvloop

from benchmarks.harness.load import Sample, closed_loop, open_loop, poisson, raise_priority, steady
from benchmarks.harness.processes import Server
from benchmarks.harness.texts import Text, TextSource
from benchmarks.harness.waiting import wait_until
from shared.protocol.priority import PRIORITY_HEADER

# What a client obeys at most; more counts as no time at all.
MAX_RETRY_SECONDS: Final = 60.0
# Before a closed stream sends its next request after a refusal.
REFUSED_PAUSE_SECONDS: Final = 0.1
OK: Final = 200
BUSY: Final = frozenset({429, 503})
START_SECONDS: Final = 20.0
ORPHAN_CHECK_SECONDS: Final = 0.5


@dataclass(frozen=True)
class Stream:
    """One client: ``rate`` a second (open loop), or ``concurrency`` requests in flight (closed loop).

    ``poisson``: at random times; ``retries``: a refused request is sent again when ``Retry-After`` says.
    """

    name: str
    rate: float = 0.0
    concurrency: int = 0
    poisson: bool = True
    address: str = "127.0.0.1"
    priority: str = "interactive"
    retries: bool = False


@dataclass(frozen=True)
class LoadPlan:
    """Streams and texts of one load; ``seconds`` 0: until SIGTERM.

    ``timeout``: what a client waits for a response; ``request_ids``: prefix of the ids, checked in the responses.
    """

    url: str
    out: str
    streams: list[Stream]
    texts: TextSource
    seconds: float = 0.0
    # Longer than any time-out of the servers: a request that nobody answers shows as one.
    timeout: float = 60.0
    request_ids: str = ""

    def to_json(self) -> str:
        """Return the plan for a command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LoadPlan:
        """Read what :meth:`to_json` made."""
        fields: dict[str, Any] = json.loads(text)
        streams = [Stream(**stream) for stream in fields.pop("streams")]
        return cls(streams=streams, texts=TextSource(**fields.pop("texts")), **fields)


class LoadTimes(NamedTuple):
    """When a load began (monotonic seconds), how many requests it sent, and the CPU seconds that they took."""

    began: float
    sent: int
    cpu: float


class Client:
    """Sends one stream's requests and keeps the samples."""

    def __init__(
        self, plan: LoadPlan, stream: Stream, session: aiohttp.ClientSession, texts: Iterator[tuple[int, Text]]
    ) -> None:
        self.samples: list[Sample] = []
        self._plan = plan
        self._stream = stream
        self._session = session
        self._texts = texts

    async def run(self, stop: asyncio.Event) -> None:
        """Send until told to stop."""
        stream = self._stream
        if stream.concurrency:
            await closed_loop(stream.concurrency, self._send, stop)
            return
        seed = f"{self._plan.texts.seed} {self._plan.texts.first} {stream.name}"
        pauses = poisson(stream.rate, Random(seed)) if stream.poisson else steady(stream.rate)  # noqa: S311 - a schedule
        await open_loop(pauses, self._send, stop)

    async def _send(self, due: float) -> None:
        number, text = next(self._texts)
        sample = await self._post(number, text, due, 1)
        if self._stream.retries and sample.status in BUSY and 0 <= sample.retry_after <= MAX_RETRY_SECONDS:
            again = sample.ended + sample.retry_after
            await asyncio.sleep(again - time.monotonic())
            await self._post(number, text, again, 2)
        elif self._stream.concurrency and sample.status != OK:
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)

    async def _post(self, number: int, text: Text, due: float, attempt: int) -> Sample:
        body = json.dumps({"text": text.text, "source_lang": "en", "target_lang": "de"}).encode()
        headers = {PRIORITY_HEADER: self._stream.priority, "Content-Type": "application/json"}
        request_id = f"{self._plan.request_ids}-{number}" if self._plan.request_ids else ""
        if request_id:
            headers["X-Request-Id"] = request_id
        sent = time.monotonic()
        status, code, model, retry_after = 0, "", "", -1.0
        try:
            async with self._session.post(self._plan.url, data=body, headers=headers) as response:
                content: dict[str, Any] = json.loads(await response.read())
                status, model = response.status, str(content.get("model", ""))
                retry_after = _seconds(response.headers.get("Retry-After"))
                code = str(content.get("code", "")) if status != OK else _fault(content["translation"], text.expected)
                if request_id and response.headers.get("X-Request-Id") != request_id:
                    code = code or "wrong-request-id"
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError, AttributeError) as error:
            code = type(error).__name__
        ended = time.monotonic()
        name = self._stream.name
        sample = Sample(name, number, text.units, due, sent, ended, status, code, model, retry_after, attempt)
        self.samples.append(sample)
        return sample


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdecimal() else -1.0


def _fault(translation: str, expected: str) -> str:
    if not translation:
        return "no-translation"
    return "" if expected in translation else "wrong-translation"


async def send(plan: LoadPlan) -> None:
    """Send every stream, then write the samples."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    texts = plan.texts.open()
    numbered = ((number, texts.text(number)) for number in itertools.count(plan.texts.first))
    with Path(plan.out).open("w") as out:  # noqa: ASYNC230 - everything has been sent when it is written
        async with contextlib.AsyncExitStack() as stack:
            clients = [Client(plan, stream, await _session(stack, plan, stream), numbered) for stream in plan.streams]
            ending = asyncio.create_task(_end(stop, plan.seconds))
            cpu, began = time.process_time(), time.monotonic()
            await asyncio.gather(*(client.run(stop) for client in clients))
            ending.cancel()
            cpu = time.process_time() - cpu
        samples = [sample for client in clients for sample in client.samples]
        out.writelines(json.dumps(sample) + "\n" for sample in samples)
        out.write(json.dumps(LoadTimes(began, len(samples), cpu)) + "\n")


async def _session(stack: contextlib.AsyncExitStack, plan: LoadPlan, stream: Stream) -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, local_addr=(stream.address, 0))
    timeout = aiohttp.ClientTimeout(total=plan.timeout)
    return await stack.enter_async_context(aiohttp.ClientSession(connector=connector, timeout=timeout))


async def _end(stop: asyncio.Event, seconds: float) -> None:
    """Stop after the plan's time, or when the process that started this one has ended."""
    starter, until = os.getppid(), time.monotonic() + seconds
    while os.getppid() == starter and not (seconds and time.monotonic() >= until):
        left = until - time.monotonic() if seconds else ORPHAN_CHECK_SECONDS
        await asyncio.sleep(min(ORPHAN_CHECK_SECONDS, max(0.0, left)))
    stop.set()


class LoadProcess:
    """Load as its starter sees it; ``times`` are known when it has ended."""

    def __init__(self, plan: LoadPlan, folder: Path, name: str) -> None:
        self.plan = plan
        self.name = name
        self.times = LoadTimes(0.0, 0, 0.0)
        command = [sys.executable, "-m", "benchmarks.harness.http_load", plan.to_json()]
        self._server = Server(command, folder / f"{name}.log")

    async def start(self) -> None:
        """Start it and wait until it sends."""
        self._server.start()
        await wait_until(Path(self.plan.out).exists, START_SECONDS, "the load has started")

    async def stop(self) -> list[Sample]:
        """End it, wait for its last responses, and return the samples in the order in which they were sent."""
        await self.end()
        return self._read()

    async def end(self) -> None:
        """End it after its last responses."""
        await asyncio.to_thread(self._server.stop)

    async def finish(self, within: float) -> list[Sample]:
        """Wait until it has sent everything; return the samples."""
        if self._server.process is not None:
            await asyncio.to_thread(self._server.process.wait, within)
        return self._read()

    def _read(self) -> list[Sample]:
        *lines, last = Path(self.plan.out).read_text().splitlines() or [""]
        if not last:
            raise RuntimeError(f"the load broke off:\n{self._server.tail()}")
        self.times = LoadTimes(*json.loads(last))
        return sorted((Sample(*json.loads(line)) for line in lines), key=lambda sample: sample.sent)


@contextlib.asynccontextmanager
async def running_load(load: LoadProcess) -> AsyncGenerator[LoadProcess]:
    """Send the load while the block lasts."""
    await load.start()
    try:
        yield load
    finally:
        await load.end()


def main() -> None:
    """Send the plan of the command line."""
    raise_priority()
    uvloop.run(send(LoadPlan.from_json(sys.argv[1])))


if __name__ == "__main__":
    main()
