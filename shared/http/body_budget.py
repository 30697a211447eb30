"""Budget of bytes for the bodies of all requests in flight."""

from __future__ import annotations

from typing import Final, Self

from shared.protocol.errors import OverloadedError

# The largest body is answered or refused well within this.
BODY_RETRY_AFTER_SECONDS: Final = 1.0


class BodyReservation:
    """One request's part of the budget, given back at the end of the block."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self.size = 0

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give all of it back."""
        self.release()

    def release(self) -> None:
        """Give all of it back before the block ends."""
        self._budget.reserved -= self.size
        self.size = 0

    def take(self, size: int) -> None:
        """Take ``size`` bytes more.

        Raises:
            OverloadedError: the budget does not have them now.
        """
        if self._budget.reserved + size > self._budget.limit:
            raise OverloadedError(
                f"Requests in hand fill the {self._budget.limit} bytes that this server gives to bodies.",
                retry_after=BODY_RETRY_AFTER_SECONDS,
            )
        self._budget.reserved += size
        self.size += size


class ByteBudget:
    """Limit on the bytes reserved at once. Not thread-safe: one event loop."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.reserved = 0

    def reserve(self) -> BodyReservation:
        """Return a context manager that takes bytes for one request and gives them back at its end."""
        return BodyReservation(self)
