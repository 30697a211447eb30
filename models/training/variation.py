"""Variation of pairs: swapped, with "&", bare, joined, with placeholders, or cut."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from models.corpus import Pair
from models.training.alignment import AlignedPair, Lexicon
from models.training.placeholders import with_placeholders
from models.training.recipe import Shares
from models.training.swaps import Swapper

# Texts of three sentences among those of two or three.
THREE_SHARE = 0.3
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "…")
OPENING = "¿¡"
# Longer sentences seldom come without a full stop.
MAX_BARE_CHARS = 40
NO_SPACE = frozenset({"ja", "zh"})
# The corpora have "&" on both sides in one of 3,000 pairs, and a model that seldom writes it forgets the sign.
AMPERSAND = " & "
ENGLISH_AND = " and "
AND: Mapping[str, str] = {"de": " und ", "es": " y ", "fr": " et "}
# A cut needs that share of linked words before it; otherwise its two sides may not say the same.
MIN_LINKED_SHARE = 0.65
MIN_PREFIX_WORDS = 2


class Variant(NamedTuple):
    """A pair to learn; ``is_part``: both sides are beginnings; ``is_lower``: prompts are in lower case, answers are not."""

    pair: Pair
    is_part: bool
    is_lower: bool = False


@dataclass(frozen=True)
class Variation:
    """Varies pairs at random; lexicons and swappers are by language."""

    shares: Shares
    lexicons: Mapping[str, Lexicon]
    swappers: Mapping[str, Swapper]

    def vary(self, pairs: Iterable[Pair], rng: random.Random) -> Iterator[Variant]:
        """Yield the pairs, each varied or not; joined ones come as one."""
        signed = (with_ampersand(pair, self.shares.ampersands, rng) for pair in self._swapped(pairs, rng))
        changed = (bare(pair, self.shares.bare, rng) for pair in signed)
        for pair in joined(changed, self.shares.joined, rng):
            kind = rng.random()
            if kind < self.shares.placeholders:
                aligned = self.lexicons[pair.language].align(pair)
                yield Variant(with_placeholders(aligned, rng) if aligned.links else pair, is_part=False)
            elif kind < self.shares.placeholders + self.shares.prefixes:
                yield prefix(self.lexicons[pair.language].align(pair), rng) or Variant(pair, is_part=False)
            elif len(pair.english) <= MAX_BARE_CHARS and rng.random() < self.shares.lower:
                yield Variant(without_marks(pair), is_part=False, is_lower=True)
            else:
                yield Variant(pair, is_part=False)

    def _swapped(self, pairs: Iterable[Pair], rng: random.Random) -> Iterator[Pair]:
        for pair in pairs:
            yield self.swappers[pair.language].swap(pair, rng) if rng.random() < self.shares.swapped else pair


def with_ampersand(pair: Pair, share: float, rng: random.Random) -> Pair:
    """Return a pair whose sides both say "and" once, by that share, with "&" in its place."""
    other_and = AND.get(pair.language)
    if other_and is None or pair.english.count(ENGLISH_AND) != 1 or pair.other.count(other_and) != 1:
        return pair
    if rng.random() >= share:
        return pair
    return pair._replace(
        english=pair.english.replace(ENGLISH_AND, AMPERSAND), other=pair.other.replace(other_and, AMPERSAND)
    )


def bare(pair: Pair, share: float, rng: random.Random) -> Pair:
    """Return a short pair, by that share, without the marks at both ends: "Hello!" as "Hello"."""
    if len(pair.english) > MAX_BARE_CHARS or rng.random() >= share:
        return pair
    return without_marks(pair)


def without_marks(pair: Pair) -> Pair:
    """Return the pair without the marks at both ends; as it is if one side has nothing else, or nothing to take."""
    ends = "".join(SENTENCE_ENDS)
    english, other = (text.rstrip(ends).rstrip().lstrip(OPENING) for text in (pair.english, pair.other))
    if not english or not other or english == pair.english or other == pair.other:
        return pair
    return pair._replace(english=english, other=other)


def joined(pairs: Iterable[Pair], share: float, rng: random.Random) -> Iterator[Pair]:
    """Yield the pairs, but some as texts of two or three sentences of one source."""
    waiting: defaultdict[tuple[str, str], list[Pair]] = defaultdict(list)
    sizes: dict[tuple[str, str], int] = {}
    for pair in pairs:
        is_sentence = pair.english.endswith(SENTENCE_ENDS) and pair.other.endswith(SENTENCE_ENDS)
        if not is_sentence or rng.random() >= share:
            yield pair
            continue
        key = (pair.language, pair.source)
        size = sizes.setdefault(key, 3 if rng.random() < THREE_SHARE else 2)
        waiting[key].append(pair)
        if len(waiting[key]) == size:
            space = "" if pair.language in NO_SPACE else " "
            parts = waiting.pop(key)
            del sizes[key]
            yield pair._replace(
                english=" ".join(part.english for part in parts), other=space.join(part.other for part in parts)
            )
    for parts in waiting.values():
        yield from parts


def prefix(aligned: AlignedPair, rng: random.Random) -> Variant | None:
    """Return beginnings of both sides that say the same; None if no cut is safe."""
    if len(aligned.links) < MIN_LINKED_SHARE * len(aligned.english):
        return None
    cuts = [cut for cut in aligned.cuts() if cut.english + 1 >= MIN_PREFIX_WORDS]
    if not cuts:
        return None
    cut = rng.choice(cuts)
    pair = aligned.pair
    english = pair.english[: aligned.english[cut.english].end]
    other = pair.other[: aligned.other[cut.other].end]
    return Variant(pair._replace(english=english, other=other), is_part=True)
