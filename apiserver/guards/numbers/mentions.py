"""Mentions of numbers in a text: their places and possible readings."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

# A number longer than an integer can be read fast is kept as its digits.
Value = int | Decimal | str
# Values that a text must all have: "9:30" has 9 and 30.
Reading = tuple[Value, ...]

HALF: Final = Decimal("0.5")
# A sign, or a word such as "below".
MINUS: Final = "-"


class NumberKind(StrEnum):
    """Form of a mention."""

    DIGITS = "digits"
    CLOCK = "clock"  # a time of day
    WORDS = "words"  # spelled out
    ORDINAL = "ordinal"  # spelled out: "third"
    HINT = "hint"  # may mean a number, but need not: "pair", "May", 一


class NumberMention(NamedTuple):
    """A number in a text, with the readings that it can have.

    ``plain``, only with a scale ("5 million"), is the reading of its digits alone.
    """

    start: int
    end: int
    kind: NumberKind
    readings: tuple[Reading, ...]
    plain: Reading | None = None

    @property
    def is_demanded(self) -> bool:
        """Whether the other text must have this number."""
        return self.kind is not NumberKind.HINT
