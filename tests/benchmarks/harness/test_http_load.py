"""HTTP clients of a load, as a process of their own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from benchmarks.harness.http_load import PLAN_JSON, LoadPlan, LoadProcess
from benchmarks.harness.load import Stream, Timing
from benchmarks.harness.texts import TextSource
from tests.support.waiting import wait_until

TEXTS = TextSource(template="Room {}.", expected="[Room {}.]", numbers=3)


@asynccontextmanager
async def server(requests: list[web.Request]) -> AsyncGenerator[str]:
    """Serve a translation of every text but each third, which is refused once."""
    seen: Counter[str] = Counter()

    async def translate(request: web.Request) -> web.Response:
        requests.append(request)
        text: str = (await request.json())["text"]
        seen[text] += 1
        headers = {"X-Request-Id": request.headers.get("X-Request-Id", "")}
        if text == "Room 2." and seen[text] == 1:
            return web.json_response({"code": "overloaded"}, status=503, headers={**headers, "Retry-After": "1"})
        translation = "another text" if text == "Room 1." else f"[{text}]"
        return web.json_response({"translation": translation, "model": "m"}, headers=headers)

    app = web.Application()
    app.router.add_post("/translate", translate)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/translate"
    finally:
        await runner.cleanup()


def test_plan_survives_json() -> None:
    plan = LoadPlan("http://a", [Stream("one", rate=2.0), Stream("two", concurrency=3)], TEXTS, Timing(1.5))
    written = PLAN_JSON.dump_json(plan)
    assert PLAN_JSON.validate_json(written) == plan
    assert json.loads(written)["streams"][1]["concurrency"] == 3


async def test_closed_stream_until_its_time_is_over(tmp_path: Path) -> None:
    requests: list[web.Request] = []
    async with server(requests) as url:
        plan = LoadPlan(url, [Stream("closed", concurrency=2)], TEXTS, Timing(0.3))
        result = await LoadProcess(plan, tmp_path, "load").run()
    samples = result.samples
    assert len(samples) == len(requests)
    assert 0 < result.cpu_share < 2
    assert {each.code for each in samples if each.number % 3 == 1} == {"wrong-translation"}
    assert {(each.code, each.model) for each in samples if each.number % 3 == 0} == {("", "m")}
    assert [each.sent for each in samples] == sorted(each.sent for each in samples)


async def test_open_stream_until_stopped_retries_after_a_refusal(tmp_path: Path) -> None:
    requests: list[web.Request] = []
    async with server(requests) as url:
        streams = [Stream("open", rate=50.0, retries=True, priority="bulk")]
        load = LoadProcess(LoadPlan(url, streams, TEXTS, request_ids="id"), tmp_path, "load")
        async with load.running():
            await wait_until(lambda: len(requests) >= 10, 20)
            samples = (await load.stop()).samples
    (retried,) = (each for each in samples if each.attempt == 2)
    assert (retried.number, retried.status, retried.code) == (2, 200, "")
    (refused,) = (each for each in samples if each.status == 503)
    assert (refused.code, refused.retry_after) == ("overloaded", 1.0)
    assert retried.sent - refused.ended >= 1.0
    assert requests[0].headers["X-Priority"] == "bulk"
    assert requests[0].headers["X-Request-Id"] == "id-0"


async def test_server_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    plan = LoadPlan("http://127.0.0.1:1", [Stream("load", concurrency=1)], TEXTS, Timing(0.2))
    result = await LoadProcess(plan, tmp_path, "load").run()
    assert {(each.status, each.code) for each in result.samples} == {(0, "ConnectionRefusedError")}
    assert result.rate == 0


async def test_a_load_that_breaks_off_says_why(tmp_path: Path) -> None:
    texts = TextSource(pairs=str(tmp_path / "missing.tsv"))
    plan = LoadPlan("http://127.0.0.1:1", [Stream("load", concurrency=1)], texts, Timing(0.2))
    load = LoadProcess(plan, tmp_path, "load")
    with pytest.raises(RuntimeError, match=r"missing\.tsv"):
        await load.run()
