"""The parts of the vLLM door that need no engine: threads, metrics."""

from __future__ import annotations

import asyncio
import threading

import pytest
from prometheus_client import CollectorRegistry, Gauge, Histogram

from apiserver.engine.step_metrics import MAX_PENDING, EngineMetrics, StepHistogram
from shared.runtime.metrics import MergedCollector
from shared.runtime.threads import in_daemon_thread
from tests.waiting import wait_until


def test_metrics_without_the_models_name_get_it_so_that_two_engines_do_not_collide() -> None:
    collectors: list[EngineMetrics] = []
    for model in ("a", "b"):
        registry = CollectorRegistry()
        Gauge("vllm:cache_config_info", "x", ["engine"], registry=registry).labels("0").set(1)
        Gauge("vllm:kv", "x", ["engine", "model_name"], registry=registry).labels("0", model).set(1)
        collectors.append(EngineMetrics(registry, model))
    merged = MergedCollector(*collectors)  # pyright: ignore[reportArgumentType] - collect() is all it needs
    series = [(sample.name, sample.labels["model_name"]) for metric in merged.collect() for sample in metric.samples]
    assert sorted(series) == [
        ("vllm:cache_config_info", "a"),
        ("vllm:cache_config_info", "b"),
        ("vllm:kv", "a"),
        ("vllm:kv", "b"),
    ]


async def test_the_threads_result_and_its_error_arrive() -> None:
    undone: list[int] = []
    assert await in_daemon_thread(lambda: 7, undo=undone.append) == 7

    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await in_daemon_thread(fails, undo=undone.append)
    assert undone == []


async def test_a_result_that_nobody_waits_for_is_undone() -> None:
    go, undone = threading.Event(), threading.Event()
    got: list[int] = []

    def work() -> int:
        assert go.wait(5)
        return 7

    def undo(result: int) -> None:
        got.append(result)
        undone.set()

    task = asyncio.create_task(in_daemon_thread(work, undo=undo))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(undone.wait, 5)
    assert got == [7]


async def test_a_result_that_comes_in_the_moment_of_the_cancellation_is_undone() -> None:
    finished = threading.Event()
    got: list[int] = []

    def work() -> int:
        finished.set()
        return 7

    task = asyncio.create_task(in_daemon_thread(work, undo=got.append))
    await asyncio.sleep(0)
    assert finished.wait(5)  # blocks the loop: the result is there, but the task has not heard of it
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: got == [7], 5)


async def test_an_error_that_nobody_waits_for_is_dropped() -> None:
    go = threading.Event()

    def work() -> int:
        assert go.wait(5)
        raise OSError("late")

    task = asyncio.create_task(in_daemon_thread(work, undo=lambda _: None))
    await asyncio.sleep(0.05)
    task.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_step_histogram_says_what_an_ordinary_one_does() -> None:
    registries = CollectorRegistry(), CollectorRegistry()
    kept, counted = (
        kind("vllm:seconds", "…", ["model_name"], buckets=(0.1, 1.0), registry=registry).labels("en-de")
        for kind, registry in zip((StepHistogram, Histogram), registries, strict=True)
    )
    for values in ([0.0, 0.1, 0.5], [1.0, 7.0], [0.25] * (2 * MAX_PENDING + 1)):
        for value in values:
            kept.observe(value)
            counted.observe(value)
        said, wanted = (
            [sample for sample in next(iter(registry.collect())).samples if not sample.name.endswith("_created")]
            for registry in registries
        )
        assert said == wanted
