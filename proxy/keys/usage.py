"""Usage of keys: limits, and what was used in their fixed windows."""

from __future__ import annotations

import calendar
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Self

from pydantic import BaseModel, Field

from proxy.keys.api_key import Grant, KeyView

MINUTE_SECONDS: Final = 60
DAY_SECONDS: Final = 86_400


class Limit(NamedTuple):
    """A limit of keys: record field, counted unit, kind of window."""

    field: str
    unit: str
    window: str

    def of(self, key: Grant) -> int | None:
        """Return a key's limit, None if it has none."""
        return getattr(key, self.field)


REQUESTS_PER_MINUTE: Final = Limit("requests_per_minute", "requests", "minute")
CHARS_PER_DAY: Final = Limit("chars_per_day", "characters", "day")
CHARS_PER_MONTH: Final = Limit("chars_per_month", "characters", "month")
LIMITS: Final = (REQUESTS_PER_MINUTE, CHARS_PER_DAY, CHARS_PER_MONTH)


@dataclass(slots=True)
class Window:
    """A minute, day or month from ``start`` until before ``end``, and usage."""

    limit: Limit
    name: str
    start: int
    end: int
    used: int = 0


def windows_at(now: float) -> tuple[Window, ...]:
    """Return the windows at a Unix time, in the order of ``LIMITS``."""
    utc = time.gmtime(now)
    stamp = time.strftime("%Y-%m-%dT%H:%M", utc)
    minute, day = (int(now // seconds) * seconds for seconds in (MINUTE_SECONDS, DAY_SECONDS))
    month = calendar.timegm((utc.tm_year, utc.tm_mon, 1, 0, 0, 0))
    next_month = calendar.timegm((utc.tm_year + utc.tm_mon // 12, utc.tm_mon % 12 + 1, 1, 0, 0, 0))
    return (
        Window(REQUESTS_PER_MINUTE, stamp, minute, minute + MINUTE_SECONDS),
        Window(CHARS_PER_DAY, stamp[:10], day, day + DAY_SECONDS),
        Window(CHARS_PER_MONTH, stamp[:7], month, next_month),
    )


@dataclass(slots=True)
class UsageResult:
    """Usage of a key at ``now``.

    ``counters``: the windows' Redis keys; ``exceeded``: the longest exceeded window.
    """

    now: float
    windows: Sequence[Window]
    counters: Sequence[str]
    exceeded: Window | None = None


class LimitUsage(BaseModel):
    """One limit of a key; null ``limit`` and ``remaining`` mean none."""

    limit: int | None
    used: int
    remaining: int | None
    reset_seconds: Annotated[float, Field(description="Seconds until the window ends and usage is 0 again.")]


class Usage(BaseModel):
    """A key, and its usage in this minute, day and month (UTC)."""

    key: KeyView
    requests_per_minute: LimitUsage
    chars_per_day: LimitUsage
    chars_per_month: LimitUsage

    @classmethod
    def of(cls, key: KeyView, usage: UsageResult) -> Self:
        """Return a key's usage, which may exceed a limit that was lowered."""
        limits: dict[str, LimitUsage] = {}
        for window in usage.windows:
            most, used, reset = window.limit.of(key), window.used, round(window.end - usage.now, 3)
            remaining = None if most is None else max(0, most - used)
            limits[window.limit.field] = LimitUsage(limit=most, used=used, remaining=remaining, reset_seconds=reset)
        return cls.model_validate({"key": key, **limits})
