"""Deadlines of requests."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared.protocol.errors import DeadlineExceededError, InvalidRequestError

TIMEOUT_HEADER: Final = "X-Timeout-Ms"
# int() alone also accepts other scripts' digits.
_MILLISECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_MILLISECONDS: Final = 999_999_999
# Longer texts get more than the base time.
BASE_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Time limits of requests, in seconds."""

    base: float
    per_1000_chars: float
    longest: float

    def seconds(self, chars: int) -> float:
        """Return the limit for a text."""
        return min(self.base + self.per_1000_chars * max(0, chars - BASE_CHARS) / 1000, self.longest)


@dataclass(slots=True)  # not frozen: that takes three times as long
class Deadline:
    """Time after which nobody waits for the answer.

    ``clock`` is monotonic; ``requested`` is the client's limit in seconds.
    """

    expires_at: float
    seconds: float
    clock: Callable[[], float]
    requested: float = math.inf

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """Return a deadline ``seconds`` from now."""
        return cls(clock() + seconds, seconds, clock)

    @classmethod
    def from_header(cls, value: str | None, cap: float, clock: Callable[[], float]) -> Deadline:
        """Return the deadline of ``X-Timeout-Ms``, at most ``cap`` seconds from now.

        Raises:
            InvalidRequestError: the value is not a positive whole number.
        """
        if value is None:
            return cls.after(cap, clock)
        value = value.strip(" \t")  # the HTTP parser keeps trailing ones
        if not _MILLISECONDS.fullmatch(value) or int(value) == 0:
            raise InvalidRequestError(
                [(TIMEOUT_HEADER, f"must be a whole number of milliseconds > 0, not {value[:20]!r}")]
            )
        requested = int(value) / 1000
        seconds = min(requested, cap)
        return cls(clock() + seconds, seconds, clock, requested)

    def extended(self, cap: float) -> Deadline:
        """Return the deadline with another cap, within the client's limit."""
        seconds = min(self.requested, cap)
        if seconds == self.seconds:
            return self
        return Deadline(self.expires_at - self.seconds + seconds, seconds, self.clock, self.requested)

    def remaining(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self.expires_at - self.clock())

    def header(self) -> str:
        """Return the milliseconds left, at least 1."""
        return str(max(1, int(self.remaining() * 1000)))

    def exceeded_error(self) -> DeadlineExceededError:
        """Return the error of an expired deadline."""
        return DeadlineExceededError(f"No answer within the {self.seconds:g} s given.")
