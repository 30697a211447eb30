"""What A to D, F and bare serve: the tiny wire, and the record of their engines."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from shared.languages import LanguagePair

# Steps kept between two looks: minutes of a small model's.
MAX_STEPS: Final = 200_000
# When a step ended, monotonic seconds, and for how many requests it was.
Step = tuple[float, int]


class TranslateBody(BaseModel):
    """The body of ``POST /translate``."""

    text: str
    source_lang: str
    target_lang: str


@dataclass
class EngineWork:
    """What engines did: requests that ended, seconds in them, steps, tokens generated (one by each request in a step); ``timeline``: the steps."""

    requests: float = 0
    seconds: float = 0
    steps: float = 0
    tokens: float = 0
    timeline: list[Step] = field(default_factory=list[Step])


class EngineRecord:
    """Notes what engines do, from one look to the next."""

    def __init__(self) -> None:
        self._work = EngineWork()

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
        self._work.requests += 1
        self._work.seconds += seconds
        for step in steps:
            self.step(step)

    def step(self, step: Step) -> None:
        """Note a step."""
        self._work.steps += 1
        self._work.tokens += step[1]
        if len(self._work.timeline) < MAX_STEPS:
            self._work.timeline.append(step)

    async def look(self) -> EngineWork:
        """Return what was done since the last look."""
        work, self._work = self._work, EngineWork()
        return work

    def logger(self) -> Any:
        """Return a logger class for vLLM's ``stat_loggers`` that notes each step of an AsyncLLM."""
        from vllm.v1.metrics.loggers import StatLoggerBase  # noqa: PLC0415 - many seconds, and not every program's

        note = self.step

        class StepLogger(StatLoggerBase):
            def __init__(self, *_: object, **__: object) -> None:
                pass

            def record(self, scheduler_stats: Any = None, iteration_stats: Any = None, *_: Any, **__: Any) -> None:  # noqa: ARG002 - vLLM's
                if iteration_stats is not None and iteration_stats.num_generation_tokens:
                    note((time.monotonic(), iteration_stats.num_generation_tokens))

            def log_engine_initialized(self) -> None:
                pass

        return StepLogger


def read_options() -> Namespace:
    """Return the options of a design's program."""
    parser = ArgumentParser()
    parser.add_argument("--catalog", type=Path, required=True, help="the run's catalog, of one model")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--texts", type=Path, help="texts of the bare engine")
    for name in ("--engines", "--workers", "--batch"):
        parser.add_argument(name, type=int, default=1)
    return parser.parse_args()


def serving_app(translate: Callable[[LanguagePair, str], Awaitable[str]], record: EngineRecord) -> FastAPI:
    """Return an app with ``/translate`` and ``/record``."""
    app = FastAPI()

    @app.post("/translate")
    async def post(body: TranslateBody) -> dict[str, str]:
        return {"translation": await translate(LanguagePair(body.source_lang, body.target_lang), body.text)}

    app.add_api_route("/record", record.look)
    return app


def serve(app: FastAPI, port: int) -> None:
    """Serve until ended."""
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
