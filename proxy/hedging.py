"""HedgePolicy: when a slow request is sent to a second replica too, and how often. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Tail at Scale: a hedge after the 95th percentile adds about 5 % of load and cuts the tail.
PERCENTILE: Final = 0.95
HEDGE_SHARE: Final = 0.05
# Where latencies hardly differ, 5 % of the requests are late by a hair: a hedge gains nothing before twice the median.
OVER_MEDIAN: Final = 2.0
# A timer, a connection and a second request cost the proxy about a millisecond; ten times that is worth saving.
SHORTEST_DELAY_SECONDS: Final = 0.010
# Hedges that may be made at once after a quiet time.
HEDGE_BURST: Final = 20.0
# How many latencies are kept; how many of them are recent; after how many new ones they are sorted again.
SAMPLES: Final = 500
RECENT: Final = 50
SORT_EVERY: Final = 25
# Fewer samples have no 95th percentile; until then a request waits this long, per unit of its work.
FEWEST_SAMPLES: Final = 20
FIRST_SECONDS_PER_UNIT: Final = 0.5
# The fleet is slow while the median of the recent latencies is so many times the median of all that are kept.
FLEET_SLOW: Final = 2.0


class HedgePolicy:
    """One per pair. Mutable state: the last latencies and what they say, and the hedges that may be made."""

    __slots__ = ("_clock", "_latencies", "_next", "_seconds_per_unit", "_slow", "_tokens", "_unsorted", "usual")

    def __init__(self, clock: Callable[[], float]) -> None:
        """Begin without samples and with a full burst."""
        self._clock = clock
        self._latencies: list[float] = []
        self._next = 0
        self._unsorted = 0
        self._seconds_per_unit = FIRST_SECONDS_PER_UNIT
        self._slow = False
        self.usual: float | None = None  # the median of the seconds per unit of work; None before there are enough
        self._tokens = HEDGE_BURST

    def __repr__(self) -> str:
        """Show when a unit of work is hedged, and how many hedges are left."""
        return f"<HedgePolicy after={self._seconds_per_unit} slow={self._slow} tokens={self._tokens:.1f}>"

    def observe(self, seconds_per_unit: float) -> None:
        """Take the latency per unit of work of a request that was answered."""
        if len(self._latencies) < SAMPLES:
            self._latencies.append(seconds_per_unit)
        else:
            self._latencies[self._next] = seconds_per_unit
        self._next = (self._next + 1) % SAMPLES
        self._unsorted += 1
        if self._unsorted >= SORT_EVERY or len(self._latencies) == FEWEST_SAMPLES:
            self._sort()

    def request(self) -> None:
        """Note that a request began: it earns its share of a hedge."""
        self._tokens = min(HEDGE_BURST, self._tokens + HEDGE_SHARE)

    def delay(self, work: float) -> float | None:
        """Return after how many seconds a request of that work is hedged; None: the whole fleet is slow now."""
        if self._slow:
            return None
        return max(SHORTEST_DELAY_SECONDS, self._seconds_per_unit * work)

    def take(self) -> bool:
        """Pay for one hedge; False: they are used up."""
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    def _sort(self) -> None:
        self._unsorted = 0
        count = len(self._latencies)
        if count < FEWEST_SAMPLES:
            return
        recent = sorted(self._latencies[self._next - 1 - place] for place in range(min(RECENT, count)))
        usual = sorted(self._latencies)
        self.usual = median = usual[count // 2]
        self._slow = recent[len(recent) // 2] > FLEET_SLOW * median
        self._seconds_per_unit = max(usual[int(count * PERCENTILE)], OVER_MEDIAN * median)
