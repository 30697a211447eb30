"""The model of every design, and random weights in its place."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from apiserver.prompts.sampling import Sampling
from benchmarks.origin import model
from benchmarks.origin.model import ANSWER_TOKENS, has_random_weights, parameters, write_catalog


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
