"""Priority: how urgent a request is; the least urgent is refused first when there is too much to do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from shared.protocol.errors import InvalidRequestError

PRIORITY_HEADER: Final = "X-Priority"


class Priority(StrEnum):
    """Three classes, the most urgent first: somebody waits, something waits, nothing does.

    ``rank`` is 0 for the most urgent.
    """

    rank: int

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BULK = "bulk"

    @classmethod
    def from_header(cls, value: str | None) -> Priority:
        """Read the header; without one a request is interactive.

        Raises:
            InvalidRequestError: it names no class.
        """
        if value is None:
            return cls.INTERACTIVE
        try:
            return cls(value.strip().lower())
        except ValueError:
            message = f"must be one of {', '.join(cls)}"
            raise InvalidRequestError([(PRIORITY_HEADER, message)]) from None

    def at_most(self, ceiling: Priority) -> Priority:
        """Return this class, or the ceiling where this one is more urgent."""
        return self if self.rank >= ceiling.rank else ceiling


for _rank, _priority in enumerate(Priority):
    _priority.rank = _rank
