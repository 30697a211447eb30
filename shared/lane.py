"""Lane: in which order work goes to an engine: by its class, and within that the short before the long. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from shared.cost import CHARS_PER_UNIT

if TYPE_CHECKING:
    from shared.priority import Priority

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
