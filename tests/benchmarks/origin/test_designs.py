"""The compared designs: their models, processes, queue and guard."""

from __future__ import annotations

import json
import queue
from multiprocessing.queues import JoinableQueue
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from apiserver.engine.interface import GenerationResult
from apiserver.guards.output_language import OutputLanguage
from apiserver.prompts.sampling import Sampling
from benchmarks.origin import model
from benchmarks.origin.designs.pairway_server import IgnoredGuard
from benchmarks.origin.designs.queue_design import Task, gather_tasks
from benchmarks.origin.designs.serving import EngineRecord, EngineWork
from benchmarks.origin.model import ANSWER_TOKENS, has_random_weights, parameters, write_catalog
from benchmarks.origin.processes import command_line, counted_work, environment
from shared.languages import LanguagePair


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a catalog of one model with weights of its own."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({"vocab_size": 8000}))
    entry = {"path": "./model", "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_model_len": 512}}
    path = tmp_path / "source.yaml"
    path.write_text(yaml.safe_dump({"models": {"small": entry}}))
    return path


def test_catalog_has_the_arguments_of_the_run(source: Path, tmp_path: Path) -> None:
    entry = write_catalog(source, "small", tmp_path / "catalog.yaml", "cpu")
    assert not has_random_weights(entry)
    assert entry.path == str(tmp_path / "model")
    assert (entry.engine["max_model_len"], entry.engine["max_num_seqs"]) == (512, 96)
    assert "gpu_memory_utilization" not in entry.engine


def test_gpu_engines_share_the_memory(source: Path, tmp_path: Path) -> None:
    entry = write_catalog(source, "small", tmp_path / "catalog.yaml", "cuda")
    assert entry.engine["gpu_memory_utilization"] == 0.01


def test_shape_replaces_the_weights(source: Path, tmp_path: Path) -> None:
    entry = write_catalog(source, "small", tmp_path / "catalog.yaml", "cpu", "llama-1.8b")
    assert has_random_weights(entry)
    assert entry.engine["kv_cache_memory_bytes"] == 2 * 2**30
    assert entry.engine["max_num_seqs"] == 96
    assert entry.engine["hf_overrides"]["head_dim"] == 128


def test_random_weights_ignore_the_end(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def design(_: Sampling, most: int, __: bool) -> Any:
        return SimpleNamespace(max_tokens=most, ignore_eos=False, repetition_detection="on")

    monkeypatch.setattr(model, "sampling_parameters", design)
    entry = write_catalog(source, "small", tmp_path / "catalog.yaml", "cpu")
    usual = parameters(entry, Sampling(), 500)
    assert (usual.max_tokens, usual.ignore_eos, usual.repetition_detection, usual.detokenize) == (
        500,
        False,
        "on",
        True,
    )
    entry = write_catalog(source, "small", tmp_path / "catalog.yaml", "cpu", "llama-20m")
    fixed = parameters(entry, Sampling(), 500, detokenize=False)
    assert (fixed.max_tokens, fixed.ignore_eos, fixed.repetition_detection) == (ANSWER_TOKENS, True, None)
    assert not fixed.detokenize


def test_environment_numbers_gpus_as_nvidia_smi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert environment("cpu")["CUDA_VISIBLE_DEVICES"] == ""
    on_gpu = environment("cuda")
    assert (on_gpu["CUDA_DEVICE_ORDER"], on_gpu["CUDA_VISIBLE_DEVICES"]) == ("PCI_BUS_ID", "3")


def test_engine_work_from_metrics() -> None:
    metrics = """# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model_name="m"} 7.0
vllm:request_success_total{finished_reason="length",model_name="m"} 1.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_sum{model_name="m"} 2.5
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_count{model_name="m"} 30.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} 200.0
"""
    assert counted_work(metrics) == (8, 2.5, 30, 200)


def test_command_line_of_engine_arguments() -> None:
    arguments = {"model": "/m", "enforce_eager": True, "enable_prefix_caching": False, "hf_overrides": {"head_dim": 64}}
    expected = ["--model", "/m", "--enforce-eager", "--no-enable-prefix-caching", "--hf-overrides", '{"head_dim": 64}']
    assert command_line(arguments) == expected


async def test_record_begins_again_with_each_look() -> None:
    record = EngineRecord()
    with record.request():
        record.step((1.0, 3))
    first = await record.look()
    assert (first.requests, first.steps, first.tokens, first.timeline) == (1, 1, 3, [(1.0, 3)])
    record.add(0.5, [(2.0, 4)])
    assert await record.look() == EngineWork(1, 0.5, 1, 4, [(2.0, 4)])
    assert await record.look() == EngineWork()


def test_gather_tasks_until_full_or_idle() -> None:
    tasks: queue.Queue[Any] = queue.Queue()
    for number in range(5):
        tasks.put((str(number), None))
    joinable = cast("JoinableQueue[Task]", tasks)
    assert [task_id for task_id, _ in gather_tasks(joinable, 3)] == ["0", "1", "2"]
    assert [task_id for task_id, _ in gather_tasks(joinable, 3)] == ["3", "4"]


def test_ignored_guard_finds_nothing() -> None:
    for end in ("stop", "length"):
        output = GenerationResult("so so so so so so so so", end)
        assert IgnoredGuard(OutputLanguage()).find_issues("We saw it.", output, LanguagePair("en", "de")) == []
