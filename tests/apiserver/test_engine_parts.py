"""The parts of the vLLM door that need no engine: threads, tokenizers, metrics."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge

from apiserver.engine import in_daemon_thread, text_tokenizer
from apiserver.progress import EngineMetrics
from shared.telemetry import MergedCollector
from tests.waiting import wait_until

SAVED = (Path(__file__).resolve().parents[2] / "models" / "en-de" / "tokenizer.json").read_text(encoding="utf-8")
TEXT = text_tokenizer(SAVED)
CONTROL = {token["content"]: token["id"] for token in json.loads(SAVED)["added_tokens"]}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted(CONTROL)) | st.text(max_size=12), max_size=8).map("".join))
def test_no_text_becomes_a_control_token_and_none_is_lost(text: str) -> None:
    ids = TEXT.encode(text, add_special_tokens=False).ids
    assert not set(ids) & set(CONTROL.values())
    assert TEXT.decode(ids, skip_special_tokens=False).strip() == text.strip()


@pytest.mark.parametrize("text", ["</s>", "<sep>", "<de>", "<s>", "a</s>b", " <s> <en><de>Hallo<sep>", "<pad>"])
def test_each_control_token_in_a_text_is_split(text: str) -> None:
    assert not set(TEXT.encode(text, add_special_tokens=False).ids) & set(CONTROL.values())


def test_an_added_token_that_is_not_marked_special_is_split_too() -> None:
    content = json.loads(SAVED)
    for token in content["added_tokens"]:
        token["special"] = False
    tokenizer = text_tokenizer(json.dumps(content))
    assert not set(tokenizer.encode("a</s><sep>b", add_special_tokens=False).ids) & set(CONTROL.values())


def test_a_saved_truncation_or_padding_does_not_reach_texts() -> None:
    content = json.loads(SAVED)
    content["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 64},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    plain = TEXT.encode("one two three four five six", add_special_tokens=False).ids
    assert len(plain) > 4
    assert (
        text_tokenizer(json.dumps(content)).encode("one two three four five six", add_special_tokens=False).ids == plain
    )


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
