"""Lane: in what order API servers take requests on, as far as the proxy knows it. Pure."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from shared.priority import Priority


class Lane(IntEnum):
    """The lower one goes first."""

    SHORT = 0
    """Interactive requests of short texts only."""
    LONG = 1
    """Interactive ones with a long text among theirs."""
    STANDARD = 2
    BULK = 3

    @classmethod
    def of(cls, priority: Priority, *, is_long: bool = False) -> Lane:
        """Return the lane of a class's requests."""
        return cls.LONG if is_long and priority is Priority.INTERACTIVE else _LANES[priority]


_LANES: Final = {Priority.INTERACTIVE: Lane.SHORT, Priority.STANDARD: Lane.STANDARD, Priority.BULK: Lane.BULK}
