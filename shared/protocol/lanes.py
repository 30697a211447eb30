"""Cost units of texts, and lanes: the order in which work goes to an engine."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from shared.protocol.priority import Priority

# About a sentence of ordinary prose (15 to 20 words), which is what an engine is asked at once; a text costs no less than
# one however short it is, for its request has a prompt and a place in the batch. Texts of many short sentences cost more
# than this says: rates are measured in the same units, so what counts is only that they go up with
# the work, and that both servers measure alike without a tokenizer.
CHARS_PER_UNIT: Final = 100


def cost_of(chars: int, texts: int = 1) -> float:
    """Return the units that so many texts with that many characters together cost; one unit is a short sentence."""
    return max(float(texts), chars / CHARS_PER_UNIT)


# A text of more units than this is long: it waits for its share behind the short texts of its class.
SHORT_UNITS: Final = 8


class Lane(IntEnum):
    """The lanes of both servers, the most urgent first."""

    INTERACTIVE_SHORT = 0
    INTERACTIVE_LONG = 1
    STANDARD_SHORT = 2
    STANDARD_LONG = 3
    BULK_SHORT = 4
    BULK_LONG = 5

    @classmethod
    def of(cls, priority: Priority, *, is_long: bool) -> Lane:
        """Return the lane of a class's requests: those with a long text among theirs, or those of short texts only."""
        return cls(2 * priority.rank + is_long)

    @property
    def is_long(self) -> bool:
        """Whether long texts go there."""
        return self in _LONG


_LONG: Final = frozenset({Lane.INTERACTIVE_LONG, Lane.STANDARD_LONG, Lane.BULK_LONG})


def is_long(chars: int) -> bool:
    """Say whether a text of so many characters is long; a request is when its longest text is."""
    return chars > SHORT_UNITS * CHARS_PER_UNIT
