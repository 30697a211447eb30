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
from benchmarks.origin.model import (
    ANSWER_TOKENS,
    NOTHING_SAID,
    SHAPES,
    answer_text,
    command_line,
    has_random_weights,
    random_answer,
    read_entry,
    use_random_weights,
    write_catalog,
)

TOKENS = list(range(ANSWER_TOKENS))


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    """Return a run's catalog of one model with weights of its own."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"vocab_size": 8000}))
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}")
    source = tmp_path / "source.yaml"
    entry = {"path": "./model", "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_model_len": 512}}
    source.write_text(yaml.safe_dump({"models": {"small": entry}}))
    out = tmp_path / "catalog.yaml"
    write_catalog(source, "small", out, "cpu")
    return out


def test_command_line_of_engine_arguments() -> None:
    arguments = {"model": "/m", "enforce_eager": True, "enable_prefix_caching": False, "max_num_seqs": 64}
    expected = "--model /m --enforce-eager --no-enable-prefix-caching --max-num-seqs 64"
    assert command_line(arguments) == expected.split()


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


def test_random_weights_need_a_whole_model(catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "model" / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"has no tokenizer\.json"):
        use_random_weights(SHAPES["llama-20m"], catalog, tmp_path / "shape")


def test_gpu_engines_share_the_memory(catalog: Path, tmp_path: Path) -> None:
    assert "gpu_memory_utilization" not in read_entry(catalog).engine
    entry = write_catalog(catalog, "small", tmp_path / "cuda.yaml", "cuda")
    assert entry.engine["gpu_memory_utilization"] == 0.01


def test_answers_of_random_models_count_by_length(catalog: Path, tmp_path: Path) -> None:
    assert answer_text(read_entry(catalog), SimpleNamespace(text="so so", token_ids=[])) == "so so"
    use_random_weights(SHAPES["llama-20m"], catalog, tmp_path / "shape")
    entry = read_entry(catalog)
    assert answer_text(entry, SimpleNamespace(text="so so", token_ids=TOKENS)) == "so so"
    assert answer_text(entry, SimpleNamespace(text="so so", token_ids=TOKENS[1:])) == ""
    assert random_answer(" ", TOKENS) == NOTHING_SAID


def test_full_length_sampling_ignores_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def design(_: Sampling, most: int) -> Any:
        return SimpleNamespace(max_tokens=most, ignore_eos=False, repetition_detection=object())

    monkeypatch.setattr(model, "sampling_parameters", design)
    body = model.full_length_sampling(Sampling(), 500)
    assert (body.max_tokens, body.ignore_eos, body.repetition_detection) == (ANSWER_TOKENS, True, None)
