"""How long a request may still take, from the first server to the engine's queue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.errors import DeadlineExceededError, InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Callable

TIMEOUT_HEADER: Final = "X-Timeout-Ms"
# ASCII digits only (int() takes others too); nine of them are 11 days, far beyond any cap.
_MILLISECONDS: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the clock after which nobody waits for the answer; ``clock`` gives seconds, monotonic."""

    expires_at: float
    given: float
    clock: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float]) -> Deadline:
        """Start a deadline of that many seconds from now."""
        return cls(clock() + seconds, seconds, clock)

    @classmethod
    def from_header(cls, value: str | None, cap: float, clock: Callable[[], float]) -> Deadline:
        """Read ``X-Timeout-Ms``; without it the cap (seconds) holds, and never more than the cap.

        Raises:
            InvalidRequestError: the header is no positive whole number of milliseconds.
        """
        if value is None:
            return cls.after(cap, clock)
        if not _MILLISECONDS.fullmatch(value) or int(value) == 0:
            raise InvalidRequestError([(TIMEOUT_HEADER, f"a whole number of milliseconds > 0, not {value[:20]!r}")])
        return cls.after(min(int(value) / 1000, cap), clock)

    def remaining(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.expires_at - self.clock())

    def header(self) -> str:
        """Return what is left as the value of ``X-Timeout-Ms`` (at least 1) for the next server."""
        return str(max(1, int(self.remaining() * 1000)))

    def exceeded(self) -> DeadlineExceededError:
        """Return the error to raise once the time is over."""
        return DeadlineExceededError(f"No answer within the {self.given:g} s given.")
