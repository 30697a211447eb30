"""Comparison: numbers of one text that the other lacks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apiserver.guards.numbers.mentions import MINUS, NumberMention, Reading, Value

# "a" and "one" need not be said.
_FREE: Final[frozenset[Value]] = frozenset({0, 1})
# In a language whose words are unknown, these are often spelled out.
_OFTEN_SPELLED: Final[frozenset[Value]] = frozenset({*range(21), *range(30, 101, 10), 1000, 10**6, 10**9, MINUS})


def unmatched_numbers(
    mentions: Sequence[NumberMention], others: Sequence[NumberMention], *, knows_words: bool
) -> list[NumberMention]:
    """Return demanded numbers without a reading whose values the other text has.

    ``knows_words``: the words of both languages are known.
    """
    demanded = [mention for mention in mentions if mention.is_demanded]
    if not demanded:
        return []
    values = {value for other in others for reading in _readings(other, knows_words=knows_words) for value in reading}
    values |= _FREE if knows_words else _OFTEN_SPELLED
    return [
        mention
        for mention in demanded
        if not any(values.issuperset(reading) for reading in _readings(mention, knows_words=knows_words))
    ]


def _readings(mention: NumberMention, *, knows_words: bool) -> tuple[Reading, ...]:
    return mention.readings if knows_words or mention.plain is None else (*mention.readings, mention.plain)
