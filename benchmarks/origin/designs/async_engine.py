"""D: FastAPI handlers that await an AsyncLLM; F: with two of them (``--engines 2``), one for each pair, on one device.

``python -m benchmarks.origin.designs.async_engine``. With ``--texts`` it is the reference, the bare engine: ``POST /plan`` then drives the
AsyncLLM directly, without HTTP. It is given the token ids: it neither tokenises nor looks at an answer.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest
from apiserver.engine.tokenizer import ModelTokenizer
from benchmarks.origin.designs.serving import EngineRecord, TranslateBody, serve, serving_app, step_logger
from benchmarks.origin.loads import PointPlan, plan_response, run_plan
from benchmarks.origin.model import (
    Prompts,
    answer_text,
    answer_tokens,
    engine_arguments,
    joined,
    parameters,
    program_parser,
    read_entry,
)
from benchmarks.origin.texts import OriginText, TextPool
from shared.languages import LanguagePair


class AsyncEngines:
    """Engines of one model, one for all pairs or one for each; they run while the app does."""

    def __init__(self, entry: ModelEntry, engines: int, record: EngineRecord) -> None:
        self._entry = entry
        self._engines = engines
        self._record = record
        self._by_pair: Mapping[LanguagePair, Any] = {}
        self._prompts: Prompts | None = None

    @asynccontextmanager
    async def lifespan(self, _: FastAPI) -> AsyncGenerator[None]:
        """Start the engines; the socket is there when they are."""
        running = [self._start() for _ in range(self._engines)]
        self._by_pair = {pair: running[number % self._engines] for number, pair in enumerate(self._entry.all_pairs)}
        tokenizer = ModelTokenizer(running[0].get_tokenizer())
        self._prompts = Prompts(self._entry, tokenizer, running[0].model_config.max_model_len)
        yield
        for engine in running:
            engine.shutdown()

    async def translate(self, body: TranslateBody) -> str:
        """Return a translation by the pair's engine."""
        pair = LanguagePair(body.source_lang, body.target_lang)
        asks = self._prompts.asks(pair, body.text) if self._prompts else []
        return joined(await asyncio.gather(*(self._generate(pair, ask) for ask in asks)))

    async def send_text(self, row: OriginText) -> str:
        """Generate a text's answers from its token ids."""
        pair, sampling = LanguagePair(row.source, row.target), self._entry.effective_sampling
        asks = (GenerationRequest(ids, sampling, most) for ids, most in row.asks)
        return "" if all(await asyncio.gather(*(self._generate(pair, ask) for ask in asks))) else "no text"

    def _start(self) -> Any:
        """Start an AsyncLLM with its part of the memory."""
        from vllm import AsyncEngineArgs  # noqa: PLC0415 - many seconds
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        arguments = engine_arguments(self._entry)
        arguments["kv_cache_memory_bytes"] //= self._engines
        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments), stat_loggers=[step_logger(self._record)])

    async def _generate(self, pair: LanguagePair, ask: GenerationRequest) -> str:
        from vllm import TokensPrompt  # noqa: PLC0415 - imported by now: a dictionary look-up

        prompt, text = TokensPrompt(prompt_token_ids=list(ask.prompt_ids)), ""
        with self._record.request():
            engine = self._by_pair[pair]
            async for output in engine.generate(prompt, parameters(self._entry, ask), uuid.uuid4().hex):
                text = answer_text(self._entry, output.outputs[0])
        return text


def main() -> None:
    """Serve until told to stop."""
    parser = program_parser("designs.async_engine")
    parser.add_argument("--engines", type=int, default=1)
    parser.add_argument("--texts", type=Path, help="texts of the bare engine")
    options = parser.parse_args()
    record, entry = EngineRecord(), read_entry(options.catalog)
    engines = AsyncEngines(entry, options.engines, record)
    app = serving_app(engines.lifespan, engines.translate, lambda: True, record)
    if options.texts:
        pool = TextPool.read(options.texts, answer_tokens(entry))

        @app.post("/plan")
        async def run(plan: PointPlan) -> Response:
            return plan_response(await run_plan(plan, pool, engines.send_text))

    serve(app, options.port)


if __name__ == "__main__":
    main()
