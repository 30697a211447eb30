"""LocalEvidence: what this proxy has seen of the fleet itself: loads, latencies, breakers, who stands still. Pure."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Final

from proxy.attempt import Attempt, Choice
from proxy.balancer import SLOW_START_SECONDS
from proxy.fleet import ReplicaState
from proxy.hedging import HedgePolicy
from proxy.outcome import Verdict
from proxy.standing import PairStanding, Standing, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from random import Random

    from proxy.breaker import Permit
    from proxy.fleet import Replica, Snapshot
    from shared.languages import LanguagePair

# A replica that holds a request for so many times its usual time, and at least this long, while others answer, stands
# still. Three steps of vLLM's own stall alarm would be later; a text takes tens of milliseconds.
STALL_SECONDS: Final = 1.0
STALL_FACTOR: Final = 8.0
# So many times the pair's usual latency is worth a canary: the replica may be well again.
SLOW_FACTOR: Final = 4.0
# A replica that was out and is well again needs no new engine: it starts further up the slow start than a newcomer.
RETURN_SECONDS: Final = 1.0
# What a client is told to wait for a breaker at most; canaries usually bring a healed replica back within a second.
LONGEST_WAIT_SECONDS: Final = 5.0
# What a unit of work is taken to last before any was seen; only the same for all, so that nothing but load counts.
FIRST_SECONDS: Final = 0.1


class Pool:
    """What is known of one pair, whoever serves it. Mutable state: hedging, last good answers, and who is in doubt."""

    __slots__ = ("_first", "doubtful", "good_at", "hedging", "out")

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.hedging = HedgePolicy()
        self._first: list[float] = []
        self.good_at: dict[str, float] = {}
        self.out: dict[str, None] = {}  # breakers that are not closed, the first to open first
        self.doubtful: dict[str, None] = {}  # worth a canary

    @property
    def usual(self) -> float:
        """Seconds that a unit of work usually takes: the median, of the few there are until there are enough."""
        return self.hedging.usual or (median(self._first) if self._first else FIRST_SECONDS)

    def observe(self, seconds_per_unit: float) -> None:
        """Take the latency of a good answer."""
        self.hedging.observe(seconds_per_unit)
        if self.hedging.usual is None:
            self._first.append(seconds_per_unit)

    def forget(self, url: str) -> None:
        """Drop everything about a replica."""
        for table in (self.good_at, self.out, self.doubtful):
            table.pop(url, None)


class LocalEvidence:
    """Fast and this proxy's own, beside the slow shared registry; a replica must pass both.

    Mutable state: a :class:`Standing` per URL and a :class:`Pool` per pair, both forgotten with the fleet's; texts in
    flight when the current report was taken. Changed on the event loop only.
    """

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        """Begin with nothing seen; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._rng = rng
        self._standings: dict[str, Standing] = {}
        self._pools: defaultdict[LanguagePair, Pool] = defaultdict(Pool)
        self._ours_at_report: dict[str, tuple[float, int]] = {}

    def __repr__(self) -> str:
        """Show what is in flight and who is out."""
        flying = {url: standing.texts for url, standing in self._standings.items() if standing.texts}
        out = {str(pair): list(pool.out) for pair, pool in self._pools.items() if pool.out}
        return f"<LocalEvidence in_flight={flying} out={out}>"

    def now(self) -> float:
        """Return the time by its clock."""
        return self._clock()

    def pool(self, pair: LanguagePair) -> Pool:
        """Return what is known of a pair."""
        return self._pools[pair]

    def standing(self, url: str) -> Standing:
        """Return what is known of a replica; a newcomer's where nothing is."""
        found = self._standings.get(url)
        if found is None:
            found = self._standings[url] = Standing(self._clock())
        return found

    def pair_standing(self, url: str, pair: LanguagePair) -> PairStanding:
        """Return how a replica does with a pair."""
        pairs = self.standing(url).pairs
        found = pairs.get(pair)
        if found is None:
            found = pairs[pair] = PairStanding(self._clock, self._rng)
        return found

    def stalls(self, url: str, standing: Standing) -> bool:
        """Say whether a replica holds a request for far too long without any progress while others answer."""
        oldest = standing.oldest()
        if oldest is None or not self.is_overdue(oldest, standing.progressed_at):
            return False
        since = max(oldest.started, standing.progressed_at)
        return any(at > since for other, at in self._pools[oldest.pair].good_at.items() if other != url)

    def is_overdue(self, ticket: Ticket, progressed_at: float = 0.0) -> bool:
        """Say whether a request takes far longer than such requests usually do, counted from the last progress."""
        waited = self._clock() - max(ticket.started, progressed_at)
        return waited >= max(STALL_SECONDS, STALL_FACTOR * self._pools[ticket.pair].usual * ticket.work)

    def load(self, url: str, snapshot: Snapshot) -> int:
        """Return our texts in flight there, plus those that the last report showed to be of other proxies."""
        standing = self._standings.get(url)
        ours = standing.texts if standing is not None else 0
        replica = snapshot.replicas.get(url)
        return ours if replica is None else ours + self.foreign(url, standing, replica)

    def foreign(self, url: str, standing: Standing | None, replica: Replica) -> int:
        """Return the texts that the last report showed there and that are not ours."""
        if replica.report is None:
            return 0
        seen = self._ours_at_report.get(url)
        ours = standing.texts if standing is not None else 0
        then = seen[1] if seen is not None and seen[0] == replica.reported_at else ours
        return max(0, replica.report.in_flight - then)

    def attempt(self, choice: Choice, pair: LanguagePair, work: float, texts: int, lost: Callable[[], None]) -> Attempt:
        """Return the attempt to make there, to be used as a context manager; ``lost`` is called when the replica is.

        ``lost`` is called at each snapshot in which the replica is DOWN, and while it stands still. One that left the
        fleet is not lost: it may be leaving politely and still answer what it has in hand.
        """
        return Attempt(self, choice, Ticket(pair, self._clock(), work, texts, lost))

    def judge(self, choice: Choice, ticket: Ticket, verdict: Verdict, full_for: float, *, unreachable: bool) -> None:
        """Learn from the end of an attempt."""
        url, pair, permit = choice.url, ticket.pair, choice.permit
        standing = self.standing(url)
        pool = self._pools[pair]
        own = self.pair_standing(url, pair)
        now = self._clock()
        match verdict:
            case Verdict.GOOD:
                seconds = (now - ticket.started) / ticket.work
                was_out = own.is_out
                own.well()
                own.took(ticket.started, ticket.work)
                standing.full_until = None
                self._settle(own, permit)
                if was_out and not own.is_out:
                    self._returns(standing)
                standing.progressed_at = pool.good_at[url] = now
                pool.observe(seconds)
                if seconds > SLOW_FACTOR * pool.usual:
                    pool.doubtful[url] = None
            case Verdict.FAILED:
                own.ill(permit, at_once=unreachable)
                pool.doubtful[url] = None
            case Verdict.REFUSED:
                own.refused = True
                own.ill(permit, at_once=True)
                pool.doubtful[url] = None
            case Verdict.FULL:
                standing.full_until = now + full_for
                self._release(own, permit)
            case Verdict.NONE:
                self._release(own, permit)
        self._note_breaker(pool, url, own)

    def beaten(self, choice: Choice, ticket: Ticket) -> None:
        """Learn from a hedge that was answered first: this replica takes at least so long."""
        self.pair_standing(choice.url, ticket.pair).took(ticket.started, ticket.work)

    @staticmethod
    def _release(own: PairStanding, permit: Permit | None) -> None:
        if permit is not None:
            own.breaker.release(permit)

    @staticmethod
    def _settle(own: PairStanding, permit: Permit | None) -> None:
        """Tell the breaker of a success; one that nobody permitted is as good as a canary."""
        if permit is None:
            own.breaker.canary_passed()
        else:
            own.breaker.success(permit)

    def _returns(self, standing: Standing) -> None:
        """Let a replica that was out begin its slow start, further up than a newcomer."""
        standing.joined_at = self._clock() - max(0.0, SLOW_START_SECONDS - RETURN_SECONDS)

    @staticmethod
    def _note_breaker(pool: Pool, url: str, own: PairStanding) -> None:
        if own.is_out:
            pool.out.setdefault(url)
        else:
            pool.out.pop(url, None)

    def canary_passed(self, url: str, pair: LanguagePair, seconds_per_unit: float) -> None:
        """Learn that a canary came back right: its latency is what counts now, and a back-off is over."""
        own, pool = self.pair_standing(url, pair), self._pools[pair]
        own.reset(seconds_per_unit)
        own.breaker.canary_passed()
        self.standing(url).progressed_at = self._clock()
        if not own.is_out and seconds_per_unit <= SLOW_FACTOR * pool.usual:
            pool.doubtful.pop(url, None)
        self._note_breaker(pool, url, own)

    def canary_failed(self, url: str, pair: LanguagePair) -> None:
        """Learn that a canary did not come back right: as bad as a request that failed."""
        own, pool = self.pair_standing(url, pair), self._pools[pair]
        if own.is_out:
            own.breaker.canary_failed()
        else:
            own.ill(own.breaker.acquire())
        self._note_breaker(pool, url, own)

    def suspects(self, snapshot: Snapshot) -> Iterator[tuple[str, LanguagePair]]:
        """Yield the replicas that the registry holds for ready and this proxy does not trust with a pair."""
        for pair, pool in self._pools.items():
            ready = snapshot.ready.get(pair, ())
            for url in list(pool.doubtful):
                if url in ready:
                    yield url, pair

    def retry_in(self, pair: LanguagePair, urls: Collection[str]) -> float:
        """Return the seconds until the first of these replicas may be tried with the pair again, within bounds."""
        waits = [self.pair_standing(url, pair).breaker.retry_in() for url in urls]
        return min(LONGEST_WAIT_SECONDS, max(1.0, min(waits, default=1.0)))

    def note_snapshot(self, snapshot: Snapshot) -> None:
        """Take in a new view: newcomers start afresh, those that are gone are forgotten, those who wait are told."""
        for url, replica in snapshot.replicas.items():
            standing = self.standing(url)
            at = replica.reported_at
            if at is not None and self._ours_at_report.get(url, (None,))[0] != at:
                self._ours_at_report[url] = (at, standing.texts)
            self._note_return(url, standing, replica)
            if replica.state is ReplicaState.DOWN:
                self._tell(standing)
        gone = [
            url for url, standing in self._standings.items() if url not in snapshot.replicas and not standing.tickets
        ]
        for url in gone:
            del self._standings[url]
            self._ours_at_report.pop(url, None)
            for pool in self._pools.values():
                pool.forget(url)
        for pair in [pair for pair in self._pools if pair not in snapshot.ready]:
            del self._pools[pair]

    def _note_return(self, url: str, standing: Standing, replica: Replica) -> None:
        """Start a replica afresh that is another process than before, and a pair that it has only just got ready."""
        if replica.report is None:
            return
        if replica.report.replica_id != standing.replica_id:
            standing.replica_id = replica.report.replica_id
            standing.joined_at = standing.progressed_at = self._clock()
            standing.full_until = None
            self._forget_pairs(url, standing, list(standing.pairs))
        self._forget_pairs(url, standing, [pair for pair, ready in replica.pairs.items() if not ready])

    def _forget_pairs(self, url: str, standing: Standing, pairs: Sequence[LanguagePair]) -> None:
        for pair in pairs:
            standing.pairs.pop(pair, None)
            if pair in self._pools:
                self._pools[pair].forget(url)

    def tell_of_stalls(self) -> None:
        """Tell those whose requests stand still, so that another replica can take over."""
        for url, standing in self._standings.items():
            if standing.tickets and self.stalls(url, standing):
                self._tell(standing)
                for pair in {ticket.pair for ticket in standing.tickets.values()}:
                    self._pools[pair].doubtful[url] = None

    @staticmethod
    def _tell(standing: Standing) -> None:
        for ticket in list(standing.tickets.values()):
            ticket.lost()
