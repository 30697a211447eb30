"""Forwarder: brings an errand to a replica: chooses, hedges, and tries another while Deadline and RetryBudget allow."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Final

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy.balancing.attempt import Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.fleet.registry import Registry
from proxy.forwarding.forward_request import AttemptFailedError, AttemptHistory, ForwardRequest
from proxy.forwarding.hedge import CancellableWait, Hedge, HedgeReason
from proxy.forwarding.retry_budget import RetryBudget
from proxy.forwarding.upstream_request import HedgeWonError, UpstreamRequest
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import find_pair
from proxy.upstream.response_classifier import most_telling
from shared.protocol.errors import PairUnavailableError, PairwayError, ReplicaFailedError

# A replica that can not be reached costs next to nothing, and its breaker opens at once: it does not count among the
# attempts that a request may make, but no request knocks at more doors than these.
MAX_UNREACHED: Final = 10


class Forwarder:
    """Holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        exchange: UpstreamRequest,
        chooser: ReplicaSelector,
        evidence: LocalStats,
        budget: RetryBudget,
        metrics: ProxyMetrics,
        max_attempts: int,
    ) -> None:
        """Take the parts; ``max_attempts`` replicas are sent one errand at most, hedges included."""
        self._registry = registry
        self._exchange = exchange
        self._chooser = chooser
        self._evidence = evidence
        self._budget = budget
        self._metrics = metrics
        self._max_attempts = max_attempts

    async def send(self, errand: ForwardRequest) -> bytes:
        """Return the body of the first replica that serves the errand; none is asked twice.

        Raises:
            PairwayError: none could, or one broke off what the relay had begun; the error says why.
        """
        journey = AttemptHistory(errand)
        self._budget.deposit()
        try:
            return await self._first(journey)
        except AttemptFailedError as failure:
            failed = failure
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(self._max_attempts + MAX_UNREACHED),  # each one goes to another replica
            retry=retry_if_exception_type(AttemptFailedError),
            reraise=True,
        ):
            with attempt:
                return await self._try(self._next(journey, failed), journey, CancellableWait())
        raise AssertionError  # not reached: the loop above returns or raises

    async def _first(self, journey: AttemptHistory) -> bytes:
        """Make the first attempt, and a second one beside it when it takes unusually long."""
        choice = self._choose(journey)
        if isinstance(choice, PairwayError):
            raise choice
        patience = CancellableWait()
        hedge = self._hedge(choice, journey, patience)
        if hedge is None:
            return await self._try(choice, journey, patience)
        with hedge:
            try:
                return await self._try(choice, journey, patience)
            except (HedgeWonError, AttemptFailedError):
                if hedge.second is None:
                    raise
                return await hedge.second

    def _next(self, journey: AttemptHistory, last: AttemptFailedError) -> Selection:
        """Return where to send the errand after a failure, and pay for it.

        Raises:
            PairwayError: no further attempt may be made; says how the others failed.
        """
        said = most_telling(journey.failed) if journey.failed else last.error
        if self._is_over(journey):
            raise said
        choice = self._choose(journey)
        if isinstance(choice, PairwayError):
            raise said
        if journey.paid:
            journey.paid -= 1
        elif not self._budget.withdraw():
            self._chooser.give_back(choice)
            raise said
        self._metrics.retries.labels(str(choice.pair)).inc()
        return choice

    def _choose(self, journey: AttemptHistory) -> Selection | PairwayError:
        """Return the best replica that was not tried yet; the error to give where there is none.

        Raises:
            DeadlineExceededError: the time is over.
        """
        snapshot = self._registry.snapshot
        try:
            pair = find_pair(journey.errand.wanted, snapshot)
        except PairwayError as error:
            return error
        if journey.deadline.remaining() <= 0:
            raise journey.deadline.exceeded()
        choice = self._chooser.choose(pair, journey.tried, journey.errand.freight, snapshot)
        if choice is None:
            why = "the replicas that report it refuse it"
            wait = self._evidence.retry_in(pair, snapshot.ready[pair])
            return PairUnavailableError(str(pair), why, retry_after=wait)
        return choice

    def _is_over(self, journey: AttemptHistory) -> bool:
        """Say whether the errand was sent as often as it may be."""
        return journey.attempts >= self._max_attempts or journey.unreached >= MAX_UNREACHED

    def _hedge(self, first: Selection, journey: AttemptHistory, patience: CancellableWait) -> Hedge | None:
        """Return what sends the errand again when it takes long: not for streams, nor while the fleet is slow."""
        errand = journey.errand
        policy = self._evidence.pool(first.pair).paces[first.rank].hedging
        policy.request()
        if errand.relay is not None or self._max_attempts == 1 or len(self._registry.snapshot.ready[first.pair]) == 1:
            return None
        delay = policy.delay(errand.freight.work)
        if delay is None or delay >= journey.deadline.remaining():
            return None

        def begin() -> asyncio.Task[bytes] | None:
            if self._is_over(journey):
                return None
            choice = self._chooser.choose_beside(first, journey.tried, errand.freight, self._registry.snapshot)
            if choice is None or not policy.take() or not self._budget.withdraw():
                return None
            self._metrics.hedges.labels(str(first.pair)).inc()
            return asyncio.create_task(self._try(choice, journey, CancellableWait()), name="hedge")

        return Hedge(delay, begin, patience)

    def _give_up(self, journey: AttemptHistory, patience: CancellableWait) -> None:
        """End the wait for a replica that is DOWN or stands still, if another can take over; else it may still answer."""
        if not patience.lasts or journey.errand.begun or self._is_over(journey) or not self._untried(journey):
            return
        if self._budget.withdraw():
            journey.paid += 1
            patience.end(HedgeReason.LOST)

    def _untried(self, journey: AttemptHistory) -> bool:
        """Say whether there is a replica that the errand could still go to."""
        snapshot = self._registry.snapshot
        try:
            pair = find_pair(journey.errand.wanted, snapshot)
        except PairwayError:
            return False
        return any(
            url not in journey.tried and not self._evidence.pair_standing(url, pair).refused
            for url in snapshot.ready[pair]
        )

    async def _try(self, choice: Selection, journey: AttemptHistory, patience: CancellableWait) -> bytes:
        """Send to that replica; note how it failed."""
        journey.tried.add(choice.url)
        try:
            return await self._exchange.send(choice, journey, patience, partial(self._give_up, journey, patience))
        except AttemptFailedError as failure:
            journey.failed[choice.url] = failure.error
            if journey.errand.begun:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent on.") from failure
            raise
