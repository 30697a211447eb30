"""A, B and C: the queue design as its authors described it; ``python -m benchmarks.origin.designs.queue_service``.

FastAPI → TranslationService → JoinableQueue(300) and a Manager's dictionary for the results → spawned workers, each with a
vLLM ``LLM`` of its own → an event queue, read by a thread of the web process → ``asyncio.Event``. A has one worker that takes one
request at a time, B (``--workers 2``) two on the same device, C (``--batch 16``) one that gathers up to 16 for 50 ms.

A text of several segments is as many requests in the queue.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from multiprocessing.queues import Queue
from pathlib import Path
from threading import Thread
from typing import Any, Final

from fastapi import FastAPI, HTTPException

from apiserver.engine.interface import GenerationRequest
from benchmarks.origin.designs.engine_record import EngineRecord
from benchmarks.origin.designs.http_api import TranslateBody, TranslateResult, serve
from benchmarks.origin.designs.queue_worker import READY, BatchLimits, Completion, Task, WorkerChannels, work
from benchmarks.origin.workload.model import Prompts, add_program_arguments, joined, read_entry

QUEUE_SIZE: Final = 300
TIMEOUT_SECONDS: Final = 30.0
GATHER_SECONDS: Final = 0.05


class QueueService:
    """Puts requests into the queue and waits for their answers."""

    def __init__(self, channels: WorkerChannels, prompts: Prompts, workers: int, record: EngineRecord) -> None:
        self._channels = channels
        self._prompts = prompts
        self._record = record
        self._waiting: dict[str, asyncio.Event] = {}
        self._starting = workers
        self._loop = asyncio.get_running_loop()

    @property
    def is_ready(self) -> bool:
        """Whether every worker's engine runs."""
        return self._starting == 0

    async def translate(self, body: TranslateBody) -> str:
        """Return a translation.

        Raises:
            HTTPException: 504 after 30 s.
        """
        asks = self._prompts.asks(body.source_lang, body.target_lang, body.text)
        return joined(await asyncio.gather(*map(self._generate, asks)))

    def consume(self) -> None:
        """Wake the waiting request of each event, in a thread, for ever."""
        while True:
            self._loop.call_soon_threadsafe(self._wake, self._channels.events.get())

    async def _generate(self, ask: GenerationRequest) -> str:
        task = Task(uuid.uuid4().hex, ask)
        ready = self._waiting[task.task_id] = asyncio.Event()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await asyncio.to_thread(self._channels.tasks.put, task, timeout=TIMEOUT_SECONDS)
                await ready.wait()
        except TimeoutError as error:
            raise HTTPException(504, "timed out") from error
        finally:
            del self._waiting[task.task_id]
        return self._channels.results.pop(task.task_id)

    def _wake(self, done: Completion) -> None:
        if done.task_id == READY:
            self._starting -= 1
            return
        self._record.add(1, done.seconds, done.steps)
        if (ready := self._waiting.get(done.task_id)) is not None:
            ready.set()
        else:  # its client waits no longer
            self._channels.results.pop(done.task_id)


def create_app(catalog: Path, workers: int, batching: BatchLimits, record: EngineRecord) -> FastAPI:
    """Build the web process's app, which starts the workers."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        context = multiprocessing.get_context("spawn")
        with context.Manager() as manager:
            events: Queue[Completion] = context.Queue()
            channels = WorkerChannels(context.JoinableQueue(QUEUE_SIZE), manager.dict(), events)
            processes = [
                context.Process(target=work, args=(catalog, batching, channels), daemon=True, name="worker")
                for _ in range(workers)
            ]
            for process in processes:
                process.start()
            service = QueueService(channels, prompts_of(catalog), workers, record)
            Thread(target=service.consume, daemon=True).start()
            app.state.service = service
            yield
            for process in processes:
                process.terminate()
                process.join()

    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def translate(body: TranslateBody) -> TranslateResult:
        service: QueueService = app.state.service
        return TranslateResult(translation=await service.translate(body))

    @app.get("/readyz")
    async def readyz() -> None:
        if not app.state.service.is_ready:
            raise HTTPException(503)

    return app


def prompts_of(catalog: Path) -> Prompts:
    """Return the prompts of the catalog's model, read without an engine."""
    from transformers import AutoTokenizer  # noqa: PLC0415 - seconds; a worker takes its engine's

    entry = read_entry(catalog)
    tokenizer: Any = AutoTokenizer.from_pretrained(entry.path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - has no types
    return Prompts.of(entry, tokenizer, int(entry.engine["max_model_len"]))


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin.designs.queue_service")
    add_program_arguments(parser)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    record = EngineRecord()
    batching = BatchLimits(options.batch, GATHER_SECONDS if options.batch > 1 else 0.0)
    serve(create_app(options.catalog, options.workers, batching, record), record.drain, options.port)


if __name__ == "__main__":
    main()
