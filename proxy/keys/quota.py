"""Quotas: what each key has used of its limits.

``LocalCounts`` counts as the script in Redis does; ``limit_headers`` and ``Usage`` show it to callers.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Final, Self

from pydantic import BaseModel, Field

from proxy.keys.api_key import KeyView

DAY_SECONDS: Final = 86_400
MINUTE_SECONDS: Final = 60
# Requests are counted by the second they came in. Any 60 s touch 61 of those, so the limit holds for 61 together.
BUCKETS: Final = MINUTE_SECONDS + 1
# Keys counted at once, the least recently used forgotten first; one is 63 numbers at most, about 5 KiB.
MAX_COUNTED: Final = 10_000


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What is to be counted: requests and characters together or not at all.

    Characters below 0 are given back, to the UTC day (counted since 1970) they were taken from.
    """

    requests: int = 0
    chars: int = 0
    day: int | None = None


@dataclass(frozen=True, slots=True)
class UsageResult:
    """What a key has used, after it asked for more.

    ``fits_minute`` and ``fits_day`` say whether its limits allow that. ``wait`` are the seconds until it may ask once
    more than now: until the oldest request leaves its minute, or those leave that are over the limit; 0 with none.
    ``now`` is the Unix time it was counted at, and ``is_local`` says that a proxy did so by itself: Redis knows nothing of it.
    """

    fits_minute: bool
    fits_day: bool
    requests: int
    wait: float
    chars: int
    now: float
    is_local: bool = False

    @property
    def day(self) -> int:
        """The UTC day that the characters were counted for, since 1970."""
        return int(self.now // DAY_SECONDS)

    @property
    def day_left(self) -> float:
        """Seconds until the next day."""
        return (self.day + 1) * DAY_SECONDS - self.now

    def stricter(self, other: UsageResult) -> UsageResult:
        """Return what Redis counted, with what is left by the stricter of it and a proxy's own count."""
        return replace(
            self,
            requests=max(self.requests, other.requests),
            wait=max(self.wait, other.wait),
            chars=max(self.chars, other.chars),
        )

    @property
    def granted(self) -> bool:
        """Whether it was counted."""
        return self.fits_minute and self.fits_day


@dataclass(slots=True)
class KeyUsage:
    """One key's requests by second, and characters of one day; and when some were last counted without Redis."""

    seconds: dict[int, int] = field(default_factory=dict[int, int])
    chars: int = 0
    day: int = 0
    local_second: int | None = None
    local_day: int | None = None


class LocalCounts:
    """What this proxy has let through, of at most ``MAX_COUNTED`` keys.

    Mutable state: the usage of each key. ``clock`` gives Unix seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.usages: OrderedDict[str, KeyUsage] = OrderedDict()

    def count(self, key: KeyView, delta: UsageDelta, *, with_redis: bool = False) -> UsageResult:
        """Count, if the key's limits allow it.

        ``with_redis``: Redis decides, and a limit holds here only while something that Redis never heard of is in its window.
        """
        now = self._clock()
        second, day = int(now), int(now // DAY_SECONDS)
        usage = self.usages.setdefault(key.id, KeyUsage())
        self.usages.move_to_end(key.id)
        if len(self.usages) > MAX_COUNTED:
            self.usages.popitem(last=False)
        # What lies ahead was counted before a clock was set back; by more than a minute, it is believed no longer.
        usage.seconds = {at: n for at, n in usage.seconds.items() if abs(second - at) < BUCKETS}
        if usage.day != day:
            usage.day, usage.chars = day, 0
        local_minute = usage.local_second is not None and abs(second - usage.local_second) < BUCKETS
        local_today = usage.local_day == day
        limit = None if with_redis and not local_minute else key.requests_per_minute
        chars_limit = None if with_redis and not local_today else key.chars_per_day
        used = sum(usage.seconds.values())
        fits_minute = not delta.requests or limit is None or used + delta.requests <= limit
        fits_day = delta.chars <= 0 or chars_limit is None or usage.chars + delta.chars <= chars_limit
        if fits_minute and fits_day:
            if delta.requests:
                usage.seconds[second] = usage.seconds.get(second, 0) + delta.requests
                used += delta.requests
            if delta.day is None or delta.day == day:
                usage.chars = max(0, usage.chars + delta.chars)
            if not with_redis:
                usage.local_second = second if delta.requests else usage.local_second
                usage.local_day = day if delta.chars > 0 else usage.local_day
        wait = _seconds_until_next(usage.seconds, used, key.requests_per_minute, now)
        return UsageResult(
            fits_minute, fits_day, used, wait, usage.chars, now, is_local=not with_redis or local_minute or local_today
        )

    def undo(self, key_id: str, delta: UsageDelta, result: UsageResult) -> None:
        """Take back what was counted: Redis did not allow or answer it."""
        usage = self.usages.get(key_id)
        if usage is None or not result.granted:
            return
        if left := usage.seconds.get(int(result.now), 0):
            usage.seconds[int(result.now)] = max(0, left - delta.requests)
        if usage.day == result.day and delta.day in {None, result.day}:
            usage.chars = max(0, usage.chars - delta.chars)


def _seconds_until_next(seconds: dict[int, int], used: int, limit: int | None, now: float) -> float:
    """Return the seconds until one more fits than now."""
    excess = 1 if limit is None else max(1, used - limit + 1)
    for at in sorted(seconds):
        excess -= seconds[at]
        if excess <= 0:
            return at + BUCKETS - now
    return 0.0


def limit_headers(key: KeyView, result: UsageResult, *, of_day: bool = False) -> dict[str, str]:
    """Return the RateLimit fields (draft-ietf-httpapi-ratelimit-headers-06) of a key's limits, {} where it has none.

    The policy names all limits; the others are of the requests in a minute, or where only that is limited or
    ``of_day`` is what was refused, of the characters in a day.
    """
    minute, day = key.requests_per_minute, key.chars_per_day
    policies = [f"{minute};w={MINUTE_SECONDS}"] if minute else []
    if day:
        policies.append(f'{day};w={DAY_SECONDS};comment="characters"')
    if minute and not of_day:
        limit, used, reset = minute, result.requests, result.wait
    elif day:
        limit, used, reset = day, result.chars, result.day_left
    else:
        return {}
    return {
        "RateLimit-Limit": str(limit),
        "RateLimit-Remaining": str(max(0, limit - used)),
        "RateLimit-Reset": str(math.ceil(reset)),
        "RateLimit-Policy": ", ".join(policies),
    }


class LimitUsage(BaseModel):
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
    requests_per_minute: LimitUsage
    chars_per_day: LimitUsage

    @classmethod
    def of(cls, key: KeyView, result: UsageResult) -> Self:
        """Return the usage of a key."""
        return cls(
            key=key,
            requests_per_minute=LimitUsage.of(key.requests_per_minute, result.requests, result.wait),
            chars_per_day=LimitUsage.of(key.chars_per_day, result.chars, result.day_left),
        )
