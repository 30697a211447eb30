"""Models of a wanted size without trained weights: ``--shape``, a Llama of random weights for a GPU that a demo model leaves idle.

A shape is a folder with a ``config.json`` and the catalog's model's own tokenizer. It has no weights: vLLM's ``load_format:
dummy`` makes them at an engine's start, evenly between ±0.001, from one fixed seed, so that all engines on a device have the
same. Such a model says nothing and comes to no end, so the run differs from one with a real model, for every design alike:

* Every engine request makes exactly :data:`ANSWER_TOKENS` tokens: the end of a text is ignored, going round in circles too.
* The texts are those chosen for the catalog's model: with its tokenizer the prompts are the same, and so are the segments.
* E's guards judge every answer, which is their usual work, and what they find is not heeded: else each segment would be asked
  again (pairway_server.py).
* An answer is good when its status is 200 and its engine made so many tokens; the words are not looked at.

What is measured so is the work of serving: steps, batches, queues, HTTP, CPU and GPU. Quality it says nothing of.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.vllm_adapters import sampling_parameters
from apiserver.prompts.sampling import Sampling

# The demo model's translation of a uniform text has 28.
ANSWER_TOKENS: Final = 32
# The KV cache has room for so many: 96 requests of 340.
CACHE_TOKENS: Final = 32_768
BYTES_PER_WEIGHT: Final = 2
TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json")
# In place of an answer whose tokens leave no trace in a text.
NOTHING_SAID: Final = "-"


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a Llama: input and output embedding are one, the query heads are as wide together as the network."""

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int

    @property
    def head_width(self) -> int:
        """The width of one attention head."""
        return self.width // self.heads

    def parameters(self, vocabulary: int) -> int:
        """Count the weights: attention (q and o, k and v), the feed-forward's three matrices, norms, the embedding."""
        attention = 2 * self.width * self.width + 2 * self.width * self.kv_heads * self.head_width
        layer = attention + 3 * self.width * self.inner + 2 * self.width
        return self.layers * layer + self.width + vocabulary * self.width

    def engine(self) -> dict[str, object]:
        """Return the engine arguments that differ from the run's."""
        per_token = 2 * self.layers * self.kv_heads * self.head_width * BYTES_PER_WEIGHT
        return {"load_format": "dummy", "kv_cache_memory_bytes": CACHE_TOKENS * per_token}

    def config(self, vocabulary: int, max_model_len: int) -> dict[str, object]:
        """Return the content of ``config.json``."""
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.width,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head_width,
            "vocab_size": vocabulary,
            "max_position_embeddings": max_model_len,
            "rms_norm_eps": 1e-5,
            "hidden_act": "silu",
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
        }


# With the demo tokenizer's 8,000 tokens: 32 × 56.1 M + 16.4 M = 1.81 billion weights, 3.6 GB in bfloat16, and 64 KiB of cache
# a token, 2 GiB in all. A vocabulary of 120,000 as translators of this size have would take 0.25 billion of them; here the
# feed-forward has those, so that a step reads and computes as much, and every token has a text.
# llama-20m (20.6 M) is to try a run on a CPU.
SHAPES: Final = {
    "llama-1.8b": ModelShape(layers=32, width=2048, inner=7424, heads=16, kv_heads=4),
    "llama-20m": ModelShape(layers=6, width=512, inner=1280, heads=8, kv_heads=4),
}


def write_folder(shape: ModelShape, model: Path, folder: Path, max_model_len: int) -> int:
    """Write the shape's folder with the tokenizer of the model in another folder; return how many weights it has."""
    vocabulary: int = json.loads((model / "config.json").read_text())["vocab_size"]
    folder.mkdir()
    for name in TOKENIZER_FILES:
        shutil.copyfile(model / name, folder / name)
    (folder / "config.json").write_text(json.dumps(shape.config(vocabulary, max_model_len), indent=1))
    return shape.parameters(vocabulary)


def missing_for_shape(entry: ModelEntry) -> str:
    """Return what a model lacks for a shape to take its place; ``""`` for nothing."""
    folder = Path(entry.path)
    if not folder.is_dir():
        return f"its path, {entry.path}, is no folder"
    missing = [name for name in ("config.json", *TOKENIZER_FILES) if not (folder / name).is_file()]
    if missing:
        return f"{folder} has no {', '.join(missing)}"
    if "vocab_size" not in json.loads((folder / "config.json").read_text()):
        return f"{folder / 'config.json'} has no vocab_size"
    return "" if "max_model_len" in entry.engine else "its entry has no engine: {max_model_len: TOKENS}"


def has_random_weights(entry: ModelEntry) -> bool:
    """Say whether an engine makes up the model's weights."""
    return entry.engine.get("load_format") == "dummy"


def full_length_sampling(sampling: Sampling, _: int) -> Any:
    """Return a request's sampling in vLLM's words as the API server does, but of the given length, whatever is asked for."""
    parameters = sampling_parameters(sampling, ANSWER_TOKENS)
    parameters.ignore_eos = True
    parameters.repetition_detection = None
    return parameters


def answer_text(text: str, ids: Sequence[int]) -> str:
    """Return a random model's answer, never blank; of a wrong length ``""``, which no client takes for an answer."""
    if len(ids) != ANSWER_TOKENS:
        return ""
    return text if text.strip() else NOTHING_SAID
