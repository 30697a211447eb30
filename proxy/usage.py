"""Usage: what a key may, and what was used of it, as its holder reads it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, Field

from proxy.key import KeyView

if TYPE_CHECKING:
    from proxy.quota import Counted


class Used(BaseModel):
    """One limit of a key; ``limit`` and ``remaining`` are null where there is none."""

    limit: int | None
    used: int
    remaining: int | None
    reset_seconds: Annotated[float, Field(description="Until there is more: one request, or all of the day.")]

    @classmethod
    def of(cls, limit: int | None, used: int, reset: float) -> Self:
        """Return what is left of a limit; one that was lowered may be passed by far."""
        remaining = None if limit is None else max(0, limit - used)
        return cls(limit=limit, used=used, remaining=remaining, reset_seconds=round(reset, 3))


class Usage(BaseModel):
    """A key, what was used of it in the last 60 s, and in the day (UTC)."""

    key: KeyView
    requests_per_minute: Used
    chars_per_day: Used

    @classmethod
    def of(cls, key: KeyView, counted: Counted) -> Self:
        """Return it of what was counted."""
        return cls(
            key=key,
            requests_per_minute=Used.of(key.requests_per_minute, counted.requests, counted.wait),
            chars_per_day=Used.of(key.chars_per_day, counted.chars, counted.day_left),
        )
