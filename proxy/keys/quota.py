"""Quotas: the fixed windows that keys are limited in, what was used of them, and how callers see it."""

from __future__ import annotations

import calendar
import math
import time
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Self

from pydantic import BaseModel, Field

from proxy.keys.api_key import Grant, KeyView

MINUTE_SECONDS: Final = 60
DAY_SECONDS: Final = 86_400


class Limit(NamedTuple):
    """A limit that a key may have: its field in the record, what it counts, and its window in words."""

    field: str
    unit: str
    window: str

    def of(self, key: Grant) -> int | None:
        """Return a key's limit, None where it has none."""
        return getattr(key, self.field)


REQUESTS_PER_MINUTE: Final = Limit("requests_per_minute", "requests", "minute")
CHARS_PER_DAY: Final = Limit("chars_per_day", "characters", "day")
CHARS_PER_MONTH: Final = Limit("chars_per_month", "characters", "month")
# In the order of a count's windows and numbers.
LIMITS: Final = (REQUESTS_PER_MINUTE, CHARS_PER_DAY, CHARS_PER_MONTH)


class Window(NamedTuple):
    """A minute, day or month of the UTC calendar, from ``start`` until before ``end`` (Unix seconds)."""

    name: str
    start: int
    end: int


def windows_at(now: float) -> tuple[Window, Window, Window]:
    """Return the minute, the day and the month of a Unix time, in the order of ``LIMITS``."""
    utc = time.gmtime(now)
    stamp = time.strftime("%Y-%m-%dT%H:%M", utc)
    minute, day = (int(now // seconds) * seconds for seconds in (MINUTE_SECONDS, DAY_SECONDS))
    month = calendar.timegm((utc.tm_year, utc.tm_mon, 1, 0, 0, 0))
    next_month = calendar.timegm((utc.tm_year + utc.tm_mon // 12, utc.tm_mon % 12 + 1, 1, 0, 0, 0))
    return (
        Window(stamp, minute, minute + MINUTE_SECONDS),
        Window(stamp[:10], day, day + DAY_SECONDS),
        Window(stamp[:7], month, next_month),
    )


@dataclass(slots=True)
class UsageResult:
    """What a key has used in the windows of ``now``, after it asked for more.

    ``used`` and ``windows`` are in the order of ``LIMITS``; ``exceeded`` is the limit that did not allow more, of
    several the one that lasts longest, None where it was counted. ``counters`` are the keys in Redis of ``windows``.
    """

    now: float
    windows: tuple[Window, ...]
    counters: tuple[str, ...]
    used: tuple[int, ...]
    exceeded: Limit | None = None

    def seconds_left(self, limit: Limit) -> float:
        """Return the seconds until the limit's window ends."""
        return self.windows[LIMITS.index(limit)].end - self.now

    def used_of(self, limit: Limit) -> int:
        """Return what was used of a limit."""
        return self.used[LIMITS.index(limit)]


def limit_headers(key: Grant, usage: UsageResult) -> dict[str, str]:
    """Return the RateLimit fields (draft-ietf-httpapi-ratelimit-headers-06) of a key's limits, {} where it has none.

    The policy names all limits; the other fields are of the limit that was exceeded, else of the first one.
    """
    policies: list[str] = []
    headers: dict[str, str] = {}
    for limit, window, used in zip(LIMITS, usage.windows, usage.used, strict=True):
        most = limit.of(key)
        if most is None:
            continue
        comment = "" if limit is REQUESTS_PER_MINUTE else f';comment="{limit.unit}"'
        policies.append(f"{most};w={window.end - window.start}{comment}")
        if not headers or limit is usage.exceeded:
            headers = {
                "RateLimit-Limit": str(most),
                "RateLimit-Remaining": str(max(0, most - used)),
                "RateLimit-Reset": str(math.ceil(window.end - usage.now)),
            }
    return headers | {"RateLimit-Policy": ", ".join(policies)} if policies else {}


class LimitUsage(BaseModel):
    """One limit of a key; ``limit`` and ``remaining`` are null where there is none."""

    limit: int | None
    used: int
    remaining: int | None
    reset_seconds: Annotated[float, Field(description="Until the window ends, and all of the limit is there again.")]


class Usage(BaseModel):
    """A key, and what was used of it in this minute, day and month (UTC)."""

    key: KeyView
    requests_per_minute: LimitUsage
    chars_per_day: LimitUsage
    chars_per_month: LimitUsage

    @classmethod
    def of(cls, key: KeyView, usage: UsageResult) -> Self:
        """Return the usage of a key; of a limit that was lowered, more than all may be used."""
        limits: dict[str, LimitUsage] = {}
        for limit, window, used in zip(LIMITS, usage.windows, usage.used, strict=True):
            most = limit.of(key)
            remaining = None if most is None else max(0, most - used)
            reset = round(window.end - usage.now, 3)
            limits[limit.field] = LimitUsage(limit=most, used=used, remaining=remaining, reset_seconds=reset)
        return cls.model_validate({"key": key, **limits})
