"""The queue design's worker process: takes requests from a queue, puts answers into a shared dictionary, tells by events."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.managers import DictProxy
from multiprocessing.queues import JoinableQueue, Queue
from pathlib import Path
from typing import Any, Final, NamedTuple

from apiserver.engine.interface import GenerationRequest
from benchmarks.origin.designs.engine_record import Step
from benchmarks.origin.workload.model import engine_arguments, parameters, read_entry, text_of

READY: Final = "ready"


class Task(NamedTuple):
    """One engine request in the queue."""

    task_id: str
    ask: GenerationRequest


class Completion(NamedTuple):
    """One answer that lies in the dictionary, the seconds that its ``generate()`` took, and the engine steps noted since."""

    task_id: str
    seconds: float
    steps: list[Step]


@dataclass(frozen=True)
class WorkerChannels:
    """What web process and worker share."""

    tasks: JoinableQueue[Task]
    results: DictProxy[str, str]
    events: Queue[Completion]


@dataclass(frozen=True)
class BatchLimits:
    """Requests that one ``generate()`` is for, and how long the worker waits for more after the first, seconds."""

    most: int
    gather_seconds: float


def work(catalog: Path, batching: BatchLimits, channels: WorkerChannels) -> None:
    """Start an engine of one's own and answer requests for ever."""
    from vllm import LLM, TokensPrompt  # noqa: PLC0415 - the web process imports this file too

    entry = read_entry(catalog)
    llm: Any = LLM(**engine_arguments(entry))
    steps: list[Step] = []
    engine: Any = llm.llm_engine
    engine.step = partial(_noted, engine.step, engine.get_num_unfinished_requests, steps)
    channels.events.put(Completion(READY, 0.0, []))
    while True:
        tasks = gather_tasks(channels.tasks, batching)
        began = time.monotonic()
        outputs = llm.generate(
            [TokensPrompt(prompt_token_ids=list(task.ask.prompt_ids)) for task in tasks],
            [parameters(entry, task.ask) for task in tasks],
            use_tqdm=False,
        )
        seconds = time.monotonic() - began
        for task, output in zip(tasks, outputs, strict=True):
            channels.results[task.task_id] = text_of(entry, output.outputs[0])
            channels.events.put(Completion(task.task_id, seconds, steps.copy()))
            steps.clear()
            channels.tasks.task_done()


def gather_tasks(tasks: JoinableQueue[Task], batching: BatchLimits) -> list[Task]:
    """Wait for a request, then for more until there are enough or it has waited long enough."""
    gathered = [tasks.get()]
    until = time.monotonic() + batching.gather_seconds
    while len(gathered) < batching.most:
        try:
            gathered.append(tasks.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            break
    return gathered


def _noted(step: Callable[[], Any], unfinished: Callable[[], int], steps: list[Step]) -> Any:
    batch = unfinished()
    outputs = step()
    steps.append(Step(time.monotonic(), batch))
    return outputs
