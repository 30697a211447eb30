"""Load of one point: texts one after the other, to an HTTP server from here, or to the bare engine in its own program."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from apiserver.engine.vllm_engine import LONGEST_LOOP, LOOP_COUNT
from benchmarks.harness.http_client import HttpClient
from benchmarks.harness.load import LoadResult, Sample, Stream, Timing, run_load
from benchmarks.origin.model import ANSWER_TOKENS
from benchmarks.origin.texts import OriginText, TextPool

# Takes a text; returns '' or the error.
SendText = Callable[[OriginText], Awaitable[str]]


@dataclass(frozen=True)
class PointPlan:
    """One point: texts of a kind from number ``first`` on."""

    kind: str
    first: int
    stream: Stream
    timing: Timing


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


def completions_body(row: OriginText, *, is_random: bool) -> dict[str, Any]:
    """Return what vLLM's own server is asked: all segments in one request, as it allows."""
    body = {"prompt": [ids for ids, _ in row.asks], "temperature": 0.0}
    if is_random:
        return {**body, "max_tokens": ANSWER_TOKENS, "ignore_eos": True}
    loops = {"max_pattern_size": LONGEST_LOOP, "min_count": LOOP_COUNT}
    return {**body, "max_tokens": max(most for _, most in row.asks), "repetition_detection": loops}


def is_answer(content: dict[str, Any], row: OriginText) -> bool:
    """Say whether a body of either wire holds a translation of every segment."""
    if "choices" not in content:
        return bool(content["translation"])
    return len(content["choices"]) == len(row.asks) and all(choice["text"] for choice in content["choices"])


def http_sender(client: HttpClient, *, is_openai: bool, is_random: bool) -> SendText:
    """Return what posts texts, in the words of vLLM's own server or ours; random weights' answers are good by their status."""

    async def send_text(row: OriginText) -> str:
        ours = {"text": row.text, "source_lang": row.source, "target_lang": row.target}
        body = completions_body(row, is_random=is_random) if is_openai else ours
        try:
            response = await client.post(json.dumps(body).encode())
            is_good = response.status == 200 and (is_random or is_answer(json.loads(response.body), row))
        except (OSError, ValueError, TypeError, KeyError) as error:
            return type(error).__name__
        return "" if is_good else str(response.status)

    return send_text
