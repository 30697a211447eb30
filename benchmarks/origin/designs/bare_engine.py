"""The reference: an AsyncLLM driven directly, in a process of its own, without HTTP; ``python -m benchmarks.origin.designs.bare_engine``.

It is given the token ids: it neither tokenises nor looks at an answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import uvloop

from apiserver.engine.interface import GenerationRequest
from benchmarks.origin.designs.async_engine import generate, start
from benchmarks.origin.designs.engine_record import EngineRecord
from benchmarks.origin.load_driver import READY, PointPlan, Send, serve_plans
from benchmarks.origin.workload.model import add_program_arguments, read_entry
from benchmarks.origin.workload.text_file import OriginText


async def run(catalog: Path, texts: Path) -> None:
    """Start the engine, then do the plans on stdin."""
    entry = read_entry(catalog)
    record = EngineRecord()
    llm = start(entry, record)

    @asynccontextmanager
    async def sender(plan: PointPlan) -> AsyncGenerator[Send]:
        record.drain()

        async def send(row: OriginText) -> str:
            asks = (GenerationRequest(ids, entry.effective_sampling, most) for ids, most in row.asks)
            texts_of = await asyncio.gather(*(generate(entry, llm, ask, record) for ask in asks))
            return "" if all(texts_of) else "no text"

        yield send
        Path(f"{plan.out}.record").write_text(json.dumps(record.drain()))  # noqa: ASYNC240 - the point is over

    print(READY, flush=True)
    try:
        await serve_plans(texts, sender)
    finally:
        llm.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.origin.designs.bare_engine")
    add_program_arguments(parser)
    parser.add_argument("--texts", type=Path, required=True)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(options.catalog, options.texts))
