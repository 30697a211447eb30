"""How long a request may still take, from the first server to the engine's queue."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared.protocol.errors import DeadlineExceededError, InvalidRequestError

TIMEOUT_HEADER: Final = "X-Timeout-Ms"
# ASCII digits only (int() takes others too); nine of them are 11 days, far beyond any cap.
_MILLISECONDS: Final = re.compile(r"[0-9]{1,9}")
MAX_MILLISECONDS: Final = 999_999_999
# Characters that the base time is meant for: a paragraph. What a request has beyond them earns it more time.
BASE_CHARS: Final = 1000


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """How many seconds a request may take: ``base``, more for what is long, and never above ``longest``."""

    base: float
    per_1000_chars: float
    longest: float

    def seconds(self, chars: int) -> float:
        """Return the limit for texts of that many characters in all: grows evenly beyond the first 1,000."""
        return min(self.base + self.per_1000_chars * max(0, chars - BASE_CHARS) / 1000, self.longest)


@dataclass(slots=True)  # not frozen: that makes it three times slower to make
class Deadline:
    """A point on the clock after which nobody waits for the answer; ``clock`` gives seconds, monotonic.

    ``seconds`` is how long it was from its start, ``requested`` what the client itself asked for (seconds).
    """

    expires_at: float
    seconds: float
    clock: Callable[[], float]
    requested: float = math.inf

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """Start a deadline of that many seconds from now."""
        return cls(clock() + seconds, seconds, clock)

    @classmethod
    def from_header(cls, value: str | None, cap: float, clock: Callable[[], float]) -> Deadline:
        """Read ``X-Timeout-Ms``, at most the cap (seconds), or raise InvalidRequestError; without a header the cap holds."""
        if value is None:
            return cls.after(cap, clock)
        value = value.strip(" \t")  # HTTP allows them around a value, and our parser leaves those behind it
        if not _MILLISECONDS.fullmatch(value) or int(value) == 0:
            raise InvalidRequestError([(TIMEOUT_HEADER, f"a whole number of milliseconds > 0, not {value[:20]!r}")])
        requested = int(value) / 1000
        seconds = min(requested, cap)
        return cls(clock() + seconds, seconds, clock, requested)

    def extended(self, cap: float) -> Deadline:
        """Return the deadline as if it had been started with that cap (seconds): what the client asked for still holds."""
        seconds = min(self.requested, cap)
        if seconds == self.seconds:
            return self
        return Deadline(self.expires_at - self.seconds + seconds, seconds, self.clock, self.requested)

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.expires_at - self.clock())

    def header(self) -> str:
        """Return what is left as the value of ``X-Timeout-Ms`` (at least 1) for the next server."""
        return str(max(1, int(self.remaining() * 1000)))

    def exceeded_error(self) -> DeadlineExceededError:
        """Return the error to raise once the time is over."""
        return DeadlineExceededError(f"No answer within the {self.seconds:g} s given.")
