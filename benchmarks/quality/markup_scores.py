"""What inline tags cost: sentences translated with a few words in bold, beside the same ones without."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Final

from apiserver.translation.assembler import TRANSLATED_IN_PIECES
from benchmarks.harness.engine import LocalModel, TextRequest
from benchmarks.quality.bootstrap import Interval, chrf_sample
from shared.languages import LanguagePair
from shared.protocol.translate_request import TextFormat

MARKUP_COLUMNS: Final = (
    "direction",
    "sentences",
    "chrF without tags",
    "chrF with tags",
    "difference [95 %]",
    "in pieces",
)
BOLD_SEED: Final = 7
# Words of a sentence that gets tags, and most of them in bold.
FEWEST_WORDS: Final = 5
MOST_BOLD: Final = 3
# Sentences of each direction.
MOST_SENTENCES: Final = 400
_TAG: Final = re.compile("</?b>")


@dataclass(frozen=True)
class MarkupScore:
    """chrF of sentences with and without tags; every answer has both tags."""

    direction: str
    sentences: int
    plain: Interval
    tagged: Interval
    difference: Interval
    in_pieces: int

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`MARKUP_COLUMNS`."""
        chrf = str(self.plain), str(self.tagged), self.difference.signed()
        return (self.direction, str(self.sentences), *chrf, str(self.in_pieces))


def with_bold(sentence: str, rng: random.Random) -> str:
    """Return a sentence as HTML with one to three neighbouring words in bold, not all of it."""
    words = [escape(word, quote=False) for word in sentence.split()]
    count = rng.randint(1, MOST_BOLD)
    start = rng.randint(0, len(words) - count - 1)
    words[start] = f"<b>{words[start]}"
    words[start + count - 1] += "</b>"
    return " ".join(words)


async def score_markup(
    model: LocalModel, pair: LanguagePair, sources: Sequence[str], references: Sequence[str]
) -> MarkupScore:
    """Translate sentences of FEWEST_WORDS and more as they are, and with words in bold; raise ValueError for lost tags."""
    rng = random.Random(BOLD_SEED)  # noqa: S311 - variety, not secrets
    rows = [row for row in zip(sources, references, strict=True) if len(row[0].split()) >= FEWEST_WORDS]
    rows = rows[:MOST_SENTENCES]
    expected = [reference for _, reference in rows]
    plain = await model.translate(pair, [TextRequest(source) for source, _ in rows])
    requests = [TextRequest(with_bold(source, rng), TextFormat.HTML) for source, _ in rows]
    tagged = await model.translate(pair, requests)
    texts = [each.translation or "" for each in tagged]
    if wrong := [text for text in texts if text and _TAG.findall(text) != ["<b>", "</b>"]]:
        raise ValueError(f"{len(wrong)} answers lost a tag, such as {wrong[0]!r}")
    first = chrf_sample([each.translation or "" for each in plain], expected)
    second = chrf_sample([unescape(_TAG.sub("", text)) for text in texts], expected)
    pieces = sum(TRANSLATED_IN_PIECES.code in {warning.code for warning in each.warnings} for each in tagged)
    return MarkupScore(str(pair), len(rows), first.interval, second.interval, second.difference(first), pieces)
