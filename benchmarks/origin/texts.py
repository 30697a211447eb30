"""The run's texts: chosen so that each segment needs exactly one engine request, guards or not, and kept in a file.

Candidates go through Pairway's whole pipeline; what a guard would have asked again is left out. So no design makes a request that another one
does not. Uniform texts have about 30 tokens; mixed ones, made of uniform and short ones, 10 to 200; those of the other direction are half of
what F is sent, and no guard has seen them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

from pydantic import TypeAdapter

from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import model_revision
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.vllm_engine import VllmEngine
from benchmarks.harness.engine import LocalModel, TextRequest, running_model
from benchmarks.origin.model import Prompts
from models.corpus import read_pairs
from shared.languages import LanguagePair

UNIFORM: Final = "uniform"
MIXED: Final = "mixed"
# Uniform texts of the pair's other direction, and both directions by turns: two engines' load, one for each.
REVERSE: Final = "reverse"
BOTH: Final = "both"
KINDS: Final = (UNIFORM, MIXED)
# Uniform texts: more than any point sends, so that none has a text twice. Of other kinds there are two fifths as many.
TEXTS: Final = 2000
# Tokens of words; the prompt's own tokens come on top.
UNIFORM_TOKENS: Final = (27, 33)
SHORT_TOKENS: Final = (8, 26)
MIXED_TOKENS: Final = (10, 200)
# Mixed texts are made of so many short and uniform ones.
UNITS: Final = (400, 1500)
# Mixed lengths come in blocks of so many, each block with a length of each sixteenth of the range (short ones are as
# frequent as in speech: evenly in the logarithm), so that any short run of them costs about the same.
BLOCK: Final = 16
# Candidates tried for each text of a kind, and at once by the engine.
MAX_TRIES: Final = 250
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


TEXTS_JSON: Final = TypeAdapter(list[OriginText])


class TextPool:
    """All texts of the run by kind."""

    def __init__(self, rows: Iterable[OriginText]) -> None:
        self._kinds: defaultdict[str, list[OriginText]] = defaultdict(list)
        for row in rows:
            self._kinds[row.kind].append(row)

    @classmethod
    def read(cls, file: Path) -> TextPool:
        """Return the texts of a file."""
        return cls(TEXTS_JSON.validate_json(file.read_bytes()))

    def text(self, kind: str, number: int) -> OriginText:
        """Return a text by its number; after the last comes the first again."""
        if kind == BOTH:
            kind, number = (UNIFORM, REVERSE)[number % 2], number // 2
        rows = self._kinds[kind]
        return rows[number % len(rows)]


def of_other_kinds(texts: int) -> int:
    """Return the number of texts of each kind but the uniform one."""
    return texts * 2 // 5


def texts_name(entry: ModelEntry, pairs: Path, seed: int, texts: int = TEXTS) -> str:
    """Return the name of the file of texts: another model, other sentences, another seed or number give another one."""
    known = f"{model_revision(entry, None)} {seed} {texts}".encode()
    return f"texts-{hashlib.sha256(known + pairs.read_bytes()).hexdigest()[:16]}.json"


class Sentence(NamedTuple):
    """A sentence, and its length in tokens."""

    text: str
    tokens: int


def pairs_of(
    sentences: Sequence[str], conjunction: str, count: Callable[[str], int], seed: str, texts: int = TEXTS
) -> Iterator[Sentence]:
    """Yield new sentences of two old ones with a conjunction between them, all of about one length."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    seen: set[str] = set()
    for _ in range(texts * MAX_TRIES):
        first, second = rng.choice(sentences), rng.choice(sentences)
        text = f"{first.rstrip('.!?')}, {conjunction} {second[:1].lower()}{second[1:]}"
        if text not in seen and UNIFORM_TOKENS[0] <= (tokens := count(text)) <= UNIFORM_TOKENS[1]:
            seen.add(text)
            yield Sentence(text, tokens)


def mixed(units: Sequence[Sentence], seed: str, texts: int = TEXTS) -> Iterator[str]:
    """Yield texts of one or more units, lengths spread over the range; no text twice, no unit twice in one."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    seen: set[str] = set()
    by_length = sorted(units, key=lambda unit: unit.tokens)
    least, most = MIXED_TOKENS
    step = math.log(most / least) / BLOCK
    for _ in range(of_other_kinds(texts)):
        lengths = [round(least * math.exp(step * (number + rng.random()))) for number in range(BLOCK)]
        rng.shuffle(lengths)
        for length in lengths:
            text = " ".join(unit.text for unit in _of_length(by_length, length, rng))
            if text not in seen:
                seen.add(text)
                yield text


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


class CountingEngine(VllmEngine):
    """Engine that counts how often it was asked each prompt."""

    asked: ClassVar = Counter[tuple[int, ...]]()

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate and count it."""
        self.asked[tuple(request.prompt_ids)] += 1
        return await super().generate(request, request_id)


async def choose(entry: ModelEntry, pairs: Path, seed: int, texts: int) -> list[OriginText]:
    """Start the engine and choose the texts of the model's two directions."""
    prompts, lines = Prompts(entry), read_pairs(pairs)
    english, other = [line.english for line in lines], [line.other for line in lines]
    forth = next(pair for pair in entry.all_pairs if pair.source == "en")
    back = LanguagePair(forth.target, forth.source)
    sentences = (Sentence(sentence, prompts.count(sentence)) for sentence in english)
    short = (unit for unit in sentences if SHORT_TOKENS[0] <= unit.tokens <= SHORT_TOKENS[1])
    candidates = pairs_of(english, AND[forth.source], prompts.count, f"{UNIFORM} {seed}", texts)
    reverse = pairs_of(other, AND[back.source], prompts.count, f"{REVERSE} {seed}", texts)
    async with running_model(entry, CountingEngine) as model:
        short = await _passed(model, prompts, forth, short, UNITS[0])
        uniform = await _passed(model, prompts, forth, candidates, texts)

    def row(kind: str, pair: LanguagePair, text: str) -> OriginText:
        asks = [(list(ask.prompt_ids), ask.max_tokens) for ask in prompts.asks(pair, text)]
        return OriginText(kind, pair.source, pair.target, text, asks)

    units = [*short, *uniform[: UNITS[1]]]
    known = {tuple(ask.prompt_ids) for unit in units for ask in prompts.asks(forth, unit.text)}
    many = (row(MIXED, forth, text) for text in mixed(units, f"{MIXED} {seed}", texts))
    many = (text for text in many if all(tuple(ids) in known for ids, _ in text.asks))
    return [
        *(row(UNIFORM, forth, unit.text) for unit in uniform),
        *itertools.islice(many, of_other_kinds(texts)),
        *(row(REVERSE, back, unit.text) for unit in itertools.islice(reverse, of_other_kinds(texts))),
    ]


async def _passed(
    model: LocalModel, prompts: Prompts, pair: LanguagePair, candidates: Iterator[Sentence], most: int
) -> list[Sentence]:
    """Return those that are one engine request under every design: the one that Pairway asks, and asks no more."""
    passed: list[Sentence] = []
    while len(passed) < most and (chunk := list(itertools.islice(candidates, CHUNK))):
        translations = await model.translate(pair, [TextRequest(unit.text) for unit in chunk])
        for unit, translation in zip(chunk, translations, strict=True):
            counts = [CountingEngine.asked[tuple(ask.prompt_ids)] for ask in prompts.asks(pair, unit.text)]
            if counts == [1] and translation.translation is not None and not translation.warnings:
                passed.append(unit)
    return passed[:most]
