"""HTTP clients as a process of their own: ``python -m benchmarks.harness.http_load PLAN OUT`` (the plan as JSON).

Each stream of a plan is one client address with connections of its own. The file OUT is there from the beginning; its
:class:`~benchmarks.harness.load.LoadResult` is written when every response has come.

    result = await LoadProcess(plan, folder, "load").run()
    async with LoadProcess(plan, folder, "load").running() as load:     # a plan without seconds
        …
        result = await load.stop()
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import uvloop
from pydantic import TypeAdapter

from benchmarks.harness.http_client import TIMEOUT_SECONDS, HttpClient
from benchmarks.harness.load import RESULT_JSON, LoadResult, Sample, Stream, Timing, raise_priority, run_load
from benchmarks.harness.processes import Server
from benchmarks.harness.texts import Text, TextSource
from benchmarks.harness.waiting import wait_until
from shared.protocol.priority import PRIORITY_HEADER

# In a plan's body, where a text stands as a JSON string.
TEXT: Final = "TEXT"
TRANSLATE_BODY: Final = f'{{"text":{TEXT},"source_lang":"en","target_lang":"de"}}'
# What a client obeys at most; more counts as no time at all.
MAX_RETRY_SECONDS: Final = 60.0
# The event loop's clock counts whole ones: a wait may end that much early.
LOOP_CLOCK_SECONDS: Final = 0.001
# Before a closed stream sends its next request after a refusal.
REFUSED_PAUSE_SECONDS: Final = 0.1
OK: Final = 200
# Members of other APIs' answers: of a chat, LibreTranslate, DeepL.
OTHER_FORMATS: Final = frozenset({"choices", "translatedText", "translations"})
BUSY: Final = frozenset({429, 503})
START_SECONDS: Final = 20.0
# For the last responses, which may be second attempts.
DRAIN_SECONDS: Final = 240.0
ORPHAN_CHECK_SECONDS: Final = 0.5


@dataclass(frozen=True)
class LoadPlan:
    """Streams and texts of one load; without seconds in ``timing`` it lasts until SIGTERM.

    ``timeout``: what a client waits for a response; ``request_ids``: prefix of the ids, checked in the responses. ``body`` is JSON in which
    ``TEXT`` stands for the text; ``pid`` a server's process to watch.
    """

    url: str
    streams: list[Stream]
    texts: TextSource
    timing: Timing = field(default_factory=Timing)
    timeout: float = TIMEOUT_SECONDS
    request_ids: str = ""
    body: str = TRANSLATE_BODY
    pid: int = 0


PLAN_JSON: Final = TypeAdapter(LoadPlan)


class StreamClient:
    """Sends one stream's requests; the samples of all streams are in one list."""

    def __init__(
        self, plan: LoadPlan, stream: Stream, texts: Iterator[tuple[int, Text]], samples: list[Sample]
    ) -> None:
        self.stream = stream
        self.http = HttpClient(plan.url, stream.address, plan.timeout)
        self._plan = plan
        self._texts = texts
        self._samples = samples

    async def send(self, due: float) -> None:
        """Send the next text, and once more when it is refused and the stream retries."""
        number, text = next(self._texts)
        sample = await self._post(number, text, due, 1)
        if self.stream.retries and sample.status in BUSY and 0 <= sample.retry_after <= MAX_RETRY_SECONDS:
            again = sample.ended + sample.retry_after
            await asyncio.sleep(again - time.monotonic() + LOOP_CLOCK_SECONDS)
            await self._post(number, text, again, 2)
        elif self.stream.concurrency and sample.status != OK:
            await asyncio.sleep(REFUSED_PAUSE_SECONDS)

    async def _post(self, number: int, text: Text, due: float, attempt: int) -> Sample:
        request_id = f"{self._plan.request_ids}-{number}" if self._plan.request_ids else ""
        headers = f"{PRIORITY_HEADER}: {self.stream.priority}\r\n"
        headers += f"X-Request-Id: {request_id}\r\n" if request_id else ""
        body = self._plan.body.replace(TEXT, json.dumps(text.text), 1).encode()
        sent = time.monotonic()
        status, code, model, retry_after = 0, "", "", -1.0
        try:
            response = await self.http.post(body, headers)
            content: dict[str, Any] = json.loads(response.body)
            status, model = response.status, str(content.get("model", ""))
            wait = response.headers.get(b"retry-after", b"")
            retry_after = float(wait) if wait.isdigit() else -1.0
            code = str(content.get("code", "")) if status != OK else _fault(content, response.body, text.expected)
            if request_id and response.headers.get(b"x-request-id") != request_id.encode():
                code = code or "wrong-request-id"
        except (OSError, ValueError, TypeError, AttributeError) as error:
            code = type(error).__name__
        times = due, sent, time.monotonic()
        sample = Sample(self.stream.name, number, text.units, *times, status, code, model, retry_after, attempt)
        self._samples.append(sample)
        return sample


def _fault(content: dict[str, Any], body: bytes, expected: str) -> str:
    """Say what is wrong with an answer, whose text stands in ``translation``, or somewhere in another API's body."""
    is_foreign = not OTHER_FORMATS.isdisjoint(content)
    answer: str | None = body.decode() if is_foreign else content.get("translation", "")
    if not answer:
        return "no-translation"
    return "" if expected in answer else "wrong-translation"


async def send(plan: LoadPlan, out: Path) -> None:
    """Send every stream, then write the samples."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    text_of = plan.texts.open()
    numbered = ((number, text_of(number)) for number in itertools.count(plan.texts.first))
    samples: list[Sample] = []
    with out.open("wb") as file:
        clients = [StreamClient(plan, stream, numbered, samples) for stream in plan.streams]
        orphaned = asyncio.create_task(_stop_when_orphaned(stop))
        streams = [(client.stream, client.send) for client in clients]
        seed = f"{plan.texts.seed} {plan.texts.first}"
        result = await run_load(streams, samples, plan.timing, stop=stop, seed=seed, pid=plan.pid)
        orphaned.cancel()
        for client in clients:
            client.http.close()
        file.write(RESULT_JSON.dump_json(result))


async def _stop_when_orphaned(stop: asyncio.Event) -> None:
    """Stop when the process that started this one has ended."""
    starter = os.getppid()
    while os.getppid() == starter:  # noqa: ASYNC110 - another process has no event to wait for
        await asyncio.sleep(ORPHAN_CHECK_SECONDS)
    stop.set()


class LoadProcess:
    """Load as its starter sees it; its result stays in ``FOLDER/NAME.json``."""

    def __init__(self, plan: LoadPlan, folder: Path, name: str) -> None:
        self.name, self._timing, self._out = name, plan.timing, folder / f"{name}.json"
        command = [sys.executable, "-m", "benchmarks.harness.http_load", PLAN_JSON.dump_json(plan).decode()]
        log, stop_seconds = folder / f"{name}.log", plan.timeout + MAX_RETRY_SECONDS
        self._server = Server([*command, str(self._out)], log, stop_seconds=stop_seconds)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[LoadProcess]:
        """Send while the block lasts; raises RuntimeError when it ends instead of sending."""
        try:
            self._server.start()
            await wait_until(lambda: self._out.exists() or self._server.has_ended, START_SECONDS, "the load sends")
            if not self._out.exists():
                raise RuntimeError(f"the load {self._server.describe_end()}")
            yield self
        finally:
            await asyncio.to_thread(self._server.stop)

    async def run(self) -> LoadResult:
        """Start it and wait until a plan with an end has sent everything."""
        within = self._timing.warm_up + self._timing.seconds + self._timing.extension + DRAIN_SECONDS
        async with self.running():
            await asyncio.wait_for(self._server.wait(), within)
        return await self.stop()

    async def stop(self) -> LoadResult:
        """End it after its last responses, and return what it measured."""
        await asyncio.to_thread(self._server.stop)
        written = await asyncio.to_thread(self._out.read_bytes)
        if not written:
            raise RuntimeError(f"the load {self._server.describe_end()}")
        return RESULT_JSON.validate_json(written)


if __name__ == "__main__":
    raise_priority()
    uvloop.run(send(PLAN_JSON.validate_json(sys.argv[1]), Path(sys.argv[2])))
