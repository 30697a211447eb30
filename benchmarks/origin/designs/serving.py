"""What A to D and F serve: the tiny wire, and what the program noted of its engine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, NamedTuple

import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

# Steps kept between two looks: minutes of a small model's.
MAX_STEPS: Final = 200_000


class TranslateBody(BaseModel):
    """The body of ``POST /translate``."""

    text: str
    source_lang: str
    target_lang: str


class TranslateResult(BaseModel):
    """Its answer."""

    translation: str


class Step(NamedTuple):
    """The end of one engine step, monotonic seconds, and how many requests it was for."""

    ended: float
    batch: int


class EngineRecord:
    """Engine requests, seconds in them and steps, from look to look; one event loop or thread writes."""

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
            self.add(time.monotonic() - began, ())

    def add(self, seconds: float, steps: Iterable[Step]) -> None:
        """Note a request that was noted elsewhere, and steps."""
        self._requests += 1
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

        def record(self, scheduler_stats: object = None, iteration_stats: Any = None, *_: object, **__: object) -> None:  # noqa: ARG002 - vLLM's signature
            if iteration_stats is not None and iteration_stats.num_generation_tokens:
                record.step(iteration_stats.num_generation_tokens)

        def log_engine_initialized(self) -> None:
            pass

    return StepLogger


def serving_app(
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]],
    translate: Callable[[TranslateBody], Awaitable[str]],
    is_ready: Callable[[], bool],
    record: EngineRecord,
) -> FastAPI:
    """Return an app with ``/translate``, ``/readyz`` and ``/record``, what was noted since it was asked last."""
    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def post(body: TranslateBody) -> TranslateResult:
        return TranslateResult(translation=await translate(body))

    @app.get("/readyz")
    async def readyz() -> None:
        if not is_ready():
            raise HTTPException(503)

    app.add_api_route("/record", record.drain, methods=["GET"])
    return app


def serve(app: FastAPI, port: int) -> None:
    """Serve until told to stop."""
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
