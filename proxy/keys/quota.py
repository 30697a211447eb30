"""Quotas: what each key has used of its limits, with the same sums as the script in Redis."""

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

    ``room`` in its minute and ``fits`` in its day say whether it got it. ``wait`` are the seconds until it may ask once
    more than now: until the oldest request leaves its minute, or those leave that are over the limit; 0 with none.
    ``now`` is the Unix time it was counted at, and ``alone`` says that a proxy did so by itself: Redis knows nothing of it.
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

    def stricter(self, beside: UsageResult) -> UsageResult:
        """Return what Redis counted, with what is left by the stricter of it and a proxy's own count."""
        return replace(
            self,
            requests=max(self.requests, beside.requests),
            wait=max(self.wait, beside.wait),
            chars=max(self.chars, beside.chars),
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
    alone_second: int | None = None
    alone_day: int | None = None


class LocalCounts:
    """Mutable state: what this proxy alone has let through, at most ``MAX_COUNTED`` keys."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin with nothing used; ``clock`` gives Unix seconds."""
        self._clock = clock
        self.uses: OrderedDict[str, KeyUsage] = OrderedDict()

    def count(self, key: KeyView, ask: UsageDelta, *, beside: bool = False) -> UsageResult:
        """Count, if the key's limits allow it.

        ``beside`` Redis, which decides, a limit holds only while something that Redis never heard of is in its window.
        """
        now = self._clock()
        second, day = int(now), int(now // DAY_SECONDS)
        use = self.uses.setdefault(key.id, KeyUsage())
        self.uses.move_to_end(key.id)
        if len(self.uses) > MAX_COUNTED:
            self.uses.popitem(last=False)
        # What lies ahead was counted before a clock was set back; by more than a minute, it is believed no longer.
        use.seconds = {at: n for at, n in use.seconds.items() if abs(second - at) < BUCKETS}
        if use.day != day:
            use.day, use.chars = day, 0
        alone = use.alone_second is not None and abs(second - use.alone_second) < BUCKETS
        alone_today = use.alone_day == day
        limit = None if beside and not alone else key.requests_per_minute
        chars_limit = None if beside and not alone_today else key.chars_per_day
        used = sum(use.seconds.values())
        room = not ask.requests or limit is None or used + ask.requests <= limit
        fits = ask.chars <= 0 or chars_limit is None or use.chars + ask.chars <= chars_limit
        if room and fits:
            if ask.requests:
                use.seconds[second] = use.seconds.get(second, 0) + ask.requests
                used += ask.requests
            if ask.day is None or ask.day == day:
                use.chars = max(0, use.chars + ask.chars)
            if not beside:
                use.alone_second = second if ask.requests else use.alone_second
                use.alone_day = day if ask.chars > 0 else use.alone_day
        wait = _wait(use.seconds, used, key.requests_per_minute, now)
        return UsageResult(room, fits, used, wait, use.chars, now, is_local=not beside or alone or alone_today)

    def undo(self, key_id: str, ask: UsageDelta, counted: UsageResult) -> None:
        """Take off again what was counted, for Redis did not allow it, or could not be asked."""
        use = self.uses.get(key_id)
        if use is None or not counted.granted:
            return
        if left := use.seconds.get(int(counted.now), 0):
            use.seconds[int(counted.now)] = max(0, left - ask.requests)
        if use.day == counted.day and ask.day in {None, counted.day}:
            use.chars = max(0, use.chars - ask.chars)


def _wait(seconds: dict[int, int], used: int, limit: int | None, now: float) -> float:
    """Return the seconds until one more fits than now."""
    leaving = 1 if limit is None else max(1, used - limit + 1)
    for at in sorted(seconds):
        leaving -= seconds[at]
        if leaving <= 0:
            return at + BUCKETS - now
    return 0.0


def limit_headers(key: KeyView, counted: UsageResult, *, of_day: bool = False) -> dict[str, str]:
    """Return the RateLimit fields (draft-ietf-httpapi-ratelimit-headers-06) of a key's limits, {} where it has none.

    The policy names all limits; the others are of the requests in a minute, or where only that is limited or
    ``of_day`` is what was refused, of the characters in a day.
    """
    minute, day = key.requests_per_minute, key.chars_per_day
    policies = [f"{minute};w={MINUTE_SECONDS}"] if minute else []
    if day:
        policies.append(f'{day};w={DAY_SECONDS};comment="characters"')
    if minute and not of_day:
        limit, used, reset = minute, counted.requests, counted.wait
    elif day:
        limit, used, reset = day, counted.chars, counted.day_left
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
    def of(cls, key: KeyView, counted: UsageResult) -> Self:
        """Return it of what was counted."""
        return cls(
            key=key,
            requests_per_minute=LimitUsage.of(key.requests_per_minute, counted.requests, counted.wait),
            chars_per_day=LimitUsage.of(key.chars_per_day, counted.chars, counted.day_left),
        )
