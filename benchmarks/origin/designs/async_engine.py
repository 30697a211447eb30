"""D: FastAPI handlers that await an AsyncLLM; F: with two of them (``--engines 2``), one for each pair, on one device.

``python -m benchmarks.origin.designs.async_engine``
"""

from __future__ import annotations

import argparse
import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest
from benchmarks.origin.designs.engine_record import EngineRecord, step_logger
from benchmarks.origin.designs.http_api import TranslateBody, TranslateResult, serve
from benchmarks.origin.workload.model import (
    Prompts,
    add_program_arguments,
    engine_arguments,
    joined,
    parameters,
    read_entry,
    text_of,
)
from shared.languages import LanguagePair


class Service:
    """Translates with the pair's engine."""

    def __init__(
        self, entry: ModelEntry, engines: Mapping[LanguagePair, Any], prompts: Prompts, record: EngineRecord
    ) -> None:
        self._entry = entry
        self._engines = engines
        self._prompts = prompts
        self._record = record

    async def translate(self, body: TranslateBody) -> str:
        """Return a translation."""
        engine = self._engines[LanguagePair(body.source_lang, body.target_lang)]
        asks = self._prompts.asks(body.source_lang, body.target_lang, body.text)
        return joined(await asyncio.gather(*(generate(self._entry, engine, ask, self._record) for ask in asks)))


async def generate(entry: ModelEntry, engine: Any, ask: GenerationRequest, record: EngineRecord) -> str:
    """Ask an AsyncLLM for one answer."""
    from vllm import TokensPrompt  # noqa: PLC0415 - imported by now: a dictionary look-up

    prompt = TokensPrompt(prompt_token_ids=list(ask.prompt_ids))
    text = ""
    with record.request():
        async for output in engine.generate(prompt, parameters(entry, ask), uuid.uuid4().hex):
            text = text_of(entry, output.outputs[0])
    return text


def start(entry: ModelEntry, record: EngineRecord, engines: int = 1) -> Any:
    """Start an AsyncLLM with its part of the memory for several of them."""
    from vllm import AsyncEngineArgs  # noqa: PLC0415 - many seconds
    from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

    arguments = engine_arguments(entry)
    arguments["kv_cache_memory_bytes"] //= engines
    return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments), stat_loggers=[step_logger(record)])


def create_app(entry: ModelEntry, engines: int, record: EngineRecord) -> FastAPI:
    """Build the app, which starts the engines."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        running = [start(entry, record, engines) for _ in range(engines)]
        by_pair = {pair: running[number % engines] for number, pair in enumerate(entry.all_pairs)}
        prompts = Prompts.of(entry, running[0].get_tokenizer(), running[0].model_config.max_model_len)
        app.state.service = Service(entry, by_pair, prompts, record)
        yield
        for engine in running:
            engine.shutdown()

    app = FastAPI(lifespan=lifespan)

    @app.post("/translate")
    async def translate(body: TranslateBody) -> TranslateResult:
        service: Service = app.state.service
        return TranslateResult(translation=await service.translate(body))

    @app.get("/readyz")
    async def readyz() -> None:
        """The engines are there when the socket is."""

    return app


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin.designs.async_engine")
    add_program_arguments(parser)
    parser.add_argument("--engines", type=int, default=1)
    options = parser.parse_args()
    record = EngineRecord()
    serve(create_app(read_entry(options.catalog), options.engines, record), record.drain, options.port)


if __name__ == "__main__":
    main()
