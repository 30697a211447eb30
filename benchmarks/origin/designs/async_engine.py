"""D: FastAPI handlers that await an AsyncLLM; F: with two of them (``--engines 2``), one for each pair, on one device.

``python -m benchmarks.origin.designs.async_engine``. With ``--texts`` it is the reference, the bare engine: ``POST /plan`` then drives the
AsyncLLM directly, without HTTP. It is given the token ids: it neither tokenises nor looks at an answer.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest
from benchmarks.harness.load import LoadResult
from benchmarks.origin.designs.serving import EngineRecord, read_options, serve, serving_app
from benchmarks.origin.loads import PointPlan, run_plan
from benchmarks.origin.model import Prompts, engine_arguments, parameters, read_entry
from benchmarks.origin.texts import OriginText, TextPool
from shared.languages import LanguagePair


class AsyncEngines:
    """Running engines of one model, one for all pairs or one for each."""

    def __init__(self, entry: ModelEntry, count: int, record: EngineRecord) -> None:
        from vllm import AsyncEngineArgs  # noqa: PLC0415 - many seconds
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        self._entry, self._prompts, self._record = entry, Prompts(entry), record
        arguments = engine_arguments(entry)
        arguments["kv_cache_memory_bytes"] //= count
        started = AsyncEngineArgs(**arguments)
        engines = [AsyncLLM.from_engine_args(started, stat_loggers=[record.logger()]) for _ in range(count)]
        self._by_pair = {pair: engines[number % count] for number, pair in enumerate(entry.all_pairs)}

    async def translate(self, pair: LanguagePair, text: str) -> str:
        """Return a translation by the pair's engine."""
        asks = self._prompts.asks(pair, text)
        return " ".join(await asyncio.gather(*(self._generate(pair, ask) for ask in asks)))

    async def send_text(self, row: OriginText) -> str:
        """Generate a text's answers from its token ids."""
        pair, sampling = LanguagePair(row.source, row.target), self._entry.effective_sampling
        await asyncio.gather(*(self._generate(pair, GenerationRequest(ids, sampling, most)) for ids, most in row.asks))
        return ""

    async def _generate(self, pair: LanguagePair, ask: GenerationRequest) -> str:
        from vllm import TokensPrompt  # noqa: PLC0415 - imported by now: a dictionary look-up

        prompt: Any = TokensPrompt(prompt_token_ids=list(ask.prompt_ids))
        sampling = parameters(self._entry, ask.sampling, ask.max_tokens)
        text = ""
        with self._record.request():
            async for output in self._by_pair[pair].generate(prompt, sampling, uuid.uuid4().hex):
                text = output.outputs[0].text
        return text


def main() -> None:
    """Start the engines, and serve until ended."""
    options, record = read_options(), EngineRecord()
    engines = AsyncEngines(read_entry(options.catalog), options.engines, record)
    app = serving_app(engines.translate, record)
    if options.texts:
        pool = TextPool.read(options.texts)

        @app.post("/plan")
        async def run(plan: PointPlan) -> LoadResult:
            return await run_plan(plan, pool, engines.send_text)

    serve(app, options.port)


if __name__ == "__main__":
    main()
