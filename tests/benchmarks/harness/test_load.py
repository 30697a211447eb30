"""Closed and open loops, and samples."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from random import Random

from benchmarks.harness.load import (
    Sample,
    Send,
    Stream,
    Timing,
    closed_loop,
    failures,
    open_loop,
    poisson,
    run_load,
    steady,
)
from tests.support.waiting import again_where_paused


def sample(status: int, code: str = "") -> Sample:
    return Sample("load", 1, 1.0, 10.0, 10.0, 10.5, status, code)


async def test_closed_loop_keeps_as_many_in_flight() -> None:
    in_flight = most = 0
    stop = asyncio.Event()

    async def send(due: float) -> None:
        nonlocal in_flight, most
        assert due <= time.monotonic()
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.01)
        in_flight -= 1

    asyncio.get_running_loop().call_later(0.1, stop.set)
    await closed_loop(3, send, stop)
    assert (most, in_flight) == (3, 0)


async def test_open_loop_sends_at_due_times_and_waits_at_the_end() -> None:
    stop, over = asyncio.Event(), asyncio.Event()
    dues: list[float] = []
    ended = 0

    async def send(due: float) -> None:
        nonlocal ended
        dues.append(due)
        if len(dues) == 5:
            stop.set()
            over.set()
        await over.wait()
        ended += 1

    began = time.monotonic()
    await open_loop(steady(100.0), send, stop)
    assert ended == len(dues) >= 5
    assert dues[0] >= began
    pauses = [later - earlier for earlier, later in itertools.pairwise(dues)]
    assert all(abs(pause - 0.01) < 1e-6 for pause in pauses)


async def test_open_loop_stops_within_a_long_pause() -> None:
    stop = asyncio.Event()

    async def send(_: float) -> None:
        stop.set()

    async with asyncio.timeout(5):
        await open_loop(steady(0.001), send, stop)


def test_poisson_has_the_rate() -> None:
    pauses = list(itertools.islice(poisson(10.0, Random(1)), 5000))  # noqa: S311 - a schedule
    assert 0.095 < sum(pauses) / len(pauses) < 0.105


def test_failures_are_counted_by_status_and_code() -> None:
    samples = [sample(200), sample(503, "overloaded"), sample(503, "overloaded"), sample(200, "wrong-translation")]
    assert failures(samples) == {"503 overloaded": 2, "200 wrong-translation": 1}
    assert samples[0].seconds == 0.5
    assert [each.failed for each in samples] == [False, True, True, True]


def sender(samples: list[Sample], pause: float) -> Send:
    """Return what is answered after a pause, each second time wrongly."""

    async def send(due: float) -> None:
        sent, number = time.monotonic(), len(samples)
        await asyncio.sleep(pause)
        code = "wrong-translation" if number % 2 else ""
        samples.append(Sample("load", number, 1.0, due, sent, time.monotonic(), 200, code))

    return send


async def test_run_counts_after_the_warm_up_responses() -> None:
    samples: list[Sample] = []
    timing = Timing(seconds=0.1, warm_up=60.0, warm_responses=3, min_responses=4, extension=60.0)
    result = await run_load([(Stream("load", concurrency=3), sender(samples, 0.01))], samples, timing)
    assert sum(sample.ended < result.since for sample in result.samples) >= 3
    assert result.until - result.since >= 0.1
    assert result.began <= result.since
    assert result.until <= result.ended
    assert {sample.failed for sample in result.counted} == {False}
    assert result.rate == len(result.counted) / result.seconds
    assert result.latency_ms(50) >= 10


async def test_run_is_extended_for_responses_up_to_a_limit() -> None:
    samples: list[Sample] = []
    timing = Timing(seconds=0.01, min_responses=4, extension=60.0)
    result = await run_load([(Stream("load", concurrency=1), sender(samples, 0.02))], samples, timing)
    assert sum(sample.ended < result.until for sample in result.samples) >= 4

    async def is_extended_no_further() -> None:
        stuck: list[Sample] = []
        timing = Timing(seconds=0.01, min_responses=1, extension=0.02)
        result = await run_load([(Stream("load", concurrency=1), sender(stuck, 0.5))], stuck, timing)
        assert len(result.samples) == 1
        assert not result.counted

    await again_where_paused(is_extended_no_further)


async def test_run_without_seconds_ends_with_its_event() -> None:
    samples: list[Sample] = []
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.1, stop.set)
    streams = [(Stream(name, rate=100.0), sender(samples, 0.0)) for name in ("one", "two")]
    result = await run_load(streams, samples, Timing(), stop=stop, pid=os.getpid())
    assert result.due == result.samples
    assert result.server.rss > 0
    assert result.cpu_share > 0
