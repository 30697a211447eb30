"""Usage store: what each key used in days and months, in Redis."""

from __future__ import annotations

import calendar
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proxy.keys.usage import DAY_SECONDS
from proxy.storage.period_counters import PeriodCounters
from proxy.storage.records import PAGE, pages

# Kept, the present one included.
DAYS: Final = 35
MONTHS: Final = 13
PERIOD: Final = r"2\d{3}-(0[1-9]|1[0-2])(-[0-3]\d)?"
_MONTHS_A_YEAR: Final = 12
_INCOMPLETE: Final = "incomplete"
_REQUESTS: Final = ":requests"
_CHARACTERS: Final = ":characters"


class KeyUsage(NamedTuple):
    """Requests, and characters as charged, without what was refunded."""

    requests: int = 0
    characters: int = 0

    def plus(self, other: KeyUsage) -> KeyUsage:
        """Return the sum."""
        return KeyUsage(self.requests + other.requests, self.characters + other.characters)


@dataclass(frozen=True, slots=True)
class PeriodUsage:
    """Usage of a UTC day (2027-01-31) or month (2027-01), by key id.

    ``is_incomplete``: more was used, but lost.
    """

    period: str
    by_key: Mapping[str, KeyUsage]
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class UsageBatch:
    """Usage by day and key id.

    ``incomplete``: days of which some was lost.
    """

    number: int
    amounts: Mapping[tuple[str, str], KeyUsage]
    incomplete: Collection[str] = ()


def day_at(now: float) -> str:
    """Return the UTC day of a Unix time."""
    return time.strftime("%Y-%m-%d", time.gmtime(now))


def month_of(day: str) -> str:
    """Return the month of a day."""
    return day[: len("2027-01")]


def last_days(now: float, count: int) -> list[str]:
    """Return the last days, the present one first."""
    return [day_at(now - number * DAY_SECONDS) for number in range(count)]


def last_months(now: float, count: int) -> list[str]:
    """Return the last months, the present one first."""
    utc = time.gmtime(now)
    present = utc.tm_year * _MONTHS_A_YEAR + utc.tm_mon - 1
    return [_month(present - number) for number in range(count)]


def _month(number: int) -> str:
    year, month = divmod(number, _MONTHS_A_YEAR)
    return f"{year:04}-{month + 1:02}"


def _kept_until(period: str) -> int:
    """Return the Unix time until which a period is kept.

    That is a day longer than it is shown, because proxies' clocks differ.
    """
    year, month, *day = map(int, period.split("-"))
    if day:
        return calendar.timegm((year, month, day[0] + DAYS, 0, 0, 0)) + DAY_SECONDS
    ends, month = divmod(year * _MONTHS_A_YEAR + month - 1 + MONTHS, _MONTHS_A_YEAR)
    return calendar.timegm((ends, month + 1, 1, 0, 0, 0)) + DAY_SECONDS


class UsageStore:
    """Usage of all keys, through all proxies; ``clock`` gives Unix seconds.

    Failures raise StoreUnavailableError.
    """

    def __init__(self, counters: PeriodCounters, clock: Callable[[], float]) -> None:
        self._counters = counters
        self._clock = clock

    async def add(self, proxy: str, batch: UsageBatch) -> None:
        """Add a proxy's batch; once, however often it is repeated."""
        amounts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for (day, key_id), usage in batch.amounts.items():
            for period in (day, month_of(day)):
                amounts[period][key_id + _REQUESTS] += usage.requests
                amounts[period][key_id + _CHARACTERS] += usage.characters
        for day in batch.incomplete:
            amounts[day][_INCOMPLETE] = amounts[month_of(day)][_INCOMPLETE] = 1
        await self._counters.add(proxy, batch.number, amounts, self._lifetimes(amounts))

    async def read(self, periods: Sequence[str], key_id: str | None = None) -> list[PeriodUsage]:
        """Return the usage of one key, or of all, in each period."""
        if key_id is None:
            return [_usage(period, await self._counters.read(period)) for period in periods]
        fields = await self._counters.read_fields(periods, (key_id + _REQUESTS, key_id + _CHARACTERS, _INCOMPLETE))
        return [_usage(period, fields[period]) for period in periods]

    async def read_all(self) -> list[PeriodUsage]:
        """Return the usage of all keys in each period that has some."""
        now = self._clock()
        found = await self.read([*last_days(now, DAYS), *last_months(now, MONTHS)])
        return [each for each in found if each.by_key or each.is_incomplete]

    async def raise_to(self, usage: Sequence[PeriodUsage]) -> None:
        """Raise periods to at least this usage, key by key.

        Those that are no longer kept are left out.
        """
        lifetimes = self._lifetimes([each.period for each in usage])
        kept = [each for each in usage if lifetimes[each.period] > 0]
        missing = {
            each.period: _missing(each, found)
            for each, found in zip(kept, await self.read([each.period for each in kept]), strict=True)
        }
        ids = sorted({name.partition(":")[0] for fields in missing.values() for name in fields})
        writer = f"import-{secrets.token_hex(8)}"
        for number, page in enumerate(pages(ids, PAGE), start=1):
            names = {name for each in page for name in (each, each + _REQUESTS, each + _CHARACTERS)}
            amounts = {
                period: {name: amount for name, amount in fields.items() if name in names}
                for period, fields in missing.items()
            }
            await self._counters.add(writer, number, amounts, lifetimes)

    def _lifetimes(self, periods: Collection[str]) -> dict[str, int]:
        now = int(self._clock())
        return {period: _kept_until(period) - now for period in periods}


def _missing(wanted: PeriodUsage, found: PeriodUsage) -> dict[str, int]:
    """Return how much less was found, by field."""
    fields = {_INCOMPLETE: 1} if wanted.is_incomplete and not found.is_incomplete else {}
    for key_id, least in wanted.by_key.items():
        used = found.by_key.get(key_id, KeyUsage())
        fields[key_id + _REQUESTS] = max(0, least.requests - used.requests)
        fields[key_id + _CHARACTERS] = max(0, least.characters - used.characters)
    return {name: amount for name, amount in fields.items() if amount}


def _usage(period: str, fields: Mapping[str, int]) -> PeriodUsage:
    ids = {name.partition(":")[0] for name in fields if name != _INCOMPLETE}
    # Redis may have lost a charge, but not its refund.
    by_key = {
        each: KeyUsage(max(0, fields.get(each + _REQUESTS, 0)), max(0, fields.get(each + _CHARACTERS, 0)))
        for each in sorted(ids)
    }
    return PeriodUsage(period, by_key, fields.get(_INCOMPLETE, 0) > 0)
