"""Random weights in the model's place: their number, folder and catalog, and which answers count."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from apiserver.prompts.sampling import Sampling
from benchmarks.origin.http_clients import is_answer
from benchmarks.origin.workload import random_weights as shapes
from benchmarks.origin.workload.model import joined, read_entry, text_of, use_random_weights, write_catalog
from benchmarks.origin.workload.random_weights import (
    ANSWER_TOKENS,
    NOTHING_SAID,
    SHAPES,
    answer_text,
    has_random_weights,
    missing_for_shape,
)
from benchmarks.origin.workload.text_file import OriginText, TextSpec, header, read, write_answered_by

TOKENS = list(range(ANSWER_TOKENS))


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """Return a run's catalog of one model with weights of its own."""
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"vocab_size": 8000}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (model / name).write_text("{}")
    source = tmp_path / "source.yaml"
    entry = {"path": "./model", "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_model_len": 512}}
    source.write_text(yaml.safe_dump({"models": {"small": entry}}))
    out = tmp_path / "catalog.yaml"
    write_catalog(source, "small", out, "cpu")
    return out


def test_shapes_have_the_weights_of_their_names() -> None:
    assert SHAPES["llama-1.8b"].parameters(8000) == pytest.approx(1.81e9, rel=0.005)
    assert SHAPES["llama-20m"].parameters(8000) == pytest.approx(20.6e6, rel=0.005)


def test_use_random_weights_replaces_the_model(catalog: Path, tmp_path: Path) -> None:
    assert not has_random_weights(read_entry(catalog))
    weights = use_random_weights(SHAPES["llama-1.8b"], catalog, tmp_path / "shape")
    entry = read_entry(catalog)
    assert has_random_weights(entry)
    assert weights == SHAPES["llama-1.8b"].parameters(8000)
    assert entry.path == str(tmp_path / "shape")
    assert entry.engine["kv_cache_memory_bytes"] == 2 * 2**30
    assert entry.engine["max_num_seqs"] == 96
    config: dict[str, Any] = json.loads((tmp_path / "shape" / "config.json").read_text())
    assert (config["vocab_size"], config["head_dim"], config["max_position_embeddings"]) == (8000, 128, 512)
    assert (tmp_path / "shape" / "tokenizer.json").read_text() == "{}"


def test_gpu_engines_share_the_memory(catalog: Path, tmp_path: Path) -> None:
    assert "gpu_memory_utilization" not in read_entry(catalog).engine
    entry = write_catalog(catalog, "small", tmp_path / "cuda.yaml", "cuda")
    assert entry.engine["gpu_memory_utilization"] == 0.01


def test_text_of_random_model_counts_by_length(catalog: Path, tmp_path: Path) -> None:
    use_random_weights(SHAPES["llama-20m"], catalog, tmp_path / "shape")
    entry = read_entry(catalog)
    assert text_of(entry, SimpleNamespace(text="so so", token_ids=TOKENS)) == "so so"
    assert text_of(entry, SimpleNamespace(text="so so", token_ids=TOKENS[1:])) == ""
    assert answer_text(" ", TOKENS) == NOTHING_SAID


def test_text_without_one_answer_has_none() -> None:
    assert joined(["so so", "so"]) == "so so so"
    row = OriginText("mixed", "en", "de", "a b", [([1], ANSWER_TOKENS), ([2], ANSWER_TOKENS)])
    assert is_answer({"translation": joined(["so so", "so"])}, row)
    assert not is_answer({"translation": joined(["", "so so"])}, row)


def test_missing_for_shape_names_what_is_missing(catalog: Path, tmp_path: Path) -> None:
    entry = read_entry(catalog)
    assert missing_for_shape(entry) == ""
    assert "max_model_len" in missing_for_shape(entry.model_copy(update={"engine": {}}))
    assert missing_for_shape(entry.model_copy(update={"path": "owner/name"})) == "its path, owner/name, is no folder"
    model = tmp_path / "model"
    (model / "config.json").write_text("{}")
    assert missing_for_shape(entry).endswith("config.json has no vocab_size")
    (model / "tokenizer.json").unlink()
    assert missing_for_shape(entry) == f"{model} has no tokenizer.json"


def test_write_answered_by_keeps_the_texts(tmp_path: Path) -> None:
    chosen, out = tmp_path / "chosen.jsonl", tmp_path / "texts.jsonl"
    text_spec = {"model": "m", "pairs": "p", "seed": 1, "uniform": 1.0, "mixed": 1.0}
    row = {"kind": "uniform", "source": "en", "target": "de", "text": "Ä", "asks": [[[1, 2], 38]]}
    chosen.write_text(f"{json.dumps(text_spec)}\n{json.dumps(row)}\n")
    write_answered_by(ANSWER_TOKENS, chosen, out)
    assert header(out) == TextSpec("m", "p", 1, 1.0, 1.0)
    assert [(one.text, one.asks) for one in read(out)] == [("Ä", [[[1, 2], ANSWER_TOKENS]])]


def test_full_length_sampling_ignores_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def design(_: Sampling, most: int) -> Any:
        return SimpleNamespace(max_tokens=most, ignore_eos=False, repetition_detection=object())

    monkeypatch.setattr(shapes, "sampling_parameters", design)
    body = shapes.full_length_sampling(Sampling(), 500)
    assert (body.max_tokens, body.ignore_eos, body.repetition_detection) == (ANSWER_TOKENS, True, None)
