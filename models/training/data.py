"""The data of a run: what it learns from, and what it must not see."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.corpus import DEFAULT_SOURCE, Pair, read_pairs
from models.tokenizer import DemoTokenizer
from models.training.batches import Batch, Example, both_directions, in_order
from models.training.held_out import PHRASE_SOURCES, NearDuplicates, cleared, draw, is_held_out_phrase
from models.training.recipe import Recipe
from models.training.variation import Variant, Variation

HELD_OUT_PAIRS = 500
# Of each validation set; more change its loss little.
VALIDATION_PAIRS = 500
# Pairs are prepared in parts: in a second, for two minutes of training.
PART_PAIRS = 8192


@dataclass(frozen=True)
class Data:
    """Pairs by language: to learn, to validate, and held out; ``phrases``: those held out of PHRASE_SOURCES."""

    pairs: Mapping[str, list[Pair]]
    valid: Mapping[str, list[Pair]]
    held_out: Mapping[str, list[Pair]]
    phrases: Mapping[str, list[Pair]]

    @classmethod
    def read(
        cls, train: Sequence[tuple[str, Path]], valid: Sequence[tuple[str, Path]], measured: Sequence[Path] = ()
    ) -> Data:
        """Read (language, file); drop what is too similar to validation and held-out pairs, and to measured texts.

        ``measured``: files of texts in any language, each the first column of its line.

        Raises:
            ValueError: a file cannot be read, or a language lacks one of both.
        """
        pairs, validation = read_all(train), read_all(valid)
        if wrong := sorted(pairs.keys() ^ validation.keys()):
            raise ValueError(f"{wrong[0]} needs both a file to train with and a file to validate with")
        others = {*PHRASE_SOURCES, DEFAULT_SOURCE}
        held_out = {
            language: draw((pair for pair in each if pair.source not in others), HELD_OUT_PAIRS)
            for language, each in pairs.items()
        }
        phrases = {language: list(filter(is_held_out_phrase, each)) for language, each in pairs.items()}
        texts = NearDuplicates((text for file in measured for text in first_column(file)), equal_only=True)
        kept = {
            language: [
                pair
                for pair in cleared(each, held_out[language], validation[language])
                if not (is_held_out_phrase(pair) or texts.has(pair.english) or texts.has(pair.other))
            ]
            for language, each in pairs.items()
        }
        return cls(kept, validation, held_out, phrases)

    def every_pair(self) -> list[Pair]:
        """Return the pairs to learn, of all languages."""
        return [pair for each in self.pairs.values() for pair in each]

    def validation(self, tokenizer: DemoTokenizer, longest: int, tokens: int) -> dict[str, list[Batch]]:
        """Return batches of each validation set, by its name."""
        sets = {f"{language} {DEFAULT_SOURCE}": each for language, each in self.valid.items()}
        sets |= {f"{language} held out": each for language, each in self.held_out.items() if each}
        sets |= {f"{language} phrases": each for language, each in self.phrases.items() if each}
        return {
            name: in_order(
                both_directions([Variant(pair, is_part=False) for pair in each[:VALIDATION_PAIRS]], tokenizer, longest),
                tokens,
            )
            for name, each in sets.items()
        }


def read_all(files: Iterable[tuple[str, Path]]) -> dict[str, list[Pair]]:
    """Return the pairs of all files by language."""
    pairs: defaultdict[str, list[Pair]] = defaultdict(list)
    for language, file in files:
        pairs[language] += read_pairs(file, language)
    return dict(pairs)


def first_column(file: Path) -> list[str]:
    """Return the texts before the first tab of each line; raise ValueError if the file cannot be read."""
    try:
        return [line.split("\t")[0] for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {file}: {error}") from error


@dataclass(frozen=True)
class Epochs:
    """Examples epoch after epoch, varied afresh in each; ``longest`` is the most tokens of either side."""

    pairs: Sequence[Pair]
    recipe: Recipe
    variation: Variation
    tokenizer: DemoTokenizer
    longest: int

    def parts(self, rng: random.Random) -> Iterator[list[Example]]:
        """Yield the examples of PART_PAIRS pairs after those of others, without end."""
        while True:
            pairs = self.recipe.sample(self.pairs, rng)
            for start in range(0, len(pairs), PART_PAIRS):
                variants = list(self.variation.vary(pairs[start : start + PART_PAIRS], rng))
                yield both_directions(variants, self.tokenizer, self.longest)
