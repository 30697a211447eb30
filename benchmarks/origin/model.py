"""The model under every design: the run's catalog, prompts and sampling, all of them Pairway's own.

A shape (``--shape``) puts random weights of its sizes in the model's place, for a GPU that a demo model leaves idle. They say nothing and come
to no end, so under every design each engine request makes exactly :data:`ANSWER_TOKENS` tokens, the guards' findings are not heeded, and an
answer is good by its status. What is measured so is the work of serving.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

import yaml

from apiserver.catalog import loader
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine, GenerationRequest
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens, sampling_for
from apiserver.engine.tokenizer import ModelTokenizer
from apiserver.engine.vllm_engine import sampling_parameters
from apiserver.prompts.sampling import Sampling
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import TextStep, plan_text
from benchmarks.harness.engine import PLAIN
from shared.languages import LanguagePair

# The same for every engine of the run, whatever the catalog says beside them: more room in a batch than the highest
# concurrency (64), no prefix found again, no compiling; 256 MiB are 32,768 tokens of the demo model.
ENGINE: Final[Mapping[str, object]] = {
    "max_num_seqs": 96,
    "enforce_eager": True,
    "enable_prefix_caching": False,
    "kv_cache_memory_bytes": 256 << 20,
}
# On a GPU an engine that is given its cache's size asks for nothing else beforehand, but that this part of the memory be free:
# by default nearly all of it, and then no second engine starts.
ON_GPU: Final[Mapping[str, object]] = {"gpu_memory_utilization": 0.01}
# The demo model's translation of a uniform text has 28.
ANSWER_TOKENS: Final = 32
RANDOM_WEIGHTS: Final = "dummy"
# Of a shape's Llama; its KV cache, in bfloat16, has room for 96 requests of 340 tokens.
KV_HEADS: Final = 4
CACHE_TOKENS: Final = 32_768


def _llama(layers: int, width: int, inner: int, heads: int) -> dict[str, object]:
    """Return the engine arguments of random weights of these sizes."""
    sizes = {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_attention_heads": heads,
        "num_key_value_heads": KV_HEADS,
        "head_dim": width // heads,
    }
    cache = 2 * 2 * layers * KV_HEADS * (width // heads) * CACHE_TOKENS
    return {"load_format": RANDOM_WEIGHTS, "hf_overrides": sizes, "kv_cache_memory_bytes": cache}


# 1.81 billion weights with the demo tokenizer's 8,000 tokens, 3.6 GB, and 2 GiB of cache; llama-20m is to try a run on a CPU.
SHAPES: Final = {
    "llama-1.8b": _llama(32, 2048, inner=7424, heads=16),
    "llama-20m": _llama(6, 512, inner=1280, heads=8),
}


def write_catalog(source: Path, model: str, out: Path, device: str, shape: str | None = None) -> ModelEntry:
    """Write the run's catalog, one model of ``source`` with the run's engine arguments; return its entry."""
    (entry,) = loader.load(source, [model])
    engine = {**entry.engine, **ENGINE}
    engine |= ON_GPU if device == "cuda" else {}
    engine |= SHAPES[shape] if shape else {}
    written: dict[str, Any] = yaml.safe_load(source.read_text())["models"][model]
    out.write_text(yaml.safe_dump({"models": {model: {**written, "path": entry.path, "engine": engine}}}))
    return read_entry(out)


def read_entry(path: Path) -> ModelEntry:
    """Return the only model of the run's catalog."""
    (entry,) = loader.load(path)
    return entry


def has_random_weights(entry: ModelEntry) -> bool:
    """Say whether an engine makes up the model's weights."""
    return entry.engine.get("load_format") == RANDOM_WEIGHTS


class Prompts:
    """Turns texts into what an engine is asked, as the API server does: a plain text's segments, one request for each."""

    def __init__(self, entry: ModelEntry) -> None:
        from transformers import AutoTokenizer  # noqa: PLC0415 - seconds

        tokenizer: Any = AutoTokenizer.from_pretrained(entry.path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - has no types
        engine = cast("Engine", ModelTokenizer(tokenizer))  # nothing else of it is needed
        self._encoders = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
        self._encode = engine.encode_text
        self._sampling = sampling_for(entry, engine)
        self._max_model_len = int(entry.engine["max_model_len"])
        most, sentences = entry.segment.tokens or self._max_model_len // 2, entry.segment.sentences
        self._budget = Budget(max_tokens=most, max_sentences=sentences, count=self.count)

    def asks(self, pair: LanguagePair, text: str) -> list[GenerationRequest]:
        """Return the engine requests for a text."""
        encoder, found = self._encoders[pair], list[GenerationRequest]()
        for step in plan_text(text, pair, PLAIN, self._budget).steps:
            if isinstance(step, TextStep) and step.translatable:
                prompt = encoder.ids(step.text, {})
                most = min(max_output_tokens(len(prompt) - encoder.bare_length), self._max_model_len - len(prompt))
                found.append(GenerationRequest(prompt, self._sampling, most))
        return found

    def count(self, words: str) -> int:
        """Count the tokens of words."""
        return len(self._encode(words))


def parameters(
    entry: ModelEntry,
    sampling: Sampling,
    most: int,
    wants_logprobs: bool = False,  # noqa: FBT001, FBT002 - as sampling_parameters
    *,
    detokenize: bool = True,
) -> Any:
    """Return an engine request's sampling, the API server's own; by default vLLM makes the text: else nobody does here."""
    found = sampling_parameters(sampling, most, wants_logprobs)
    found.detokenize = detokenize
    if has_random_weights(entry):
        found.max_tokens, found.ignore_eos, found.repetition_detection = ANSWER_TOKENS, True, None
    return found


def engine_arguments(entry: ModelEntry) -> dict[str, Any]:
    """Return what every engine is started with, as ``VllmEngine`` starts its own."""
    own = {"served_model_name": entry.name, "generation_config": "vllm", "scheduling_policy": "priority"}
    return {"model": entry.path, **own, **entry.engine}
