"""Deadlines: the time that a request may still take."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared.protocol.errors import DeadlineExceededError, InvalidRequestError

TIMEOUT_HEADER: Final = "X-Timeout-Ms"
# ASCII digits only (int() accepts others too); nine of them are 11 days, far beyond any cap.
_MILLISECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_MILLISECONDS: Final = 999_999_999
# The base time is for a paragraph of this length; further characters get more time.
BASE_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of requests in seconds; long texts get more than ``base``."""

    base: float
    per_1000_chars: float
    longest: float

    def seconds(self, chars: int) -> float:
        """Return the limit for that many characters; beyond 1,000 it grows linearly."""
        return min(self.base + self.per_1000_chars * max(0, chars - BASE_CHARS) / 1000, self.longest)


@dataclass(slots=True)  # not frozen: creating a frozen one takes three times as long
class Deadline:
    """Time after which nobody waits for the answer.

    ``clock`` is monotonic. ``seconds`` is the time given at the start, ``requested`` the client's limit in seconds.
    """

    expires_at: float
    seconds: float
    clock: Callable[[], float]
    requested: float = math.inf

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """Return a deadline that many seconds from now."""
        return cls(clock() + seconds, seconds, clock)

    @classmethod
    def from_header(cls, value: str | None, cap: float, clock: Callable[[], float]) -> Deadline:
        """Return the deadline of ``X-Timeout-Ms``, at most ``cap`` seconds from now.

        Without a header the cap applies.

        Raises:
            InvalidRequestError: the value is not a positive whole number.
        """
        if value is None:
            return cls.after(cap, clock)
        value = value.strip(" \t")  # allowed around a value; the parser leaves those after it
        if not _MILLISECONDS.fullmatch(value) or int(value) == 0:
            raise InvalidRequestError(
                [(TIMEOUT_HEADER, f"must be a whole number of milliseconds > 0, not {value[:20]!r}")]
            )
        requested = int(value) / 1000
        seconds = min(requested, cap)
        return cls(clock() + seconds, seconds, clock, requested)

    def extended(self, cap: float) -> Deadline:
        """Return the same deadline with another cap; the client's limit still applies."""
        seconds = min(self.requested, cap)
        if seconds == self.seconds:
            return self
        return Deadline(self.expires_at - self.seconds + seconds, seconds, self.clock, self.requested)

    def remaining(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self.expires_at - self.clock())

    def header(self) -> str:
        """Return the milliseconds left (at least 1), as ``X-Timeout-Ms``."""
        return str(max(1, int(self.remaining() * 1000)))

    def exceeded_error(self) -> DeadlineExceededError:
        """Return the error for an expired deadline."""
        return DeadlineExceededError(f"No answer within the {self.seconds:g} s given.")
