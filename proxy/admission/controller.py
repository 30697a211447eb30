"""Admission: what the proxy takes on, from whom, and when to come again. Pure; docs/decisions/0017-overload.md."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, NamedTuple, Self

from proxy.admission.retry_after import RetryAfterScheduler
from proxy.balancing.capacity import Capacity
from proxy.balancing.local_stats import LocalStats
from proxy.call import TranslationCall
from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from shared.languages import LanguagePair
from shared.protocol.errors import OverloadedError
from shared.protocol.lanes import Lane
from shared.protocol.priority import Priority

# The part of the room that a caller with its fair share in hand leaves free, for those who have less, and for those who
# come back when they were told to.
RESERVE: Final = 0.2
# With less than this in hand, whoever was sent away too far could have come: nobody else is.
NEARLY_EMPTY: Final = 0.2
# What is done in a second while no replica has measured it: it is for the Retry-After alone.
UNKNOWN_RATE: Final = 10.0
# So many replicas are looked at anew for each request, in a microsecond each. Of more a look is believed for so many
# seconds for each of them, so that all looks take some percent of the time: 50 ms with 1,000, in which they fill by less
# than they do until the next report.
FEW: Final = 8
SECONDS_EACH: Final = 50e-6
_WHY: Final = {
    "full": "Every replica for {} is full for {} requests.",
    "share": "The replicas for {} are nearly full of {} requests, and you have your share of them in hand.",
    "late": "The replicas for {} have more {} requests to do first than your time allows.",
}
# The least cost of a request is 1.
_DUST: Final = 1e-6


class FairShare:
    """One model's callers; mutable state: units of cost that each has in hand, and who was promised room."""

    __slots__ = ("retry_after", "units")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.units: dict[str, float] = {}
        self.retry_after = RetryAfterScheduler(clock)

    def add(self, caller: str, cost: float) -> None:
        """Count a caller's request as in flight."""
        self.units[caller] = self.units.get(caller, 0.0) + cost

    def remove(self, caller: str, cost: float) -> None:
        """Count it no longer."""
        left = self.units[caller] - cost
        if left > _DUST:
            self.units[caller] = left
        else:
            del self.units[caller]


class PairLoad(NamedTuple):
    """Those replicas that would be asked for a pair: their ``limit`` and ``rate`` together, and how it is at the emptiest.

    ``excess`` are the seconds until the first is no longer over its limit. ``levels`` say how full the emptiest is, 1 for
    full, and ``waits`` in how many seconds what is ahead there is done: for a caller with something in hand, and for a
    newcomer, for whom only the number of callers counts, who are served in turn.
    """

    limit: float
    rate: float
    excess: float
    levels: tuple[float, float]
    waits: tuple[float, float]

    @classmethod
    def of(cls, rooms: Sequence[Capacity]) -> Self:
        """Put the rooms of at least one together."""
        limit = rate = 0.0
        excess = level = level_of_new = wait = wait_of_new = math.inf
        for room in rooms:  # one pass: each request comes by here
            limit += room.limit
            if room.rate:
                rate += room.rate
                excess = min(excess, max(0.0, room.ahead - room.limit) / room.rate)
                wait = min(wait, room.ahead / room.rate)
                wait_of_new = min(wait_of_new, room.callers / room.rate)
            else:
                excess = wait = wait_of_new = 0.0
            if room.limit:
                level = min(level, room.ahead / room.limit)
                level_of_new = min(level_of_new, room.callers / room.limit)
            else:
                level, level_of_new = min(level, 1.0), min(level_of_new, 1.0)
        return cls(limit, rate or UNKNOWN_RATE, excess, (level, level_of_new), (wait, wait_of_new))


class AdmittedRequest:
    """A request that was let in, as a context manager: counted as in hand while the block lasts."""

    __slots__ = ("_admission", "_alone", "_held", "_snapshot")

    def __init__(
        self,
        admission: AdmissionController,
        held: Sequence[tuple[TranslationCall, LanguagePair, FairShare]],
        snapshot: Snapshot,
        *,
        alone: bool,
    ) -> None:
        """Take where it is counted; ``alone`` says that it has one leg only, which is counted."""
        self._admission = admission
        self._held = held
        self._snapshot = snapshot
        self._alone = alone

    def __enter__(self) -> None:
        """Count it."""
        for call, _, pool in self._held:
            pool.add(call.caller.identity, call.cost.units)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Count it no longer; if a replica refused it, say when it is to come again."""
        if self._alone and isinstance(error, OverloadedError) and error.facts.get("reason") != "late":
            wait = self._admission.place(*self._held[0], self._snapshot)
            error.retry_after = max(error.retry_after or 0.0, wait)
        for call, _, pool in self._held:
            pool.remove(call.caller.identity, call.cost.units)


class AdmissionController:
    """Lets requests of short texts in; long ones are for the replicas to judge, who know how long they take.

    Mutable state: what each caller has in hand and was promised, by model; how full many replicas were at the last look.
    One event loop.
    """

    def __init__(self, evidence: LocalStats, metrics: ProxyMetrics, clock: Callable[[], float]) -> None:
        """Take what is known of the replicas; ``clock`` gives monotonic seconds."""
        self._evidence = evidence
        self._metrics = metrics
        self._clock = clock
        self._pools: defaultdict[str, FairShare] = defaultdict(lambda: FairShare(clock))
        # Of one Snapshot, by pair and class: until when it is believed, and what was found.
        self._looks: dict[tuple[LanguagePair, Priority], tuple[float, PairLoad | None]] = {}
        self._looked_at: Snapshot | None = None

    def admit(self, legs: Sequence[tuple[TranslationCall, LanguagePair]], snapshot: Snapshot) -> AdmittedRequest:
        """Count a request's calls as in hand for their pairs while the block lasts: all of them, or none.

        What there is no room for is refused at once, before the block. A replica's refusal in the block gets a place of
        ours too, where it is plain which leg was refused.

        Raises:
            OverloadedError: no replica has room for this caller and class; ``retry_after`` says when one should.
        """
        held = [(call, pair, self._pools[self._model(pair, snapshot)]) for call, pair in legs if not call.cost.is_long]
        # Once for all its legs: a place is used up when it is taken.
        kept: dict[tuple[int, int], bool] = {}
        for call, pair, pool in held:
            comer = id(pool), id(call)
            if comer not in kept:
                kept[comer] = pool.retry_after.redeem(call)
            found = self._look(call, pair, snapshot)
            if found is not None:
                self._check(call, pair, found, pool, kept=kept[comer])
        return AdmittedRequest(self, held, snapshot, alone=len(legs) == len(held) == 1)

    def place(self, call: TranslationCall, pair: LanguagePair, pool: FairShare, snapshot: Snapshot) -> int:
        """Return in how many seconds a request is to come again that a replica refused."""
        found = self._look(call, pair, snapshot)
        rate, excess = (UNKNOWN_RATE, 0.0) if found is None else (found.rate, found.excess)
        return pool.retry_after.schedule(call, call.cost.units, rate, excess)

    def _check(
        self, call: TranslationCall, pair: LanguagePair, found: PairLoad, pool: FairShare, *, kept: bool
    ) -> None:
        """Refuse what there is no room for; ``kept`` says that it comes when it was told to."""
        held = pool.units.get(call.caller.identity, 0.0)
        newcomer = not held
        callers = len(pool.units) + newcomer
        share = held / (found.limit / callers) if found.limit else 1.0
        full = found.levels[0]
        pool.retry_after.observe(empty=full < NEARLY_EMPTY)
        if found.levels[newcomer] >= (1.0 if kept else 1.0 - RESERVE * share):
            reason = "full" if full >= 1.0 or callers == 1 else "share"
        elif found.waits[newcomer] > call.deadline.remaining():
            reason = "late"
        else:
            return
        self._metrics.shed.labels(str(pair), call.priority, reason).inc()
        wait = pool.retry_after.schedule(call, call.cost.units, found.rate, found.excess)
        raise OverloadedError(_WHY[reason].format(pair, call.priority), retry_after=wait, facts={"reason": reason})

    def _look(self, call: TranslationCall, pair: LanguagePair, snapshot: Snapshot) -> PairLoad | None:
        """Return how full the pair's replicas are for the call's class: now, or of very many a moment ago."""
        tiers = snapshot.tiers.get(pair, ())
        if len(tiers) == 1 and len(tiers[0]) <= FEW:
            return self._look_at(tiers, call.priority, pair, snapshot)
        if self._looked_at is not snapshot:
            self._looked_at, self._looks = snapshot, {}
        until, found = self._looks.get((pair, call.priority), (0.0, None))
        now = self._clock()
        if now >= until:
            found = self._look_at(tiers, call.priority, pair, snapshot)
            self._looks[pair, call.priority] = now + SECONDS_EACH * sum(map(len, tiers)), found
        return found

    def _look_at(
        self, tiers: Sequence[Sequence[str]], priority: Priority, pair: LanguagePair, snapshot: Snapshot
    ) -> PairLoad | None:
        """Look at the preferred replicas that are not out; None where one does not say how full it is."""
        lane, now, models = Lane.of(priority, is_long=False), self._clock(), snapshot.models.get(pair, {})
        for urls in tiers:
            rooms: list[Capacity] = []
            for url in urls:
                own = self._evidence.pair_replica_stats(url, pair)
                if own.is_out or own.is_stalled:
                    continue
                room = own.replica.capacity_for(models[url], priority)
                if room is None:
                    return None
                if own.replica.is_full(now, lane):
                    room = room._replace(ahead=max(room.ahead, room.limit), callers=room.limit)
                rooms.append(room)
            if rooms:
                return PairLoad.of(rooms)
        return None  # whoever is left is asked: it is no question of room

    @staticmethod
    def _model(pair: LanguagePair, snapshot: Snapshot) -> str:
        """Return what the pair's callers share: the preferred model, whichever pairs it serves."""
        for urls in snapshot.tiers.get(pair, ()):
            return snapshot.models[pair][urls[0]]
        return str(pair)
