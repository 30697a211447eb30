"""Repeats: digits and times that a translation has too often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from apiserver.guards.numbers.mentions import NumberKind, NumberMention


def repeated_numbers(
    ours: Sequence[NumberMention], theirs: Sequence[NumberMention], translation: str
) -> Iterator[NumberMention]:
    """Yield the source's numbers that the translation repeats in the same digits."""
    counts: defaultdict[str, list[NumberMention]] = defaultdict(list)
    for mention in theirs:
        if mention.kind in {NumberKind.DIGITS, NumberKind.CLOCK}:
            counts[translation[mention.start : mention.end]].append(mention)
    for mentions in counts.values():
        if len(mentions) == 1:
            continue
        values = {value for reading in mentions[0].readings for value in reading}
        same = [our for our in ours if any(values.intersection(reading) for reading in our.readings)]
        if 0 < len(same) < len(mentions):
            yield from (our for our in same if our.is_demanded)
