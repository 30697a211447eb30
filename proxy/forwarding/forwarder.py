"""Forwarder: sends a request to replicas until one serves it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy.balancing.local_stats import Attempt, LocalStats, Selection
from proxy.call import Leg
from proxy.fleet.registry import Registry
from proxy.forwarding.hedging import Hedge, HedgeWonError, HedgingPolicy
from proxy.forwarding.retry_policy import LegProgress, RetryPolicy
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.http_client import UpstreamCall
from proxy.upstream.response_classifier import (
    OK,
    REPLICA_RETRY_SECONDS,
    UNTRUSTED,
    AttemptOutcome,
    BrokenAnswerError,
    ReplicaResponse,
    SilentError,
    UnreachableError,
    classify,
)
from shared.protocol.errors import CODES, PairUnavailableError, PairwayError, ReplicaFailedError
from shared.protocol.headers import CACHE_CONTROL_HEADER, CALLER_HEADER, NO_STORE, REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER
from shared.runtime.gc_tuning import drop_tracebacks

log = logging.getLogger(__name__)


class AttemptFailedError(Exception):
    """Failure of one replica; ``error`` is for the client if none serves."""

    def __init__(self, error: PairwayError) -> None:
        super().__init__(error.detail)
        self.error = error


class ReplicaLostError(Exception):
    """The replica is down or stalled, and another one can take over."""


@dataclass(eq=False, slots=True)
class Forwarder:
    """Sender of requests, as the retry and hedging policies decide; stateless."""

    _registry: Registry
    _client: ReplicaClient
    _stats: LocalStats
    _metrics: ProxyMetrics
    _retry_policy: RetryPolicy
    _hedging_policy: HedgingPolicy

    async def send(self, leg: Leg) -> bytes:
        """Return the body of the first replica that serves the leg.

        Raises PairwayError if none could, or one failed after a delta was passed on.
        """
        progress = LegProgress(leg)
        try:
            return await self._try_first(progress)
        except AttemptFailedError:
            return await self._retry(progress)
        finally:
            # An error that is raised would keep itself, and the leg's body, by this frame.
            progress.errors.clear()
            if progress.prepaid_seconds:
                self._retry_policy.refund(progress)

    async def _try_first(self, progress: LegProgress) -> bytes:
        snapshot = self._registry.snapshot
        selection = self._retry_policy.begin(progress, snapshot)
        self._hedging_policy.earn(selection)
        delay = self._hedging_policy.delay(selection, progress, snapshot)
        if delay is None:
            return await self._try(selection, progress)
        with Hedge(delay, lambda: self._begin_hedge(selection, progress)) as hedge:
            try:
                return await self._try(selection, progress, hedge)
            except (HedgeWonError, AttemptFailedError):
                if hedge.second is None:
                    raise
                return await hedge.second

    def _begin_hedge(self, first: Selection, progress: LegProgress) -> asyncio.Task[bytes] | None:
        selection = self._hedging_policy.begin(first, progress, self._registry.snapshot)
        if selection is None:
            return None
        self._metrics.hedges.labels(str(first.pair)).inc()
        return asyncio.create_task(self._try(selection, progress), name="hedge")

    async def _retry(self, progress: LegProgress) -> bytes:
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(self._retry_policy.max_tries),  # each at another replica
            retry=retry_if_exception_type(AttemptFailedError),
            reraise=True,
        ):
            with attempt:
                selection = self._retry_policy.begin_retry(progress, self._registry.snapshot)
                self._metrics.retries.labels(str(selection.pair)).inc()
                return await self._try(selection, progress)
        raise AssertionError  # not reached: the policy raises before the last try

    async def _try(self, selection: Selection, progress: LegProgress, hedge: Hedge | None = None) -> bytes:
        """Return the body of one replica's translation; a ``hedge`` may win.

        Raises AttemptFailedError where another replica may serve, HedgeWonError, or else PairwayError.
        """
        leg, call, url = progress.leg, progress.leg.call, selection.url
        progress.tried_urls.add(url)
        call.sample.replicas.append(url)
        attempt = self._stats.begin_attempt(selection, leg.cost)
        if leg.sink is not None:
            leg.sink.on_progress = attempt.stats.record_progress
        headers = {REQUEST_ID_HEADER: call.request_id, PRIORITY_HEADER: call.priority, CALLER_HEADER: call.caller.tag}
        if not call.caller.cached:
            headers[CACHE_CONTROL_HEADER] = NO_STORE
        try:
            with attempt:
                try:
                    sent = self._client.translate(url, leg.body_for(selection.pair), call.deadline, headers, leg.sink)
                    attempt.on_lost = lambda: self._abandon_lost(sent, progress)
                    if hedge is not None:
                        hedge.first = sent
                    response = await sent
                except (UnreachableError, BrokenAnswerError, SilentError, HedgeWonError, ReplicaLostError) as failure:
                    raise _conclude_failure(attempt, progress, failure) from failure
                if response.status == OK:
                    attempt.label = "ok"
                    attempt.record_outcome(AttemptOutcome.GOOD)
                    return response.body
                raise _conclude_refusal(attempt, leg, response)
        except AttemptFailedError as failure:
            drop_tracebacks(failure)
            progress.errors[url] = failure.error
            if progress.is_started:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent to you.") from failure
            raise
        finally:
            self._metrics.attempts.labels(url, attempt.label).inc()

    def _abandon_lost(self, sent: UpstreamCall, progress: LegProgress) -> None:
        """Stop waiting for a lost replica if another one can take over."""
        if sent.is_open and self._retry_policy.prepay(progress, self._registry.snapshot):
            sent.abandon(ReplicaLostError())


def _conclude_failure(attempt: Attempt, progress: LegProgress, failure: Exception) -> Exception:
    url, pair = attempt.selection.url, attempt.selection.pair
    match failure:
        case SilentError():
            attempt.label = "deadline-exceeded"
            attempt.timed_out = True
            return progress.leg.call.deadline.exceeded_error()
        case HedgeWonError():
            attempt.label = "beaten"
            attempt.stats.record_minimum_latency(attempt)
            attempt.record_outcome(AttemptOutcome.FAILED)
            return HedgeWonError()
        case UnreachableError():
            attempt.label = "unreachable"
            if not attempt.stats.is_out:  # else it was logged before
                log.warning("replica unreachable", extra={"replica": url, "error": str(failure)})
            attempt.record_outcome(AttemptOutcome.FAILED, unreachable=True)
            progress.unreachable_count += 1
            why = "its replicas cannot be reached"
            return AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=REPLICA_RETRY_SECONDS))
        case ReplicaLostError():
            attempt.label = "replica-lost"
            log.warning("replica lost with a request in flight", extra={"replica": url})
            message = "A replica was lost with the request in flight, and no other could take over."
        case _:
            attempt.label = "broken-answer"
            log.warning("replica answer broken", extra={"replica": url, "error": str(failure)})
            message = "A replica's answer was incomplete or invalid, and no other replica could take over."
    attempt.record_outcome(AttemptOutcome.FAILED)
    return AttemptFailedError(ReplicaFailedError(message))


def _conclude_refusal(attempt: Attempt, leg: Leg, response: ReplicaResponse) -> Exception:
    url, pair = attempt.selection.url, attempt.selection.pair
    code = response.problem.code if response.problem is not None else None
    # Bounded, whatever a replica writes.
    attempt.label = str(response.status) if code is None else code if code in CODES else "other"
    refusal = classify(pair, response.status, response.problem, response.retry_after, leg.call.deadline)
    if refusal.outcome is AttemptOutcome.FAILED:
        level = logging.ERROR if response.status in UNTRUSTED else logging.WARNING
        log.log(level, "replica failed", extra={"replica": url, "status": response.status, "code": code})
    if refusal.outcome is AttemptOutcome.NONE:
        attempt.timed_out = True
    else:
        attempt.record_outcome(refusal.outcome, full_for=refusal.error.retry_after or REPLICA_RETRY_SECONDS)
    return AttemptFailedError(refusal.error) if refusal.elsewhere else refusal.error
