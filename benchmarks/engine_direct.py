"""An engine asked past our own door: token ids in, and as many out as one wants. A part of two engine benchmarks."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from apiserver import catalog
from apiserver.engine import ENVIRONMENT, VllmEngine, sampling_parameters
from apiserver.sampling import Sampling
from benchmarks.engine_rounds import at_least_one, new_children
from benchmarks.overload_mix import Mix, read_sentences

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import psutil
    from prometheus_client import CollectorRegistry

    from apiserver.catalog import ModelEntry
    from apiserver.progress import StepCounter

SEED: Final = 6
# Of a text, tokens; its answer has as many.
LONGEST_TEXT: Final = 200


class DirectEngine(VllmEngine):
    """An engine whose AsyncLLM is asked directly."""

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        super().__init__(entry, llm, registry, steps)
        self._direct = llm
        self.core: Sequence[psutil.Process] = ()

    async def answer(self, prompt_ids: Sequence[int], sampling: Any, request_id: str) -> Any:
        """Return vLLM's last output.

        Raises:
            RuntimeError: the answer is not as long as asked for, so the engines compared had different work.
        """
        prompt = {"type": "token", "prompt_token_ids": list(prompt_ids)}
        last = None
        async for output in self._direct.generate(prompt, sampling, request_id):
            last = output
        if last is None or len(last.outputs[0].token_ids) != sampling.max_tokens:
            raise RuntimeError(f"{request_id}: its answer has not {sampling.max_tokens} tokens")
        return last

    def text_of(self, output: Any) -> str:
        """Return the answer's text, decoded as the API server does it."""
        return self._generation(output.outputs[0]).text


@asynccontextmanager
async def running(entry: ModelEntry, arguments: Mapping[str, object]) -> AsyncGenerator[DirectEngine]:
    """Run the model's engine with further arguments while the block lasts."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    changed = entry.model_copy(update={"engine": {**entry.engine, **arguments}})
    with new_children() as core:
        engine = cast("DirectEngine", await DirectEngine.start(changed))
    engine.core = core
    try:
        yield engine
    finally:
        await engine.stop()


def exactly(tokens: int, *, detokenize: bool = False) -> Any:
    """Return the API server's sampling, greedy, for an answer of exactly so many tokens, whatever they say."""
    sampling = sampling_parameters(Sampling(), tokens)
    sampling.ignore_eos = True
    sampling.repetition_detection = None
    sampling.detokenize = detokenize
    return sampling


class Texts:
    """Mixed texts as token ids: no text twice, one sentence and paragraphs of many together."""

    def __init__(self, engine: VllmEngine, pairs: Path | None, longest: int) -> None:
        """Take the engine whose tokens they are; a text that is longer than ``longest`` is cut off there."""
        self._engine = engine
        self._mix = Mix(read_sentences(pairs), SEED)
        self._longest = longest
        self._next = 0

    def take(self, count: int) -> list[list[int]]:
        """Return so many new ones."""
        numbers = range(self._next, self._next + count)
        self._next += count
        return [list(self._engine.encode_text(self._mix.text(number).text))[: self._longest] for number in numbers]


def add_arguments(parser: ArgumentParser, texts: int) -> None:
    """Add what both benchmarks take; ``texts`` is how many a round has by default."""
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"), help="default: %(default)s")
    parser.add_argument("--model", help="its name in the catalog (default: the first)")
    parser.add_argument("--pairs", type=Path, help="file of english<TAB>other lines (default: made up sentences)")
    parser.add_argument("--rounds", type=at_least_one, default=5, help="default: %(default)s")
    parser.add_argument("--texts", type=at_least_one, default=texts, help="of a round (default: %(default)s)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="what the installed vLLM is for")


def chosen_entry(options: Namespace) -> ModelEntry:
    """Return the model that the options name."""
    return catalog.load(options.catalog, (options.model,) if options.model else ())[0]
