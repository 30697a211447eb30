"""Admission: what the proxy takes on for a pair, from whom, and when to come again. Pure; docs/decisions/0017."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from proxy.freight import Freight
from proxy.lane import Lane
from proxy.promises import Promises
from proxy.room import room_of
from shared.errors import OverloadedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from proxy.call import Call
    from proxy.evidence import LocalEvidence
    from proxy.fleet import Snapshot
    from proxy.metrics import ProxyMetrics
    from proxy.room import Room
    from shared.languages import LanguagePair

# The part of the room that a caller with its fair share in hand leaves free, for those who have less, and for those who
# come back when they were told to.
RESERVE: Final = 0.2
# With less than this in hand, whoever was sent away too far could have come: nobody else is.
HALF_EMPTY: Final = 0.5
# What is done in a second while no replica has measured it: it is for the Retry-After alone.
UNKNOWN_RATE: Final = 10.0


class _Pool:
    """One model's callers; mutable state: units of cost that each has in hand, and who was promised room."""

    __slots__ = ("held", "promises")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.held: dict[str, float] = {}
        self.promises = Promises(clock)


@dataclass(frozen=True, slots=True)
class _Found:
    """The rooms of those replicas that would be asked for a pair."""

    rooms: Sequence[Room]

    @property
    def limit(self) -> float:
        return sum(room.limit for room in self.rooms)

    @property
    def rate(self) -> float:
        return sum(room.rate or 0.0 for room in self.rooms) or UNKNOWN_RATE

    @property
    def level(self) -> float:
        """How full the emptiest is, 1 for full."""
        return min(room.ahead / room.limit if room.limit else 1.0 for room in self.rooms)

    @property
    def wait(self) -> float:
        """Seconds until what is ahead at the emptiest is done."""
        return min(room.ahead / room.rate if room.rate else 0.0 for room in self.rooms)


class Admission:
    """Lets requests of short texts in; long ones are for the replicas to judge, who know how long they take.

    Mutable state: what each caller has in hand and was promised, by model. One event loop.
    """

    def __init__(self, evidence: LocalEvidence, metrics: ProxyMetrics, clock: Callable[[], float]) -> None:
        """Take what is known of the replicas; ``clock`` gives monotonic seconds."""
        self._evidence = evidence
        self._metrics = metrics
        self._clock = clock
        self._pools: defaultdict[str, _Pool] = defaultdict(lambda: _Pool(clock))

    @contextmanager
    def admitted(self, call: Call, pair: LanguagePair, snapshot: Snapshot) -> Generator[None]:
        """Count the call as in hand for the pair while the block lasts; refuse at once what there is no room for.

        A refusal of a replica's in the block is told with a place of ours, too.

        Raises:
            OverloadedError: no replica has room for this caller and class; ``retry_after`` says when one should.
        """
        freight = Freight.of(call.request, call.priority)
        if freight.is_long:
            yield
            return
        cost = freight.cost
        found = self._look(call, pair, snapshot)
        pool = self._pools[self._model(pair, snapshot)]
        if found is not None:
            self._check(call, pair, cost, found, pool)
        identity = call.caller.identity
        pool.held[identity] = pool.held.get(identity, 0.0) + cost
        try:
            yield
        except OverloadedError as error:
            rate = UNKNOWN_RATE if found is None else found.rate
            error.retry_after = max(error.retry_after or 0.0, pool.promises.give(call, cost, rate))
            raise
        finally:
            left = pool.held[identity] - cost
            if left > _DUST:
                pool.held[identity] = left
            else:
                del pool.held[identity]

    def _check(self, call: Call, pair: LanguagePair, cost: float, found: _Found, pool: _Pool) -> None:
        """Refuse what there is no room for."""
        kept = pool.promises.redeem(call)
        if found.level < HALF_EMPTY:
            pool.promises.settle()
        held = pool.held.get(call.caller.identity, 0.0)
        callers = len(pool.held) + (not held)
        share = held / (found.limit / callers) if found.limit else 1.0
        full = found.level >= (1.0 if kept else 1.0 - RESERVE * share)
        if not full and found.wait <= call.deadline.remaining():
            return
        if found.level >= 1.0:
            reason = "full"
            why = f"Every replica for {pair} is full for {call.priority} requests."
        elif full:
            reason = "share"
            why = f"The replicas for {pair} are nearly full, and you have your share of them in hand."
        else:
            reason = "late"
            why = f"The replicas for {pair} have more to do first than your time allows."
        self._metrics.shed.labels(str(pair), call.priority, reason).inc()
        raise OverloadedError(why, retry_after=pool.promises.give(call, cost, found.rate))

    def _look(self, call: Call, pair: LanguagePair, snapshot: Snapshot) -> _Found | None:
        """Return the rooms of the preferred replicas that are not out; None where one does not say how full it is."""
        for urls in snapshot.tiers.get(pair, ()):
            rooms: list[Room] = []
            for url in urls:
                own, standing = self._evidence.pair_standing(url, pair), self._evidence.standing(url)
                if own.is_out or own.stalls:
                    continue
                room = room_of(snapshot.replicas[url], snapshot.models[pair][url], standing.ledger, call.priority)
                if room is None:
                    return None
                full = standing.is_full(self._clock(), Lane.of(call.priority))
                rooms.append(replace(room, ahead=max(room.ahead, room.limit)) if full else room)
            if rooms:
                return _Found(rooms)
        return None  # whoever is left is asked: it is no question of room

    @staticmethod
    def _model(pair: LanguagePair, snapshot: Snapshot) -> str:
        """Return what the pair's callers share: the preferred model, whichever pairs it serves."""
        for urls in snapshot.tiers.get(pair, ()):
            return snapshot.models[pair][urls[0]]
        return str(pair)


# The least cost of a request is 1.
_DUST: Final = 1e-6
