"""What a program notes of its engine: requests, seconds in it, and the batch of each step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

# Steps kept between two looks: minutes of a small model's.
MAX_STEPS: Final = 200_000


class Step(NamedTuple):
    """The end of one engine step, monotonic seconds, and how many requests it was for."""

    ended: float
    batch: int


class EngineRecord:
    """Counts from look to look; one event loop or thread writes."""

    def __init__(self) -> None:
        self._requests = 0
        self._seconds = 0.0
        self._steps: deque[Step] = deque(maxlen=MAX_STEPS)

    @contextmanager
    def request(self) -> Generator[None]:
        """Note one engine request and the time in the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(1, time.monotonic() - began, ())

    def add(self, requests: int, seconds: float, steps: Iterable[Step]) -> None:
        """Note what was noted elsewhere."""
        self._requests += requests
        self._seconds += seconds
        self._steps += steps

    def step(self, batch: int) -> None:
        """Note a step that ended now."""
        self._steps.append(Step(time.monotonic(), batch))

    def drain(self) -> dict[str, Any]:
        """Return what was noted since the last look, as JSON."""
        record = {"requests": self._requests, "seconds": self._seconds, "steps": list(self._steps)}
        self._requests, self._seconds = 0, 0.0
        self._steps.clear()
        return record


def step_logger(record: EngineRecord) -> Any:
    """Return a logger class for vLLM's ``stat_loggers`` that notes each step of an AsyncLLM."""
    from vllm.v1.metrics.loggers import StatLoggerBase  # noqa: PLC0415 - many seconds, and not every program's

    class StepLogger(StatLoggerBase):
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def record(
            self,
            scheduler_stats: object = None,  # noqa: ARG002 - vLLM's signature
            iteration_stats: Any = None,
            mm_cache_stats: object = None,  # noqa: ARG002
            engine_idx: int = 0,  # noqa: ARG002
        ) -> None:
            if iteration_stats is not None and iteration_stats.num_generation_tokens:
                record.step(iteration_stats.num_generation_tokens)

        def log_engine_initialized(self) -> None:
            pass

    return StepLogger
