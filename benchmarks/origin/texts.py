"""The run's texts: chosen so that each segment needs exactly one engine request, guards or not, and kept in a file.

``python -m benchmarks.origin.texts`` starts the model's engine and puts candidates through Pairway's whole pipeline; what a guard would have
asked again is left out. So no design makes a request that another one does not. Uniform texts have about 30 tokens; mixed ones, made of
uniform and short ones, 10 to 200; those of the other direction are half of what F is sent, and no guard has seen them.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import math
import random
import sys
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, cast

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.vllm_engine import VllmEngine
from benchmarks.harness.engine import LocalModel, TextRequest, running_model, work_item
from benchmarks.origin.model import Prompts, read_entry
from models.corpus import read_pairs
from shared.languages import LanguagePair

UNIFORM: Final = "uniform"
MIXED: Final = "mixed"
# Uniform texts of the pair's other direction, and both directions by turns: two engines' load, one for each.
REVERSE: Final = "reverse"
BOTH: Final = "both"
KINDS: Final = (UNIFORM, MIXED)
# More than any point sends, so that none has a text twice.
COUNTS: Final = {UNIFORM: 2000, MIXED: 800, REVERSE: 800}
# Tokens of words; the prompt's own tokens come on top.
UNIFORM_TOKENS: Final = (27, 33)
SHORT_TOKENS: Final = (8, 26)
MIXED_TOKENS: Final = (10, 200)
# Mixed texts are made of so many short and uniform ones.
UNITS: Final = (400, 1500)
# Mixed lengths come in blocks of so many, each block with a length of each sixteenth of the range (short ones are as
# frequent as in speech: evenly in the logarithm), so that any short run of them costs about the same.
BLOCK: Final = 16
# What is tried for one text before there are no more.
TRIES: Final = 2000
CHUNK: Final = 512
AND: Final = {"en": "and", "de": "und", "fr": "et"}


@dataclass(frozen=True)
class OriginText:
    """One text and the engine requests that it is: prompts and the most tokens each answer may have."""

    kind: str
    source: str
    target: str
    text: str
    asks: list[tuple[list[int], int]]


class TextPool:
    """All texts of the run by kind."""

    def __init__(self, rows: Iterable[OriginText]) -> None:
        self._kinds: defaultdict[str, list[OriginText]] = defaultdict(list)
        for row in rows:
            self._kinds[row.kind].append(row)

    @classmethod
    def read(cls, file: Path, answer_tokens: int | None = None) -> TextPool:
        """Return the texts of a file, each answer of exactly so many tokens where a number is given."""
        _, *lines = file.read_text(encoding="utf-8").split("\n")
        rows = (OriginText(**json.loads(line)) for line in lines if line)
        return cls(replace(row, asks=[(ids, answer_tokens or most) for ids, most in row.asks]) for row in rows)

    def text(self, kind: str, number: int) -> OriginText:
        """Return a text by its number; after the last comes the first again."""
        if kind == BOTH:
            kind, number = (UNIFORM, REVERSE)[number % 2], number // 2
        rows = self._kinds[kind]
        return rows[number % len(rows)]


def text_key(entry: ModelEntry, pairs: Path, seed: int) -> str:
    """Return what tells whether a file of texts will do: the model by its entry and its files' sizes, the sentences by their content."""
    folder = Path(entry.path)
    files = sorted((file.name, file.stat().st_size) for file in folder.iterdir()) if folder.is_dir() else entry.path
    known = [entry.model_dump(mode="json", exclude={"path"}), files, seed, COUNTS]
    return hashlib.sha256(json.dumps(known, sort_keys=True, default=str).encode() + pairs.read_bytes()).hexdigest()


def is_chosen(texts: Path, key: str) -> bool:
    """Say whether a file holds the texts of a key."""
    return texts.is_file() and texts.read_text(encoding="utf-8").split("\n", 1)[0] == key


class Sentence(NamedTuple):
    """A sentence, and its length in tokens."""

    text: str
    tokens: int


def pairs_of(sentences: Sequence[str], conjunction: str, count: Callable[[str], int], seed: str) -> Iterator[Sentence]:
    """Yield new sentences of two old ones with a conjunction between them, all of about one length, until no more are found."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    known = [Sentence(sentence, count(sentence)) for sentence in sentences]
    seen: set[str] = set()
    least, most = UNIFORM_TOKENS
    misses = 0
    while misses < TRIES:
        misses += 1
        first, second = rng.choice(known), rng.choice(known)
        if not least - 3 <= first.tokens + second.tokens <= most:
            continue
        text = f"{first.text.rstrip('.!?')}, {conjunction} {second.text[:1].lower()}{second.text[1:]}"
        if text not in seen and least <= (tokens := count(text)) <= most:
            seen.add(text)
            misses = 0
            yield Sentence(text, tokens)


def mixed(units: Sequence[Sentence], seed: str) -> Iterator[str]:
    """Yield texts of one or more units, lengths spread over the range, until no more are found; no text twice, no unit twice in one."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    by_length = sorted(units, key=lambda unit: unit.tokens)
    seen: set[tuple[str, ...]] = set()
    least, most = MIXED_TOKENS
    step = math.log(most / least) / BLOCK
    misses = 0
    while misses < TRIES:
        lengths = [round(least * math.exp(step * (number + rng.random()))) for number in range(BLOCK)]
        rng.shuffle(lengths)
        for length in lengths:
            text = tuple(unit.text for unit in _of_length(by_length, length, rng))
            misses = misses + 1 if text in seen else 0
            if not misses:
                seen.add(text)
                yield " ".join(text)


def _of_length(by_length: Sequence[Sentence], length: int, rng: random.Random) -> list[Sentence]:
    """Return units of so many tokens together, or nearly."""
    chosen: list[Sentence] = []
    while (left := length - sum(unit.tokens for unit in chosen)) >= by_length[0].tokens or not chosen:
        # The last one is chosen among those that fit best, those before it among all.
        is_last = left <= 2 * by_length[-1].tokens
        best = min(abs(unit.tokens - left) for unit in by_length) + 1 if is_last else length
        unit = rng.choice([unit for unit in by_length if abs(unit.tokens - left) <= best])
        chosen += [unit] if unit not in chosen else []
    return chosen


class NotingEngine(VllmEngine):
    """Engine that notes the requests of each text."""

    requests: defaultdict[str, list[GenerationRequest]]

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate and note it."""
        self.requests[request_id.rpartition("-")[0]].append(request)
        return await super().generate(request, request_id)


class TextSelector:
    """Makes the file's rows of one model's two directions."""

    def __init__(self, model: LocalModel, seed: int) -> None:
        self._model = model
        self._requests = cast("NotingEngine", model.engine).requests = defaultdict[str, list[GenerationRequest]](list)
        self._prompts = Prompts(model.entry, model.engine, model.engine.max_model_len)
        self._forth = next(pair for pair in model.entry.all_pairs if pair.source == "en")
        self._seed = seed
        self._numbers = itertools.count()

    async def rows(self, english: Sequence[str], other: Sequence[str]) -> list[OriginText]:
        """Choose the texts."""
        forth, back = self._forth, LanguagePair(self._forth.target, self._forth.source)
        count = self._prompts.count
        sentences = (Sentence(sentence, count(sentence)) for sentence in english)
        short = (unit for unit in sentences if SHORT_TOKENS[0] <= unit.tokens <= SHORT_TOKENS[1])
        short = await self._passed(short, UNITS[0])
        candidates = pairs_of(english, AND[forth.source], count, f"{UNIFORM} {self._seed}")
        uniform = await self._passed(candidates, COUNTS[UNIFORM])
        units = [*short, *uniform[: UNITS[1]]]
        known = {tuple(ask.prompt_ids) for unit in units for ask in self._prompts.asks(forth, unit.text)}
        many = (self._row(MIXED, forth, text) for text in mixed(units, f"{MIXED} {self._seed}"))
        many = (row for row in many if all(tuple(ids) in known for ids, _ in row.asks))
        reverse = pairs_of(other, AND[back.source], count, f"{REVERSE} {self._seed}")
        return [
            *(self._row(UNIFORM, forth, unit.text) for unit in uniform),
            *itertools.islice(many, COUNTS[MIXED]),
            *(self._row(REVERSE, back, unit.text) for unit in itertools.islice(reverse, COUNTS[REVERSE])),
        ]

    async def _passed(self, candidates: Iterator[Sentence], most: int) -> list[Sentence]:
        """Return those that are one engine request, in their order."""
        passed: list[Sentence] = []
        while len(passed) < most and (chunk := list(itertools.islice(candidates, CHUNK))):
            passed += itertools.compress(chunk, await asyncio.gather(*map(self._is_one, chunk)))
        return passed[:most]

    async def _is_one(self, unit: Sentence) -> bool:
        own = [list(ask.prompt_ids) for ask in self._prompts.asks(self._forth, unit.text)]
        if len(own) != 1:
            return False
        request_id = f"screen-{next(self._numbers)}"
        work = work_item(self._forth, TextRequest(unit.text), request_id)
        (translation,) = await self._model.translator.translate(work)
        # What the other designs ask is what Pairway asks.
        asked = [list(request.prompt_ids) for request in self._requests.pop(f"{request_id}-0", ())]
        return asked == own and translation.translation is not None

    def _row(self, kind: str, pair: LanguagePair, text: str) -> OriginText:
        asks = [(list(ask.prompt_ids), ask.max_tokens) for ask in self._prompts.asks(pair, text)]
        return OriginText(kind, pair.source, pair.target, text, asks)


async def choose(entry: ModelEntry, pairs: Path, seed: int) -> list[OriginText]:
    """Start the engine and choose the texts."""
    lines = read_pairs(pairs)
    async with running_model(entry, NotingEngine) as model:
        return await TextSelector(model, seed).rows([pair.english for pair in lines], [pair.other for pair in lines])


def main() -> int:
    """Choose and write."""
    parser = ArgumentParser(prog="python -m benchmarks.origin.texts")
    for name in ("--catalog", "--pairs", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    entry = read_entry(options.catalog)
    rows = asyncio.run(choose(entry, options.pairs, options.seed))
    lines = [text_key(entry, options.pairs, options.seed)]
    lines += [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    options.out.write_text("\n".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
