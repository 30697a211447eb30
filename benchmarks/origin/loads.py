"""Load of one point: a program that sends it when it is asked to, ``POST /plan``.

``python -m benchmarks.origin.loads`` are the clients of every HTTP server; the bare engine's program sends its own (designs/async_engine.py).
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Response

from apiserver.engine.vllm_adapters import LONGEST_LOOP, LOOP_COUNT
from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.load import LoadResult, Sample, Stream, Timing, raise_priority, run_load
from benchmarks.harness.processes import Usage
from benchmarks.origin.model import ANSWER_TOKENS, program_parser
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
        ended = time.monotonic()
        status = 0 if error else 200
        samples.append(Sample(plan.stream.name, number, len(text.asks), due, sent, ended, status, error))

    return await run_load([(plan.stream, send)], samples, plan.timing, seed=plan.first)


def plan_response(result: LoadResult) -> Response:
    """Return a result as JSON."""
    return Response(json.dumps(asdict(result)), media_type="application/json")


def read_result(content: bytes) -> LoadResult:
    """Read what :func:`plan_response` made."""
    fields: dict[str, Any] = json.loads(content)
    samples = [Sample(*sample) for sample in fields.pop("samples")]
    return LoadResult(samples, server=Usage(*fields.pop("server")), **fields)


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


def http_sender(client: HttpClient, plan: PointPlan, *, full_length: bool) -> SendText:
    """Return what posts texts; ``full_length``: answers must have all tokens that they may have."""

    async def send_text(row: OriginText) -> str:
        body = completions_body(row, full_length=full_length) if plan.openai else translate_body(row)
        try:
            response = await client.post(json.dumps(body).encode())
            content: dict[str, Any] = json.loads(response.body)
            is_good = response.status == 200 and is_answer(content, row, full_length=full_length)
        except (OSError, ValueError, TypeError, KeyError) as error:
            return type(error).__name__
        return "" if is_good else str(response.status)

    return send_text


def read_pool(file: Path, *, full_length: bool) -> TextPool:
    """Return the texts of a run."""
    return TextPool.read(file, ANSWER_TOKENS if full_length else None)


def main() -> None:
    """Serve until told to stop."""
    parser = program_parser("loads")
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--full-length", action="store_true", help="every answer has all tokens that it may have")
    options = parser.parse_args()
    raise_priority()
    pool = read_pool(options.texts, full_length=options.full_length)
    app = FastAPI()

    @app.post("/plan")
    async def run(plan: PointPlan) -> Response:
        client = HttpClient(plan.url)
        try:
            return plan_response(await run_plan(plan, pool, http_sender(client, plan, full_length=options.full_length)))
        finally:
            client.close()

    @app.get("/readyz")
    async def readyz() -> None:
        """Answer."""

    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
