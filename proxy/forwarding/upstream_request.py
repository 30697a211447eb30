"""Upstream request: one request to one replica, and its result."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.local_stats import LocalStats
from proxy.forwarding.hedge import Hedge, HedgeWonError, ReplicaLostError
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.errors import BrokenAnswerError, SilentError, UnreachableError
from proxy.upstream.http_client import Exchange
from proxy.upstream.response_classifier import (
    OK,
    RETRY_AFTER_SECONDS,
    UNTRUSTED,
    AttemptOutcome,
    ReplicaResponse,
    classify,
)
from shared.protocol.errors import CODES, PairUnavailableError, ReplicaFailedError
from shared.protocol.headers import CACHE_CONTROL_HEADER, CALLER_HEADER, NO_STORE, REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER

log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class UpstreamRequest:
    """Sender of requests to replicas, which classifies their responses; stateless."""

    _client: ReplicaClient
    _stats: LocalStats
    _metrics: ProxyMetrics

    async def send(
        self, selection: Selection, leg: Leg, on_lost: Callable[[Leg, Exchange], None], hedge: Hedge | None
    ) -> bytes:
        """Return the body of the replica's translation.

        ``on_lost`` is called if the replica is lost meanwhile; ``hedge`` may win against this request.

        Raises:
            AttemptFailedError: the replica did not serve the request; another may.
            HedgeWonError: the hedge was answered first.
            PairwayError: an error that any replica would give.
        """
        call = leg.call
        call.sample.replicas.append(selection.url)
        attempt = self._stats.begin_attempt(selection, leg.cost, lambda: on_lost(leg, exchange))
        if leg.sink is not None:
            leg.sink.on_progress = attempt.stats.record_progress
        headers = {REQUEST_ID_HEADER: call.request_id, PRIORITY_HEADER: call.priority, CALLER_HEADER: call.caller.tag}
        if not call.caller.cached:
            headers[CACHE_CONTROL_HEADER] = NO_STORE
        try:
            with attempt:
                try:
                    exchange = self._client.translate(
                        selection.url, leg.body_for(selection.pair), call.deadline, headers, leg.sink
                    )
                    if hedge is not None:
                        hedge.first = exchange
                    response = await exchange
                except (UnreachableError, BrokenAnswerError, SilentError, HedgeWonError, ReplicaLostError) as failure:
                    raise _conclude_failure(attempt, leg, failure) from failure
                if response.status == OK:
                    attempt.label = "ok"
                    attempt.record_outcome(AttemptOutcome.GOOD)
                    return response.body
                raise _conclude_refusal(attempt, leg, response)
        finally:
            self._metrics.attempts.labels(selection.url, attempt.label).inc()


def _conclude_failure(attempt: Attempt, leg: Leg, failure: Exception) -> Exception:
    url, pair = attempt.selection.url, attempt.selection.pair
    match failure:
        case SilentError():
            attempt.label = "deadline-exceeded"
            attempt.timed_out = True
            return leg.call.deadline.exceeded_error()
        case HedgeWonError():
            attempt.label = "beaten"
            attempt.record_hedge_won()
            return HedgeWonError()
        case UnreachableError():
            attempt.label = "unreachable"
            if not attempt.stats.is_out:  # else it was logged before
                log.warning("replica unreachable", extra={"replica": url, "error": str(failure)})
            attempt.record_outcome(AttemptOutcome.FAILED, unreachable=True)
            leg.unreachable_count += 1
            why = "its replicas cannot be reached"
            return AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=RETRY_AFTER_SECONDS))
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
    attempt.label = _refusal_label(response)
    refusal = classify(pair, response.status, response.problem, response.retry_after, leg.call.deadline)
    if refusal.outcome is AttemptOutcome.FAILED:
        level = logging.ERROR if response.status in UNTRUSTED else logging.WARNING
        code = response.problem.code if response.problem is not None else None
        log.log(level, "replica failed", extra={"replica": url, "status": response.status, "code": code})
    if refusal.outcome is AttemptOutcome.NONE:
        attempt.timed_out = True
    else:
        attempt.record_outcome(refusal.outcome, full_for=refusal.error.retry_after or RETRY_AFTER_SECONDS)
    return AttemptFailedError(refusal.error) if refusal.elsewhere else refusal.error


def _refusal_label(response: ReplicaResponse) -> str:
    """Return a refusal's label for metrics, bounded whatever a replica writes."""
    if response.problem is not None:
        return response.problem.code if response.problem.code in CODES else "other"
    return str(response.status)
