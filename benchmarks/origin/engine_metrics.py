"""What a design's engines did at a point: asked of its own notes, or of vLLM's metrics."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.harness.processes import http_get
from benchmarks.origin.load_driver import PointPlan
from benchmarks.origin.processes import Design

# vLLM's metrics that make up Totals.
METRICS: Final = (
    "vllm:request_success_total",
    "vllm:e2e_request_latency_seconds_sum",
    "vllm:iteration_tokens_total_count",
    "vllm:generation_tokens_total",
)


class EngineTotals(NamedTuple):
    """What engines did: requests that ended, seconds in them, steps, and tokens generated (one by each request in a step)."""

    requests: float = 0
    seconds: float = 0
    steps: float = 0
    tokens: float = 0


class EngineWork(NamedTuple):
    """What a design's engine did at a point: in all, and when each step ended with how many requests where it tells."""

    did: EngineTotals
    steps: list[tuple[float, int]]


@asynccontextmanager
async def engine_work(design: Design, plan: PointPlan) -> AsyncGenerator[Callable[[], Awaitable[EngineWork]]]:
    """Yield what tells, after a point, what the engine did in it."""

    async def reading() -> tuple[EngineTotals, dict[str, Any]]:
        record: dict[str, Any] = json.loads(await _get(design.record)) if design.record else {}
        return engine_totals(await _get(design.metrics)) if design.metrics else EngineTotals(), record

    before, _ = await reading()

    async def work() -> EngineWork:
        after, record = await reading()
        if design.name == "bare":
            record = json.loads(await asyncio.to_thread(Path(f"{plan.out}.record").read_text))
        did = EngineTotals(*(now - then for now, then in zip(after, before, strict=True)))
        steps: list[tuple[float, int]] = record.get("steps", [])
        if record:
            # Pairway notes all but the requests by itself; vLLM's server knows it by its metrics alone.
            requests = did.requests if design.metrics else record["requests"]
            did = EngineTotals(requests, record["seconds"], len(steps), sum(batch for _, batch in steps))
        return EngineWork(did, steps)

    yield work


async def _get(url: str) -> str:
    return (await asyncio.to_thread(http_get, url)).decode()


def engine_totals(metrics: str) -> EngineTotals:
    """Return what vLLM's metrics say."""
    sums: Counter[str] = Counter()
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            sums[sample.name] += sample.value  # pyright: ignore[reportArgumentType] - Counter's values may be floats
    return EngineTotals(*(sums[name] for name in METRICS))
