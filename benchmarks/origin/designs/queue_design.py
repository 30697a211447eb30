"""A, B and C: the queue design as its authors described it; ``python -m benchmarks.origin.designs.queue_design``.

FastAPI → service → JoinableQueue(300) and a Manager's dictionary for the results → spawned workers, each with a vLLM ``LLM`` of its
own → an event queue, read by a thread of the web process → ``asyncio.Event``. A has one worker that takes one request at a time,
B (``--workers 2``) two on the same device, C (``--batch 16``) one that gathers up to 16 for 50 ms.

A text of several segments is as many requests in the queue.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import queue
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from multiprocessing.managers import DictProxy
from multiprocessing.queues import JoinableQueue, Queue
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, HTTPException

from apiserver.engine.interface import GenerationRequest
from apiserver.engine.tokenizer import ModelTokenizer
from benchmarks.origin.designs.serving import EngineRecord, Step, TranslateBody, serve, serving_app
from benchmarks.origin.model import (
    Prompts,
    answer_text,
    engine_arguments,
    joined,
    parameters,
    program_parser,
    read_entry,
)
from shared.languages import LanguagePair

QUEUE_SIZE: Final = 300
TIMEOUT_SECONDS: Final = 30.0
GATHER_SECONDS: Final = 0.05
# The task id of a worker whose engine runs.
READY: Final = "ready"


class Task(NamedTuple):
    """One engine request in the queue."""

    task_id: str
    ask: GenerationRequest


class Completion(NamedTuple):
    """One answer that lies in the dictionary, the seconds that its ``generate()`` took, and the engine steps noted since."""

    task_id: str
    seconds: float = 0.0
    steps: Sequence[Step] = ()


class WorkerChannels(NamedTuple):
    """What web process and worker share."""

    tasks: JoinableQueue[Task]
    results: DictProxy[str, str]
    events: Queue[Completion]


class QueueService:
    """Puts requests into the queue and waits for their answers; the workers run while the app does."""

    def __init__(self, catalog: Path, workers: int, batch: int, record: EngineRecord) -> None:
        self._catalog, self._workers, self._batch, self._record = catalog, workers, batch, record
        self._waiting: dict[str, asyncio.Event] = {}
        self._ready = 0
        self._channels: WorkerChannels | None = None
        self._prompts = _prompts_of(catalog)

    def is_ready(self) -> bool:
        """Whether every worker's engine runs."""
        return self._ready == self._workers

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncGenerator[None]:
        """Run the workers."""
        context = multiprocessing.get_context("spawn")
        with context.Manager() as manager:
            channels = WorkerChannels(context.JoinableQueue(QUEUE_SIZE), manager.dict(), context.Queue())
            self._channels, arguments = channels, (self._catalog, self._batch, channels)
            processes = [context.Process(target=work, args=arguments, daemon=True) for _ in range(self._workers)]
            for process in processes:
                process.start()
            Thread(target=self._consume, args=(channels, asyncio.get_running_loop()), daemon=True).start()
            yield
            for process in processes:
                process.terminate()
                process.join()

    async def translate(self, body: TranslateBody) -> str:
        """Return a translation.

        Raises:
            HTTPException: 504 after 30 s.
        """
        asks = self._prompts.asks(LanguagePair(body.source_lang, body.target_lang), body.text)
        return joined(await asyncio.gather(*map(self._generate, asks)))

    async def _generate(self, ask: GenerationRequest) -> str:
        if self._channels is None:
            raise RuntimeError("the app has not started")
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

    def _consume(self, channels: WorkerChannels, loop: asyncio.AbstractEventLoop) -> None:
        """Wake the waiting request of each event, in a thread, for ever."""
        while True:
            loop.call_soon_threadsafe(self._wake, channels, channels.events.get())

    def _wake(self, channels: WorkerChannels, done: Completion) -> None:
        if done.task_id == READY:
            self._ready += 1
            return
        self._record.add(done.seconds, done.steps)
        if (ready := self._waiting.get(done.task_id)) is not None:
            ready.set()
        else:  # its client waits no longer
            channels.results.pop(done.task_id)


def _prompts_of(catalog: Path) -> Prompts:
    """Return the prompts of the catalog's model, read without an engine."""
    from transformers import AutoTokenizer  # noqa: PLC0415 - seconds; a worker takes its engine's

    entry = read_entry(catalog)
    tokenizer: Any = AutoTokenizer.from_pretrained(entry.path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - has no types
    return Prompts(entry, ModelTokenizer(tokenizer), int(entry.engine["max_model_len"]))


def work(catalog: Path, batch: int, channels: WorkerChannels) -> None:
    """Start an engine of one's own and answer requests for ever: a worker process."""
    from vllm import LLM, TokensPrompt  # noqa: PLC0415 - the web process imports this file too

    entry = read_entry(catalog)
    llm: Any = LLM(**engine_arguments(entry))
    steps: list[Step] = []
    engine_step: Callable[[], Any] = llm.llm_engine.step

    def noted_step() -> Any:
        running = llm.llm_engine.get_num_unfinished_requests()
        outputs = engine_step()
        steps.append(Step(time.monotonic(), running))
        return outputs

    llm.llm_engine.step = noted_step
    channels.events.put(Completion(READY))
    while True:
        tasks = gather_tasks(channels.tasks, batch)
        prompts = [TokensPrompt(prompt_token_ids=list(task.ask.prompt_ids)) for task in tasks]
        began = time.monotonic()
        outputs = llm.generate(prompts, [parameters(entry, task.ask) for task in tasks], use_tqdm=False)
        seconds = time.monotonic() - began
        for task, output in zip(tasks, outputs, strict=True):
            channels.results[task.task_id] = answer_text(entry, output.outputs[0])
            channels.events.put(Completion(task.task_id, seconds, steps.copy()))
            steps.clear()
            channels.tasks.task_done()


def gather_tasks(tasks: JoinableQueue[Task], most: int) -> list[Task]:
    """Wait for a request, then for more until there are enough or it has waited long enough."""
    gathered = [tasks.get()]
    until = time.monotonic() + GATHER_SECONDS
    while len(gathered) < most:
        try:
            gathered.append(tasks.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            break
    return gathered


def main() -> None:
    """Serve until told to stop."""
    parser = program_parser("designs.queue_design")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()
    record = EngineRecord()
    service = QueueService(options.catalog, options.workers, options.batch, record)
    serve(serving_app(service.lifespan, service.translate, service.is_ready, record), options.port)


if __name__ == "__main__":
    main()
