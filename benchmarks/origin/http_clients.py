"""The clients of every HTTP server: ``python -m benchmarks.origin.http_clients TEXTS``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp
import uvloop

from apiserver.engine.vllm_adapters import LONGEST_LOOP, LOOP_COUNT
from benchmarks.harness.load import raise_priority
from benchmarks.origin.load_driver import PointPlan, Send, serve_plans
from benchmarks.origin.workload.text_file import OriginText

# Longer than any time-out of the servers.
TIMEOUT_SECONDS: Final = 60.0


def translate_body(row: OriginText) -> dict[str, Any]:
    """Return what the tiny wire asks."""
    return {"text": row.text, "source_lang": row.source, "target_lang": row.target}


def completions_body(row: OriginText, *, full_length: bool = False) -> dict[str, Any]:
    """Return the same for vLLM's own server: all segments in one request, as it allows."""
    loops = {"repetition_detection": {"max_pattern_size": LONGEST_LOOP, "min_count": LOOP_COUNT}}
    return {
        "prompt": [ids for ids, _ in row.asks],
        "max_tokens": max(most for _, most in row.asks),
        "temperature": 0.0,
        **({"ignore_eos": True} if full_length else loops),
    }


def is_answer(content: dict[str, Any], row: OriginText, *, full_length: bool = False) -> bool:
    """Say whether a body of either wire holds a translation of every segment; of vLLM's own server perhaps its tokens alone."""
    if "choices" in content and full_length:
        return content["usage"]["completion_tokens"] == sum(most for _, most in row.asks)
    if "choices" in content:
        return len(content["choices"]) == len(row.asks) and all(choice["text"] for choice in content["choices"])
    return bool(content["translation"])


@asynccontextmanager
async def sender(plan: PointPlan) -> AsyncGenerator[Send]:
    """Hold connections for one point."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    body = partial(completions_body, full_length=plan.full_length) if plan.openai else translate_body
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def send(row: OriginText) -> str:
            try:
                async with session.post(plan.url, json=body(row)) as response:
                    content: dict[str, Any] = json.loads(await response.read())
                    return (
                        ""
                        if response.status == 200 and is_answer(content, row, full_length=plan.full_length)
                        else str(response.status)
                    )
            except (aiohttp.ClientError, TimeoutError, ValueError, TypeError, KeyError) as error:
                return type(error).__name__

        yield send


if __name__ == "__main__":
    raise_priority()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve_plans(Path(sys.argv[1]), sender))
