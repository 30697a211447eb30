"""The model under every design: the run's catalog, prompts and sampling, all of them Pairway's own.

``--shape`` puts a Llama of random weights in its place, for a GPU that a demo model leaves idle: vLLM's ``load_format: dummy`` makes them from
one fixed seed. Such a model says nothing and comes to no end, so for every design alike each engine request makes exactly
:data:`ANSWER_TOKENS` tokens, the guards' findings are not heeded, and an answer is good when it has so many tokens. What is measured so is the
work of serving; quality it says nothing of.
"""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import yaml

from apiserver.catalog import loader
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine, GenerationRequest
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens, sampling_for
from apiserver.engine.vllm_adapters import sampling_parameters
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
    "kv_cache_memory_bytes": 256 * 1024 * 1024,
}
# On a GPU an engine that is given its cache's size asks for nothing else beforehand, but that this part of the memory be free:
# by default nearly all of it, and then no second engine starts.
ON_GPU: Final[Mapping[str, object]] = {"gpu_memory_utilization": 0.01}
# The demo model's translation of a uniform text has 28.
ANSWER_TOKENS: Final = 32
# The KV cache of a shape has room for so many: 96 requests of 340.
CACHE_TOKENS: Final = 32_768
BYTES_PER_WEIGHT: Final = 2
SHAPE_FILES: Final = ("config.json", "tokenizer.json", "tokenizer_config.json")
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

    def parameters(self, vocabulary: int) -> int:
        """Count the weights: attention (q and o, k and v), the feed-forward's three matrices, norms, the embedding."""
        attention = 2 * self.width * self.width * (1 + self.kv_heads / self.heads)
        layer = int(attention) + 3 * self.width * self.inner + 2 * self.width
        return self.layers * layer + self.width + vocabulary * self.width

    def engine(self) -> dict[str, object]:
        """Return the engine arguments that differ from the run's."""
        per_token = 2 * self.layers * self.kv_heads * (self.width // self.heads) * BYTES_PER_WEIGHT
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
            "head_dim": self.width // self.heads,
            "vocab_size": vocabulary,
            "max_position_embeddings": max_model_len,
            "rms_norm_eps": 1e-5,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
        }


# With the demo tokenizer's 8,000 tokens: 32 × 56.1 M + 16.4 M = 1.81 billion weights, 3.6 GB in bfloat16, and 64 KiB of cache
# a token, 2 GiB in all. llama-20m (20.6 M) is to try a run on a CPU.
SHAPES: Final = {
    "llama-1.8b": ModelShape(layers=32, width=2048, inner=7424, heads=16, kv_heads=4),
    "llama-20m": ModelShape(layers=6, width=512, inner=1280, heads=8, kv_heads=4),
}


def write_catalog(source: Path, model: str, out: Path, device: str) -> ModelEntry:
    """Write the run's catalog, one model of ``source`` with :data:`ENGINE`; return its entry.

    Raises:
        CatalogError: the source can not be used.
    """
    (entry,) = loader.load(source, [model])
    return _rewrite(entry, source, out, entry.path, {**ENGINE, **(ON_GPU if device == "cuda" else {})})


def _rewrite(entry: ModelEntry, source: Path, out: Path, path: str, engine: Mapping[str, object]) -> ModelEntry:
    written: dict[str, Any] = yaml.safe_load(source.read_text())["models"][entry.name]
    written |= {"path": path, "engine": {**entry.engine, **engine}}
    out.write_text(yaml.safe_dump({"models": {entry.name: written}}))
    return read_entry(out)


def use_random_weights(shape: ModelShape, catalog: Path, folder: Path) -> int:
    """Put a shape in the place of the run's model, with its tokenizer; return how many weights it has.

    Raises:
        ValueError: the model lacks what a shape needs.
    """
    entry = read_entry(catalog)
    model = Path(entry.path)
    missing = [name for name in SHAPE_FILES if not (model / name).is_file()]
    if missing or "max_model_len" not in entry.engine:
        raise ValueError(f"{entry.name}: {model} has no {', '.join(missing) or 'max_model_len in the catalog'}")
    vocabulary: int = json.loads((model / "config.json").read_text())["vocab_size"]
    folder.mkdir()
    for name in SHAPE_FILES[1:]:
        shutil.copyfile(model / name, folder / name)
    (folder / "config.json").write_text(json.dumps(shape.config(vocabulary, int(entry.engine["max_model_len"]))))
    _rewrite(entry, catalog, catalog, str(folder), shape.engine())
    return shape.parameters(vocabulary)


def has_random_weights(entry: ModelEntry) -> bool:
    """Say whether an engine makes up the model's weights."""
    return entry.engine.get("load_format") == "dummy"


def read_entry(path: Path) -> ModelEntry:
    """Return the only model of the run's catalog."""
    (entry,) = loader.load(path)
    return entry


class Prompts:
    """Turns texts into what an engine is asked, as the API server does: a plain text's segments, one request for each."""

    def __init__(self, entry: ModelEntry, tokenizer: object, max_model_len: int) -> None:
        engine = cast("Engine", tokenizer)  # nothing else of it is needed
        self._encoders = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
        self._encode = engine.encode_text
        self._sampling = sampling_for(entry, engine)
        self._max_model_len = max_model_len
        self._answers = answer_tokens(entry)
        most, sentences = entry.segment.tokens or max_model_len // 2, entry.segment.sentences
        self._budget = Budget(max_tokens=most, max_sentences=sentences, count=self.count)

    def asks(self, pair: LanguagePair, text: str) -> list[GenerationRequest]:
        """Return the engine requests for a text."""
        steps = plan_text(text, pair, PLAIN, self._budget).steps
        return [self._ask(pair, step.text) for step in steps if isinstance(step, TextStep) and step.translatable]

    def count(self, words: str) -> int:
        """Count the tokens of words."""
        return len(self._encode(words))

    def _ask(self, pair: LanguagePair, words: str) -> GenerationRequest:
        encoder = self._encoders[pair]
        prompt = encoder.ids(words, {})
        most = min(max_output_tokens(len(prompt) - encoder.bare_length), self._max_model_len - len(prompt))
        return GenerationRequest(prompt, self._sampling, self._answers or most)


def full_length_sampling(sampling: Sampling, _: int) -> Any:
    """Return a request's sampling in vLLM's words as the API server does, but of the given length, whatever is asked for."""
    parameters = sampling_parameters(sampling, ANSWER_TOKENS)
    parameters.ignore_eos = True
    parameters.repetition_detection = None
    return parameters


def parameters(entry: ModelEntry, ask: GenerationRequest) -> Any:
    """Return an engine request's sampling, the API server's own, but that vLLM makes the text: nobody else does here."""
    make = full_length_sampling if has_random_weights(entry) else sampling_parameters
    sampling = make(ask.sampling, ask.max_tokens)
    sampling.detokenize = True
    return sampling


def random_answer(text: str, ids: Sequence[int]) -> str:
    """Return a random model's answer, never blank; of a wrong length ``""``, which no client takes for an answer."""
    return (text if text.strip() else NOTHING_SAID) if len(ids) == ANSWER_TOKENS else ""


def answer_text(entry: ModelEntry, output: Any) -> str:
    """Return the text of an engine's output; ``""`` is no answer."""
    return random_answer(output.text, output.token_ids) if has_random_weights(entry) else output.text


def joined(answers: Sequence[str]) -> str:
    """Return the answers of a text's segments as one; ``""`` where one of them is no answer."""
    return " ".join(answers) if all(answers) else ""


def engine_arguments(entry: ModelEntry) -> dict[str, Any]:
    """Return what every engine is started with, as ``VllmEngine`` starts its own."""
    own = {"served_model_name": entry.name, "generation_config": "vllm", "scheduling_policy": "priority"}
    return {"model": entry.path, **own, **entry.engine}


def command_line(arguments: Mapping[str, object]) -> list[str]:
    """Return engine arguments as vLLM's own server takes them."""
    options: list[str] = []
    for name, value in arguments.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            options.append(f"--{option}" if value else f"--no-{option}")
        else:
            options += [f"--{option}", str(value)]
    return options


def answer_tokens(entry: ModelEntry) -> int | None:
    """Return the length of every answer; None where the model decides."""
    return ANSWER_TOKENS if has_random_weights(entry) else None


def program_parser(module: str) -> ArgumentParser:
    """Return the options that every program of a design takes."""
    parser = ArgumentParser(prog=f"python -m benchmarks.origin.{module}")
    parser.add_argument("--catalog", type=Path, required=True, help="the run's catalog, of one model")
    parser.add_argument("--port", type=int, default=0, help="where to serve")
    return parser
