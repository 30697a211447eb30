"""The model under every design: the run's catalog, prompts and sampling, all of them Pairway's own."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import yaml

from apiserver.catalog import loader
from apiserver.catalog.model_entry import ModelEntry, SegmentLimits
from apiserver.engine.interface import Engine, GenerationRequest
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.engine.tokenizer import ModelTokenizer
from apiserver.engine.vllm_adapters import sampling_parameters
from apiserver.guards.issues import max_output_tokens
from apiserver.prompts.sampling import Sampling
from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget
from apiserver.translation.planner import TextStep, TranslateOptions, plan_text
from benchmarks.origin.workload.random_weights import (
    ANSWER_TOKENS,
    ModelShape,
    answer_text,
    full_length_sampling,
    has_random_weights,
    write_folder,
)
from shared.languages import LanguagePair
from shared.protocol.messages import TextFormat

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


def write_catalog(source: Path, model: str, out: Path, device: str) -> ModelEntry:
    """Write the run's catalog, one model of ``source`` with :data:`ENGINE`; return its entry.

    Raises:
        CatalogError: the source can not be used.
    """
    (entry,) = loader.load(source, [model])
    written: dict[str, Any] = yaml.safe_load(source.read_text())["models"][model]
    written |= {"path": entry.path, "engine": {**entry.engine, **ENGINE, **(ON_GPU if device == "cuda" else {})}}
    out.write_text(yaml.safe_dump({"models": {model: written}}))
    return read_entry(out)


def use_random_weights(shape: ModelShape, catalog: Path, folder: Path) -> int:
    """Put a shape in the place of the run's model, the catalog rewritten, its folder made; return how many weights it has."""
    entry = read_entry(catalog)
    written: dict[str, Any] = yaml.safe_load(catalog.read_text())["models"][entry.name]
    written |= {"path": str(folder), "engine": {**entry.engine, **shape.engine()}}
    catalog.write_text(yaml.safe_dump({"models": {entry.name: written}}))
    return write_folder(shape, Path(entry.path), folder, int(entry.engine["max_model_len"]))


def read_entry(path: Path) -> ModelEntry:
    """Return the only model of the run's catalog."""
    (entry,) = loader.load(path)
    return entry


@dataclass(frozen=True)
class Prompts:
    """Turns texts into what an engine is asked, as the API server does: a plain text's segments, one request for each.

    ``answers`` is the length of every answer; None where the model decides.
    """

    tokenizer: ModelTokenizer
    segment: SegmentLimits
    frames: Mapping[LanguagePair, PromptEncoder]
    decoding: Sampling
    max_model_len: int
    answers: int | None

    @classmethod
    def of(cls, entry: ModelEntry, tokenizer: Any, max_model_len: int) -> Prompts:
        """Take the model's entry and its own tokenizer (transformers)."""
        own = ModelTokenizer(tokenizer)
        engine = cast("Engine", own)  # frames need an engine's tokenizer alone
        frames = {pair: PromptEncoder.of(entry.family, pair, engine) for pair in entry.all_pairs}
        answers = ANSWER_TOKENS if has_random_weights(entry) else None
        return cls(own, entry.segment, frames, sampling_for(entry, engine), max_model_len, answers)

    def asks(self, source: str, target: str, text: str) -> list[GenerationRequest]:
        """Return the engine requests for a text."""
        pair = LanguagePair(source, target)
        bounds = Budget(
            max_tokens=self.segment.tokens or self.max_model_len // 2,
            max_sentences=self.segment.sentences,
            count=self.count,
        )
        planned = plan_text(text, pair, TranslateOptions(TextFormat.TEXT, Protection.of((), {})), bounds)
        return [
            self._ask(pair, step.text) for step in planned.steps if isinstance(step, TextStep) and step.translatable
        ]

    def count(self, words: str) -> int:
        """Count the tokens of words."""
        return len(self.tokenizer.encode_text(words))

    def _ask(self, pair: LanguagePair, words: str) -> GenerationRequest:
        frame = self.frames[pair]
        prompt = frame.ids(words, {})
        most = min(max_output_tokens(len(prompt) - frame.bare_length), self.max_model_len - len(prompt))
        return GenerationRequest(prompt, self.decoding, self.answers or most)


def parameters(entry: ModelEntry, ask: GenerationRequest) -> Any:
    """Return an engine request's sampling, the API server's own, but that vLLM makes the text: nobody else does here."""
    sampling = (full_length_sampling if has_random_weights(entry) else sampling_parameters)(
        ask.sampling, ask.max_tokens
    )
    sampling.detokenize = True
    return sampling


def text_of(entry: ModelEntry, output: Any) -> str:
    """Return the text of an engine's output; ``""`` is no answer."""
    return answer_text(output.text, output.token_ids) if has_random_weights(entry) else output.text


def joined(answers: Sequence[str]) -> str:
    """Return the answers of a text's segments as one; ``""`` where one of them is no answer."""
    return " ".join(answers) if all(answers) else ""


def engine_arguments(entry: ModelEntry) -> dict[str, Any]:
    """Return what every engine is started with, as :class:`apiserver.engine.VllmEngine` starts its own."""
    own = {"served_model_name": entry.name, "generation_config": "vllm", "scheduling_policy": "priority"}
    return {"model": entry.path, **own, **entry.engine}


def command_line(arguments: Mapping[str, object]) -> list[str]:
    """Return engine arguments as vLLM's own server takes them."""
    options: list[str] = []
    for name, value in arguments.items():
        option = name.replace("_", "-")
        match value:
            case True:
                options.append(f"--{option}")
            case False:
                options.append(f"--no-{option}")
            case _:
                options += [f"--{option}", str(value)]
    return options


def add_program_arguments(parser: ArgumentParser) -> None:
    """Add what every program of a design takes."""
    parser.add_argument("--catalog", type=Path, required=True, help="the run's catalog, of one model")
    parser.add_argument("--port", type=int, default=0, help="where to serve")
