"""What A to D and F serve: the tiny wire, and what the program noted of its engine."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
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


class Step(NamedTuple):
    """The end of one engine step, monotonic seconds, and how many requests it was for."""

    ended: float
    batch: int


class EngineWork(NamedTuple):
    """What engines did so far: requests that ended, seconds in them, steps, and tokens generated (one by each request in a step).

    ``timeline``: the steps since the last look, where a design tells.
    """

    requests: float = 0
    seconds: float = 0
    steps: float = 0
    tokens: float = 0
    timeline: Sequence[tuple[float, int]] = ()

    def since(self, before: EngineWork) -> EngineWork:
        """Return what was done since then."""
        requests, seconds, steps, tokens = (now - then for now, then in zip(self[:4], before[:4], strict=True))
        return EngineWork(requests, seconds, steps, tokens, self.timeline)


class EngineRecord:
    """Notes an engine's work; one event loop or thread writes."""

    def __init__(self) -> None:
        self._work = EngineWork()
        self._timeline: deque[Step] = deque(maxlen=MAX_STEPS)

    @contextmanager
    def request(self) -> Generator[None]:
        """Note one engine request and the time in the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(time.monotonic() - began)

    def add(self, seconds: float, steps: Iterable[Step] = ()) -> None:
        """Note a request that ended, and steps."""
        self._work = self._work._replace(requests=self._work.requests + 1, seconds=self._work.seconds + seconds)
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Note a step."""
        self._work = self._work._replace(steps=self._work.steps + 1, tokens=self._work.tokens + step.batch)
        self._timeline.append(step)

    def look(self) -> dict[str, Any]:
        """Return the work so far, as JSON."""
        work = self._work._replace(timeline=list(self._timeline))
        self._timeline.clear()
        return work._asdict()


def step_logger(record: EngineRecord) -> Any:
    """Return a logger class for vLLM's ``stat_loggers`` that notes each step of an AsyncLLM."""
    from vllm.v1.metrics.loggers import StatLoggerBase  # noqa: PLC0415 - many seconds, and not every program's

    class StepLogger(StatLoggerBase):
        def __init__(self, *_: object, **__: object) -> None:
            pass

        def record(self, scheduler_stats: object = None, iteration_stats: Any = None, *_: object, **__: object) -> None:  # noqa: ARG002 - vLLM's signature
            if iteration_stats is not None and iteration_stats.num_generation_tokens:
                record.step(Step(time.monotonic(), iteration_stats.num_generation_tokens))

        def log_engine_initialized(self) -> None:
            pass

    return StepLogger


def serving_app(
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]],
    translate: Callable[[TranslateBody], Awaitable[str]],
    is_ready: Callable[[], bool],
    record: EngineRecord,
) -> FastAPI:
    """Return an app with ``/translate``, ``/readyz`` and ``/record``."""
    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def post(body: TranslateBody) -> dict[str, str]:
        return {"translation": await translate(body)}

    @app.get("/readyz")
    async def readyz() -> None:
        if not is_ready():
            raise HTTPException(503)

    app.add_api_route("/record", record.look, methods=["GET"])
    return app


def serve(app: FastAPI, port: int) -> None:
    """Serve until told to stop."""
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
