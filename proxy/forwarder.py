"""Forwarder: brings an errand to a replica: chooses, hedges, and tries another while Deadline and RetryBudget allow."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from proxy.errand import AttemptFailedError, Journey
from proxy.exchange import BeatenError
from proxy.hedge import Hedge, Patience, Reason
from proxy.outcome import most_telling
from proxy.routing import find_pair
from shared.errors import PairUnavailableError, PairwayError, ReplicaFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.attempt import Choice
    from proxy.chooser import Chooser
    from proxy.errand import Errand
    from proxy.evidence import LocalEvidence
    from proxy.exchange import Exchange
    from proxy.registry import Registry
    from proxy.retry_budget import RetryBudget
    from shared.deadline import Deadline
    from shared.languages import LanguagePair
    from shared.telemetry import ProxyMetrics

# A replica that can not be reached costs next to nothing, and its breaker opens at once: it does not count among the
# attempts that a request may make, but no request knocks at more doors than these.
MAX_UNREACHED: Final = 10


class Forwarder:
    """Holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        exchange: Exchange,
        chooser: Chooser,
        evidence: LocalEvidence,
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

    async def send(self, errand: Errand, deadline: Deadline, request_id: str) -> bytes:
        """Return the body of the first replica that serves the errand; none is asked twice.

        Raises:
            PairwayError: none could, or one broke off what the relay had begun; the error says why.
        """
        journey = Journey(errand, deadline, request_id)
        self._budget.deposit()
        try:
            return await self._first(journey)
        except AttemptFailedError as failure:
            if not self._may_go_on(journey):
                raise _final(journey, failure) from None
        try:
            async for attempt in AsyncRetrying(
                stop=lambda _: not self._may_go_on(journey),
                retry=retry_if_exception_type(AttemptFailedError),
                before=partial(self._count_retry, journey),
                reraise=True,
            ):
                with attempt:
                    return await self._attempt(journey, Patience(), _wait_on)
        except AttemptFailedError as failure:
            raise _final(journey, failure) from None
        raise AssertionError  # not reached: the loop above returns or raises

    def _may_go_on(self, journey: Journey) -> bool:
        """Say whether another attempt may be made, and pay for it."""
        if journey.attempts >= self._max_attempts or journey.unreached >= MAX_UNREACHED:
            return False
        return self._untried(journey) and self._budget.withdraw()

    def _untried(self, journey: Journey) -> bool:
        """Say whether there is a replica that the errand could still go to."""
        snapshot = self._registry.snapshot
        try:
            ready = snapshot.ready[find_pair(journey.errand.wanted, snapshot)]
        except PairwayError:
            return False
        return any(url not in journey.tried for url in ready)

    def _count_retry(self, journey: Journey, _: RetryCallState) -> None:
        self._metrics.retries.labels(str(journey.errand.wanted)).inc()

    async def _first(self, journey: Journey) -> bytes:
        """Make the first attempt; a second one beside it when it takes long, or instead of it when its replica is lost."""
        patience = Patience()
        lost = partial(self._give_up, journey, patience)
        hedge = self._hedge(journey, patience)
        if hedge is None:
            return await self._attempt(journey, patience, lost)
        with hedge:
            try:
                return await self._attempt(journey, patience, lost)
            except (BeatenError, AttemptFailedError):
                if hedge.second is None:
                    raise
                return await hedge.second

    def _hedge(self, journey: Journey, first: Patience) -> Hedge | None:
        """Return what sends the errand again when it takes long: not for streams, nor while the fleet is slow."""
        snapshot = self._registry.snapshot
        pair = find_pair(journey.errand.wanted, snapshot)
        policy = self._evidence.pool(pair).hedging
        policy.request()
        if journey.errand.relay is not None or self._max_attempts == 1 or len(snapshot.ready[pair]) == 1:
            return None
        delay = policy.delay(journey.errand.work)
        if delay is None or delay >= journey.deadline.remaining():
            return None

        def begin() -> asyncio.Task[bytes] | None:
            now = self._registry.snapshot
            if journey.attempts >= self._max_attempts or pair not in now.tiers:
                return None
            choice = self._chooser.choose_well(pair, journey.tried, journey.errand.work, now)
            if choice is None or not policy.take() or not self._budget.withdraw():
                return None
            self._metrics.hedges.labels(str(pair)).inc()
            return asyncio.create_task(self._try(choice, pair, journey, Patience(), _wait_on), name="hedge")

        return Hedge(delay, begin, first)

    def _give_up(self, journey: Journey, patience: Patience) -> None:
        """End the wait for a replica that is DOWN or stands still, if another can take over; else it may still answer."""
        if not journey.errand.begun and self._untried(journey):
            patience.end(Reason.LOST)

    async def _attempt(self, journey: Journey, patience: Patience, lost: Callable[[], None]) -> bytes:
        """Send to the best replica that was not tried yet."""
        snapshot = self._registry.snapshot
        errand = journey.errand
        try:
            pair = find_pair(errand.wanted, snapshot)
        except PairUnavailableError as error:
            raise AttemptFailedError(error) from error
        if journey.deadline.remaining() <= 0:
            raise journey.deadline.exceeded()
        choice = self._chooser.choose(pair, journey.tried, errand.work, snapshot)
        if choice is None:
            why = "the replicas that report it refuse it"
            wait = self._evidence.retry_in(pair, snapshot.ready[pair])
            raise AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=wait))
        return await self._try(choice, pair, journey, patience, lost)

    async def _try(
        self, choice: Choice, pair: LanguagePair, journey: Journey, patience: Patience, lost: Callable[[], None]
    ) -> bytes:
        """Send to that replica; note how it failed."""
        journey.tried.add(choice.url)
        try:
            return await self._exchange.send(choice, journey, pair, patience, lost)
        except AttemptFailedError as failure:
            journey.failed[choice.url] = failure.error
            if journey.errand.begun:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent on.") from failure
            raise


def _final(journey: Journey, last: AttemptFailedError) -> PairwayError:
    """Return what to say when no replica could."""
    return most_telling(journey.failed) if journey.failed else last.error


def _wait_on() -> None:
    """Do nothing about a lost replica: what took two of them down stays where it is, until the Deadline."""
