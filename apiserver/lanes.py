"""Lane: in which order work goes to an engine: by its class, and within that the short before the long. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final

from shared.cost import CHARS_PER_UNIT

if TYPE_CHECKING:
    from shared.priority import Priority

# A text of more segments than this is long: it waits for its share, and its segments queue behind short texts' of its class.
SHORT_SEGMENTS: Final = 8
# Long texts together run at most one in so many of the requests that the engine runs at once. A step's time grows with
# its batch, so this is what a short text feels of a long one (measured: benchmarks/README.md, "Long texts").
LONG_SHARE: Final = 4
# The same before a text is planned.
SHORT_CHARS: Final = SHORT_SEGMENTS * CHARS_PER_UNIT


class Lane(IntEnum):
    """The lanes, the most urgent first; the number is also vLLM's priority, which takes lower numbers first."""

    CANARY = -1
    INTERACTIVE = 0
    INTERACTIVE_LONG = 1
    STANDARD = 2
    STANDARD_LONG = 3
    BULK = 4
    BULK_LONG = 5

    @classmethod
    def of(cls, priority: Priority, *, long: bool) -> Lane:
        """Return the lane of a class's short or long texts."""
        return cls(2 * priority.rank + long)

    @property
    def is_long(self) -> bool:
        """Whether long texts go there."""
        return self in _LONG


_LONG: Final = frozenset({Lane.INTERACTIVE_LONG, Lane.STANDARD_LONG, Lane.BULK_LONG})
# Those that work goes through; canaries go past all.
LANES: Final = tuple(lane for lane in Lane if lane is not Lane.CANARY)
