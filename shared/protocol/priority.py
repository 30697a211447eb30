"""How urgent a request is, what its texts cost, and the lanes by both: the order in which work goes to an engine."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

from shared.protocol.errors import InvalidRequestError

PRIORITY_HEADER: Final = "X-Priority"
# About a sentence of ordinary prose (15 to 20 words), which is what an engine is asked at once; a text costs no less than
# one however short it is. Both servers measure alike without a tokenizer (docs/decisions/0017-overload.md).
CHARS_PER_UNIT: Final = 100
# A text of more units than this is long: it waits for its share behind the short texts of its class.
SHORT_UNITS: Final = 8


class Priority(StrEnum):
    """Three classes: somebody waits, something waits, nothing does; ``rank`` is 0 for the most urgent."""

    rank: int

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BULK = "bulk"

    @classmethod
    def from_header(cls, value: str | None) -> Priority:
        """Read the header (none: interactive), or raise InvalidRequestError where it names no class."""
        if value is None:
            return cls.INTERACTIVE
        try:
            return cls(value.strip().lower())
        except ValueError:
            raise InvalidRequestError([(PRIORITY_HEADER, f"must be one of {', '.join(cls)}")]) from None

    def at_most(self, ceiling: Priority) -> Priority:
        """Return this class, or the ceiling where this one is more urgent."""
        return self if self.rank >= ceiling.rank else ceiling


for _rank, _priority in enumerate(Priority):
    _priority.rank = _rank


def cost_of(chars: int, texts: int = 1) -> float:
    """Return the units that so many texts with that many characters together cost; one unit is a short sentence."""
    return max(float(texts), chars / CHARS_PER_UNIT)


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
        return _LANES[2 * priority.rank + is_long]

    @property
    def is_long(self) -> bool:
        """Whether long texts go there."""
        return self in _LONG


_LANES: Final = tuple(Lane)
_LONG: Final = frozenset({Lane.INTERACTIVE_LONG, Lane.STANDARD_LONG, Lane.BULK_LONG})


def is_long(chars: int) -> bool:
    """Say whether a text of so many characters is long; a request is when its longest text is."""
    return chars > SHORT_UNITS * CHARS_PER_UNIT
