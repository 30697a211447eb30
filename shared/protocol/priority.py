"""Priorities, cost units and lanes of work."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Final

from shared.protocol.errors import InvalidRequestError

PRIORITY_HEADER: Final = "X-Priority"
# About a sentence (docs/decisions/0017-overload.md); not tokens, because proxies have no tokenizer.
CHARS_PER_UNIT: Final = 100
# Each unit's prompt repeats the context, which is only read: an engine reads eight tokens in the time of one that it
# writes, or more (a step takes 2,048 tokens of prompts, or one for each of 256 sequences).
CONTEXT_CHARS_PER_UNIT: Final = 8 * CHARS_PER_UNIT
# Longer texts wait behind the short ones of their priority.
SHORT_UNITS: Final = 8


class Priority(StrEnum):
    """Priority of a request; ``rank`` 0 is the most urgent."""

    rank: int

    INTERACTIVE = "interactive"  # a person waits
    STANDARD = "standard"  # a program waits
    BULK = "bulk"  # nobody waits

    @classmethod
    def from_header(cls, value: str | None) -> Priority:
        """Return the header's priority; without one, interactive.

        Raises:
            InvalidRequestError: the header names no priority.
        """
        if value is None:
            return cls.INTERACTIVE
        try:
            return cls(value.strip().lower())
        except ValueError:
            raise InvalidRequestError([(PRIORITY_HEADER, f"must be one of {', '.join(cls)}")]) from None

    def at_most(self, ceiling: Priority) -> Priority:
        """Return the less urgent of the two."""
        return self if self.rank >= ceiling.rank else ceiling


for _rank, _priority in enumerate(Priority):
    _priority.rank = _rank


def cost_of(chars: int, texts: int = 1, outputs: int = 1) -> float:
    """Return the cost of texts, in units; each has so many outputs."""
    return outputs * max(float(texts), chars / CHARS_PER_UNIT)


class Lane(IntEnum):
    """Priority, with short or long texts; most urgent first."""

    INTERACTIVE_SHORT = 0
    INTERACTIVE_LONG = 1
    STANDARD_SHORT = 2
    STANDARD_LONG = 3
    BULK_SHORT = 4
    BULK_LONG = 5

    @classmethod
    def of(cls, priority: Priority, *, is_long: bool) -> Lane:
        """Return the lane of a request."""
        return _LANES[2 * priority.rank + is_long]

    @property
    def is_long(self) -> bool:
        """Whether the lane is for long texts."""
        return self in _LONG


_LANES: Final = tuple(Lane)
_LONG: Final = frozenset({Lane.INTERACTIVE_LONG, Lane.STANDARD_LONG, Lane.BULK_LONG})


def is_long(chars: int) -> bool:
    """Return whether a text is long."""
    return chars > SHORT_UNITS * CHARS_PER_UNIT
