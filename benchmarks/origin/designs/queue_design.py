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
from collections.abc import Callable
from multiprocessing.managers import DictProxy
from multiprocessing.queues import JoinableQueue, Queue
from multiprocessing.synchronize import Semaphore
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

from fastapi import HTTPException

from apiserver.engine.interface import GenerationRequest
from benchmarks.origin.designs.serving import EngineRecord, Step, read_options, serve, serving_app
from benchmarks.origin.model import Prompts, engine_arguments, parameters, read_entry
from shared.languages import LanguagePair

QUEUE_SIZE: Final = 300
TIMEOUT_SECONDS: Final = 30.0
GATHER_SECONDS: Final = 0.05


# One engine request in the queue: its id, and what is asked.
Task = tuple[str, GenerationRequest]


class WorkerChannels(NamedTuple):
    """What web process and worker share.

    An event names a task whose answer lies in ``results``, the seconds that its ``generate()`` took, and the engine steps since the last one.
    ``started`` counts the workers whose engine runs.
    """

    tasks: JoinableQueue[Task]
    results: DictProxy[str, str]
    events: Queue[tuple[str, float, list[Step]]]
    started: Semaphore


class QueueService:
    """Puts requests into the queue and waits for their answers."""

    def __init__(self, channels: WorkerChannels, prompts: Prompts, record: EngineRecord) -> None:
        self._channels, self._prompts, self._record = channels, prompts, record
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}

    async def translate(self, pair: LanguagePair, text: str) -> str:
        """Return a translation; raises HTTPException, 504, after 30 s."""
        return " ".join(await asyncio.gather(*map(self._generate, self._prompts.asks(pair, text))))

    async def _generate(self, ask: GenerationRequest) -> str:
        task_id, ready = uuid.uuid4().hex, asyncio.Event()
        self._waiting[task_id] = asyncio.get_running_loop(), ready
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await asyncio.to_thread(self._channels.tasks.put, (task_id, ask), timeout=TIMEOUT_SECONDS)
                await ready.wait()
        except TimeoutError as error:
            raise HTTPException(504, "timed out") from error
        finally:
            del self._waiting[task_id]
        return self._channels.results.pop(task_id)

    def consume(self) -> None:
        """Wake the waiting request of each event, in a thread, for ever."""
        while True:
            task_id, seconds, steps = self._channels.events.get()
            self._record.add(seconds, steps)
            if waiting := self._waiting.get(task_id):
                loop, ready = waiting
                loop.call_soon_threadsafe(ready.set)
            else:  # its client waits no longer
                self._channels.results.pop(task_id)


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
        steps.append((time.monotonic(), running))
        return outputs

    llm.llm_engine.step = noted_step
    channels.started.release()
    while True:
        tasks = gather_tasks(channels.tasks, batch)
        prompts = [TokensPrompt(prompt_token_ids=list(ask.prompt_ids)) for _, ask in tasks]
        sampling = [parameters(entry, ask.sampling, ask.max_tokens) for _, ask in tasks]
        began = time.monotonic()
        outputs = llm.generate(prompts, sampling, use_tqdm=False)
        seconds = time.monotonic() - began
        for (task_id, _), output in zip(tasks, outputs, strict=True):
            channels.results[task_id] = output.outputs[0].text
            channels.events.put((task_id, seconds, steps.copy()))
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
    """Start the workers, and serve until ended."""
    options, record = read_options(), EngineRecord()
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager:
        tasks, started = context.JoinableQueue(QUEUE_SIZE), context.Semaphore(0)
        channels = WorkerChannels(tasks, manager.dict(), context.Queue(), started)
        for _ in range(options.workers):
            context.Process(target=work, args=(options.catalog, options.batch, channels), daemon=True).start()
        for _ in range(options.workers):
            started.acquire()
        service = QueueService(channels, Prompts(read_entry(options.catalog)), record)
        Thread(target=service.consume, daemon=True).start()
        serve(serving_app(service.translate, record), options.port)


if __name__ == "__main__":
    main()
