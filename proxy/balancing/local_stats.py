"""LocalStats: what this proxy has seen of the fleet itself: loads, latencies, breakers, who stands still. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from random import Random
from typing import Final

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.balancer import SLOW_START_SECONDS
from proxy.balancing.circuit_breaker import BreakerState, CircuitPermit
from proxy.balancing.pair_stats import PairStats
from proxy.balancing.replica_stats import InFlightRequest, PairReplicaStats, ReplicaStats
from proxy.fleet.replica import Replica, ReplicaState
from proxy.fleet.snapshot import Snapshot
from proxy.request_cost import RequestCost
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair

# A request that takes so many times its usual time should have been answered. A replica that holds one for so long, and
# at least these seconds (a text takes tens of milliseconds, a busy machine may pause for a moment), without any progress
# while others answer, stands still.
OVERDUE_FACTOR: Final = 8.0
STALL_SECONDS: Final = 1.0
# So many times the usual latency, and nothing heard for so long since, is worth a canary: the replica is passed over for
# others, may be well again, and would else have to wait until its latency has faded.
SLOW_FACTOR: Final = 2.0
NEGLECTED_SECONDS: Final = 0.5
# A replica that was out and is well again needs no new engine: it starts further up the slow start than a newcomer.
RETURN_SECONDS: Final = 1.0
# What a client is told to wait for a breaker at most; canaries usually bring a healed replica back within a second.
LONGEST_WAIT_SECONDS: Final = 5.0


class LocalStats:
    """Fast and this proxy's own, beside the slow shared registry; a replica must pass both.

    Mutable state: a :class:`Standing` per URL and a :class:`Pool` per pair, both forgotten with the fleet's. Changed on
    the event loop only.
    """

    def __init__(self, clock: Callable[[], float], rng: Random) -> None:
        """Begin with nothing seen; ``clock`` gives monotonic seconds."""
        self._clock = clock
        self._rng = rng
        self._standings: dict[str, ReplicaStats] = {}
        self._pools: defaultdict[LanguagePair, PairStats] = defaultdict(PairStats)

    def __repr__(self) -> str:
        """Show what is in flight and who is out."""
        flying = {url: standing.texts for url, standing in self._standings.items() if standing.texts}
        out = {str(pair): list(pool.out) for pair, pool in self._pools.items() if pool.out}
        return f"<LocalStats in_flight={flying} out={out}>"

    def now(self) -> float:
        """Return the time by its clock."""
        return self._clock()

    def pool(self, pair: LanguagePair) -> PairStats:
        """Return what is known of a pair."""
        return self._pools[pair]

    def standing(self, url: str) -> ReplicaStats:
        """Return what is known of a replica."""
        found = self._standings.get(url)
        if found is None:
            found = self._standings[url] = ReplicaStats()
        return found

    def pair_standing(self, url: str, pair: LanguagePair) -> PairReplicaStats:
        """Return how a replica does with a pair; a newcomer's standing where nothing is known."""
        known = self._pools[pair].own
        found = known.get(url)
        if found is None:
            standing = self.standing(url)
            found = standing.pairs.get(pair)
            if found is None:
                found = standing.pairs[pair] = PairReplicaStats(standing, self._clock, self._rng)
            known[url] = found
        return found

    def load(self, url: str, snapshot: Snapshot) -> int:
        """Return our texts in flight there, plus those that the last report showed to be of other proxies."""
        standing = self._standings.get(url)
        if standing is None:
            return 0
        return standing.texts + (standing.foreign if url in snapshot.replicas else 0)

    def retry_in(self, pair: LanguagePair, urls: Collection[str]) -> float:
        """Return the seconds until the first of these replicas may be tried with the pair again, within bounds."""
        waits = [self.pair_standing(url, pair).breaker.retry_in() for url in urls]
        return min(LONGEST_WAIT_SECONDS, max(1.0, min(waits, default=1.0)))

    def attempt(self, choice: Selection, freight: RequestCost, lost: Callable[[], None]) -> Attempt:
        """Return the attempt to make there, to be used as a context manager; ``lost`` is called when the replica is.

        ``lost`` is called at each snapshot in which the replica is DOWN, and while it stands still. One that left the
        fleet is not lost: it may be leaving politely and still answer what it has in hand.
        """
        ticket = InFlightRequest(choice.pair, choice.rank, choice.model, self._clock(), freight, lost)
        return Attempt(self, choice, ticket, self.standing(choice.url), self.pair_standing(choice.url, choice.pair))

    def is_overdue(self, ticket: InFlightRequest, since: float = 0.0) -> bool:
        """Say whether a request takes far longer than such requests usually do, counted from ``since`` at the earliest."""
        usual = self._pools[ticket.pair].paces[ticket.rank].usual
        return self._clock() - max(ticket.started, since) >= OVERDUE_FACTOR * usual * ticket.work

    def judge(
        self,
        attempt: Attempt,
        standing: ReplicaStats,
        verdict: AttemptOutcome,
        what: str,
        full_for: float,
        *,
        unreachable: bool,
    ) -> None:
        """Learn from the end of an attempt; ``what`` names it."""
        url, permit = attempt.choice.url, attempt.choice.permit
        own, ticket = attempt.own, attempt.ticket
        if not self._is_known(url, ticket.pair, own):
            return  # another process serves there by now: this one's end says nothing of it
        pool = self._pools[ticket.pair]
        match verdict:
            case AttemptOutcome.GOOD | AttemptOutcome.ANSWERED:
                was_out = own.is_out
                own.well()
                self._settle(own, permit)
                if was_out and not own.is_out:
                    own.joined_at = self._clock() - max(0.0, SLOW_START_SECONDS - RETURN_SECONDS)
                pool.good_at[url] = self._clock()
                if verdict is AttemptOutcome.GOOD:
                    self._note_latency(url, own, ticket, pool)
            case AttemptOutcome.FAILED:
                own.ill(permit, what, at_once=unreachable)
                pool.doubtful[url] = None
            case AttemptOutcome.REFUSED:
                own.refused = True
                own.ill(permit, what, at_once=True)
                pool.doubtful[url] = None
                pool.kept_until = 0.0
            case AttemptOutcome.FULL:
                standing.fills(ticket.freight.lane, self._clock(), full_for)
                self._release(own, permit)
            case AttemptOutcome.NONE:
                own.took_at_least(ticket)
                self._release(own, permit)
        pool.note(url, is_out=own.is_out)

    def _is_known(self, url: str, pair: LanguagePair, own: PairReplicaStats) -> bool:
        """Say whether this is still the replica's standing: it may have been forgotten while a request was in flight."""
        standing = self._standings.get(url)
        return standing is not None and standing.pairs.get(pair) is own

    @staticmethod
    def _note_latency(url: str, own: PairReplicaStats, ticket: InFlightRequest, pool: PairStats) -> None:
        pace = pool.paces[ticket.rank]
        own.took(ticket)
        seconds = own.latency.value or 0.0
        pace.observe((own.progressed_at - ticket.started) / ticket.work)
        if seconds > SLOW_FACTOR * pace.usual:
            pool.doubtful[url] = None
        elif not own.is_out:
            pool.doubtful.pop(url, None)

    @staticmethod
    def _release(own: PairReplicaStats, permit: CircuitPermit | None) -> None:
        if permit is not None:
            own.breaker.release(permit)

    @staticmethod
    def _settle(own: PairReplicaStats, permit: CircuitPermit | None) -> None:
        """Tell the breaker of a success; one that nobody permitted is as good as a canary."""
        if permit is None:
            own.breaker.canary_passed()
        else:
            own.breaker.success(permit)

    def canary_passed(self, url: str, pair: LanguagePair, rank: int, seconds_per_unit: float) -> None:
        """Learn that a canary came back right: its latency is what counts now, and a back-off is over."""
        own, pool = self.pair_standing(url, pair), self._pools[pair]
        own.reset(seconds_per_unit)
        own.breaker.canary_passed()
        if not own.is_out and seconds_per_unit <= SLOW_FACTOR * pool.paces[rank].usual:
            pool.doubtful.pop(url, None)
        pool.kept_until = 0.0

    def canary_failed(self, url: str, pair: LanguagePair) -> None:
        """Learn that a canary did not come back right: as bad as a request that failed, but that it lengthens no back-off."""
        own, pool = self.pair_standing(url, pair), self._pools[pair]
        if own.is_out:
            own.breaker.canary_failed()
            own.ill(None, own.failed_with)
        else:
            own.ill(own.breaker.acquire(), "canary failed")
        pool.note(url, is_out=own.is_out)

    def suspects(self, snapshot: Snapshot) -> Iterator[tuple[str, LanguagePair, int]]:
        """Yield the replicas that the registry holds for ready and this proxy does not trust with a pair, with its rank.

        One that is only slow is no suspect while its requests tell how it is, and one whose canary passed waits for a
        client's request as its trial.
        """
        neglected = self._clock() - NEGLECTED_SECONDS
        for pair, pool in self._pools.items():
            ranks = snapshot.ranks.get(pair, {})
            for url in list(pool.doubtful):
                rank = ranks.get(url)
                if rank is None:
                    continue
                own = self.pair_standing(url, pair)
                waits = own.breaker.state is BreakerState.HALF_OPEN
                if own.failures or (not waits and (own.is_out or own.progressed_at < neglected)):
                    yield url, pair, rank

    def out(self, pair: LanguagePair, snapshot: Snapshot) -> list[str]:
        """Return the replicas that the registry holds for ready and that this proxy found to fail or stand still.

        Not one whose canaries pass and that only waits for a client's request as its trial.
        """
        pool = self._pools.get(pair)
        if pool is None:
            return []
        return [
            url
            for url in snapshot.ready[pair]
            if (own := pool.own.get(url)) is not None and (own.stalls or (own.is_out and own.failures))
        ]

    def note_snapshot(self, snapshot: Snapshot) -> None:
        """Take in a new view: newcomers start afresh, those that are gone are forgotten, those who wait are told."""
        now = self._clock()
        for url, replica in snapshot.replicas.items():
            standing = self.standing(url)
            standing.note(replica, now)
            self._note_return(url, standing, replica)
            if replica.state is ReplicaState.DOWN:
                for own in standing.pairs.values():
                    self._tell(own)
        gone = [url for url in self._standings if url not in snapshot.replicas]
        for url in gone:
            if not self._standings[url].tickets:
                del self._standings[url]
                for pool in self._pools.values():
                    pool.forget(url)
        for pair in [pair for pair in self._pools if pair not in snapshot.ready]:
            del self._pools[pair]

    def _note_return(self, url: str, standing: ReplicaStats, replica: Replica) -> None:
        """Start a replica afresh that is another process than before, and a pair that it has only just got ready."""
        if replica.report is None:
            return
        if replica.report.replica_id != standing.replica_id:
            standing.replica_id = replica.report.replica_id
            standing.full.clear()
            for own in standing.pairs.values():
                self._tell(own)  # whoever would have answered is gone
            self._forget_pairs(url, standing, list(standing.pairs))
        if standing.pairs:
            # Not those that it holds requests of: it may be DOWN, and they are told below.
            gone = [
                pair
                for pair, own in standing.pairs.items()
                if not own.tickets and pair in replica.report.by_pair and not replica.serves(pair)
            ]
            self._forget_pairs(url, standing, gone)

    def _forget_pairs(self, url: str, standing: ReplicaStats, pairs: Iterable[LanguagePair]) -> None:
        for pair in pairs:
            standing.pairs.pop(pair, None)
            if pair in self._pools:
                self._pools[pair].forget(url)

    def look_for_stalls(self) -> None:
        """Find the replicas that stand still, and tell those whose requests they hold, so that others can take over.

        One that is overdue is tried out; it stands still where its canary fails, or others answer meanwhile.
        """
        for url, standing in self._standings.items():
            for pair, own in standing.pairs.items() if standing.tickets else ():
                overdue = self._overdue(own)
                if overdue is None:
                    continue
                self._pools[pair].doubtful[url] = None
                if self._others_answer(url, pair, overdue) or own.failed_at > overdue:
                    own.stalls = True
                    self._tell(own)

    def _overdue(self, own: PairReplicaStats) -> float | None:
        """Return since when a request it holds has waited that should have been answered long ago; None without one."""
        now = self._clock()
        for ticket in own.tickets.values():
            since = max(ticket.started, own.progressed_at)
            if now - since < STALL_SECONDS:
                return None  # the later ones are younger still
            if self.is_overdue(ticket, since):
                return since
        return None

    def _others_answer(self, url: str, pair: LanguagePair, since: float) -> bool:
        return any(at > since for other, at in self._pools[pair].good_at.items() if other != url)

    @staticmethod
    def _tell(own: PairReplicaStats) -> None:
        for ticket in list(own.tickets.values()):
            ticket.lost()
