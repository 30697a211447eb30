"""Byte budget: the bytes that bodies may hold at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, Self

from shared.protocol.errors import OverloadedError

# Even the largest body is answered or refused in less time.
BODY_RETRY_AFTER_SECONDS: Final = 1.0


class Reservation(Protocol):
    """Bytes held for one body."""

    size: int

    def take(self, size: int) -> None:
        """Hold ``size`` more bytes, or raise PairwayError."""

    def release(self) -> None:
        """Give up all bytes."""


class BodyReservation:
    """One request's part of the budget, until its block ends."""

    __slots__ = ("_budget", "size")

    def __init__(self, budget: ByteBudget) -> None:
        self._budget = budget
        self.size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release all bytes before the block ends."""
        self._budget.reserved -= self.size
        self.size = 0

    def take(self, size: int) -> None:
        """Reserve ``size`` more bytes, or raise OverloadedError if the budget lacks them."""
        if self._budget.reserved + size > self._budget.limit:
            raise OverloadedError(
                f"The bodies of requests in flight fill this server's limit of {self._budget.limit} bytes.",
                retry_after=BODY_RETRY_AFTER_SECONDS,
            )
        self._budget.reserved += size
        self.size += size


@dataclass(slots=True)
class ByteBudget:
    """Limit on the bytes reserved at once. Not thread-safe."""

    limit: int
    reserved: int = 0

    def reserve(self) -> BodyReservation:
        """Return an empty reservation for one request."""
        return BodyReservation(self)
