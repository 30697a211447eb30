"""Load of one point: a program that sends it when it is asked to, ``POST /plan``.

``python -m benchmarks.origin.loads`` are the clients of every HTTP server; the bare engine's program sends its own (designs/async_engine.py).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response

from apiserver.engine.vllm_adapters import LONGEST_LOOP, LOOP_COUNT
from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.load import RESULT_JSON, LoadResult, Sample, Stream, Timing, raise_priority, run_load
from benchmarks.origin.designs.serving import serve
from benchmarks.origin.model import answer_tokens, program_parser, read_entry
from benchmarks.origin.texts import OriginText, TextPool

# Takes a text; returns '' or the error.
SendText = Callable[[OriginText], Awaitable[str]]


@dataclass(frozen=True)
class PointPlan:
    """One point: texts of a kind from number ``first`` on, for a URL; ``openai`` says that it is vLLM's own server."""

    url: str
    kind: str
    first: int
    stream: Stream
    timing: Timing
    openai: bool = False


async def run_plan(plan: PointPlan, pool: TextPool, send_text: SendText) -> LoadResult:
    """Send a point's texts; a sample's ``units`` are the engine requests that its text should be."""
    samples: list[Sample] = []
    numbers = itertools.count(plan.first)

    async def send(due: float) -> None:
        number, sent = next(numbers), time.monotonic()
        text = pool.text(plan.kind, number)
        error = await send_text(text)
        status = 0 if error else 200
        samples.append(Sample(plan.stream.name, number, len(text.asks), due, sent, time.monotonic(), status, error))

    return await run_load([(plan.stream, send)], samples, plan.timing, seed=plan.first)


def plan_response(result: LoadResult) -> Response:
    """Return a result as JSON."""
    return Response(RESULT_JSON.dump_json(result), media_type="application/json")


def completions_body(row: OriginText, *, full_length: bool = False) -> dict[str, Any]:
    """Return what vLLM's own server is asked: all segments in one request, as it allows."""
    loops = {"repetition_detection": {"max_pattern_size": LONGEST_LOOP, "min_count": LOOP_COUNT}}
    return {
        "prompt": [ids for ids, _ in row.asks],
        "max_tokens": max(most for _, most in row.asks),
        "temperature": 0.0,
        **({"ignore_eos": True} if full_length else loops),
    }


def is_answer(content: dict[str, Any], row: OriginText, *, full_length: bool = False) -> bool:
    """Say whether a body of either wire holds a translation of every segment; of vLLM's own server perhaps its tokens alone."""
    if "choices" not in content:
        return bool(content["translation"])
    if full_length:
        return content["usage"]["completion_tokens"] == sum(most for _, most in row.asks)
    return len(content["choices"]) == len(row.asks) and all(choice["text"] for choice in content["choices"])


def http_sender(client: HttpClient, plan: PointPlan, *, full_length: bool) -> SendText:
    """Return what posts texts; ``full_length``: answers must have all tokens that they may have."""

    async def send_text(row: OriginText) -> str:
        body = {"text": row.text, "source_lang": row.source, "target_lang": row.target}
        body = completions_body(row, full_length=full_length) if plan.openai else body
        try:
            response = await client.post(json.dumps(body).encode())
            is_good = response.status == 200 and is_answer(json.loads(response.body), row, full_length=full_length)
        except (OSError, ValueError, TypeError, KeyError) as error:
            return type(error).__name__
        return "" if is_good else str(response.status)

    return send_text


def main() -> None:
    """Serve until told to stop."""
    parser = program_parser("loads")
    parser.add_argument("--texts", type=Path, required=True)
    options = parser.parse_args()
    raise_priority()
    tokens, app = answer_tokens(read_entry(options.catalog)), FastAPI()
    pool = TextPool.read(options.texts, tokens)

    @app.post("/plan")
    async def run(plan: PointPlan) -> Response:
        with contextlib.closing(HttpClient(plan.url)) as client:
            return plan_response(await run_plan(plan, pool, http_sender(client, plan, full_length=bool(tokens))))

    @app.get("/readyz")
    async def readyz() -> None:
        """Answer."""

    serve(app, options.port)


if __name__ == "__main__":
    main()
