"""Upstream request: one request to one replica, and what comes back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.local_stats import LocalStats
from proxy.call import TranslationCall
from proxy.forwarding.hedge import CancellableWait, HedgeWonError, ReplicaLostError
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.errors import BrokenAnswerError, SilentError, UnreachableError
from proxy.upstream.response import ReplicaResponse
from proxy.upstream.response_classifier import RETRY_AFTER_SECONDS, UNTRUSTED, AttemptOutcome, classify
from shared.protocol.access_errors import CODES
from shared.protocol.errors import PairUnavailableError, ReplicaFailedError
from shared.protocol.headers import CALLER_HEADER, REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER
from shared.protocol.sse import BrokenStreamError

log = logging.getLogger(__name__)


class UpstreamRequest:
    """Sends requests to replicas, classifies their responses; holds no state."""

    def __init__(self, client: ReplicaClient, stats: LocalStats, metrics: ProxyMetrics) -> None:
        self._client = client
        self._stats = stats
        self._metrics = metrics

    async def send(self, selection: Selection, leg: Leg, wait: CancellableWait, on_lost: Callable[[], None]) -> bytes:
        """Return the body of the replica's translation.

        Raises:
            AttemptFailedError: it did not serve the request, another may.
            HedgeWonError: the wait was ended because a hedge was answered.
            PairwayError: what holds for the client whoever answers.
        """
        call, sink = leg.call, leg.sink
        call.sample.replicas.append(selection.url)
        body = leg.body_for(selection.pair)
        attempt = self._stats.begin_attempt(selection, leg.cost, on_lost)
        if sink is not None:
            sink.on_progress = attempt.stats.record_progress
        try:
            with attempt:
                try:
                    async with wait:
                        response = await self._client.translate(
                            selection.url,
                            body,
                            call.deadline,
                            _headers(call),
                            sink,
                        )
                except _FAILURE_TYPES as failure:
                    attempt.label, conclude = _FAILURES[type(failure)]
                    raise conclude(attempt, leg, failure) from failure
                attempt.label = _outcome_label(response)
                if response.status == HTTPStatus.OK:
                    attempt.record_outcome(AttemptOutcome.GOOD)
                    return response.body
                raise _conclude_refusal(attempt, leg, response)
        finally:
            self._metrics.attempts.labels(selection.url, attempt.label).inc()


def _conclude_unreachable(attempt: Attempt, leg: Leg, failure: Exception) -> Exception:
    selection = attempt.selection
    if not attempt.stats.is_out:  # else it is no news
        log.warning("replica unreachable", extra={"replica": selection.url, "error": str(failure)})
    attempt.record_outcome(AttemptOutcome.FAILED, unreachable=True)
    leg.unreachable_count += 1
    why = "its replicas can not be reached"
    return AttemptFailedError(PairUnavailableError(str(selection.pair), why, retry_after=RETRY_AFTER_SECONDS))


def _conclude_broken_answer(attempt: Attempt, _: Leg, failure: Exception) -> Exception:
    attempt.record_outcome(AttemptOutcome.FAILED)
    log.warning("replica broke off", extra={"replica": attempt.selection.url, "error": str(failure)})
    return AttemptFailedError(ReplicaFailedError("A replica broke off its answer, and no other could take over."))


def _conclude_lost(attempt: Attempt, _: Leg, __: Exception) -> Exception:
    attempt.record_outcome(AttemptOutcome.FAILED)
    log.warning("replica lost with a request in hand", extra={"replica": attempt.selection.url})
    message = "A replica was lost with the request in hand, and no other could take over."
    return AttemptFailedError(ReplicaFailedError(message))


def _conclude_hedge_won(attempt: Attempt, _: Leg, __: Exception) -> Exception:
    attempt.record_hedge_won()
    return HedgeWonError()


def _conclude_silence(attempt: Attempt, leg: Leg, _: Exception) -> Exception:
    attempt.record_timeout()
    return leg.call.deadline.exceeded_error()


# What ends an attempt without a response: its label in metrics, and what notes it and returns the error to raise.
_FAILURES: Final[dict[type[Exception], tuple[str, Callable[[Attempt, Leg, Exception], Exception]]]] = {
    UnreachableError: ("unreachable", _conclude_unreachable),
    BrokenAnswerError: ("broken-answer", _conclude_broken_answer),
    BrokenStreamError: ("broken-answer", _conclude_broken_answer),
    ReplicaLostError: ("replica-lost", _conclude_lost),
    HedgeWonError: ("beaten", _conclude_hedge_won),
    SilentError: ("deadline-exceeded", _conclude_silence),
}
_FAILURE_TYPES: Final = tuple(_FAILURES)


def _conclude_refusal(attempt: Attempt, leg: Leg, response: ReplicaResponse) -> Exception:
    """Record a response that is no translation; return the error to raise."""
    url, pair = attempt.selection.url, attempt.selection.pair
    refusal = classify(pair, response.status, response.problem, response.retry_after, leg.call.deadline)
    if refusal.outcome is AttemptOutcome.FAILED:
        level = logging.ERROR if response.status in UNTRUSTED else logging.WARNING
        code = response.problem.code if response.problem is not None else None
        log.log(level, "replica failed", extra={"replica": url, "status": response.status, "code": code})
    if refusal.outcome is AttemptOutcome.NONE:
        attempt.record_timeout()
    else:
        attempt.record_outcome(refusal.outcome, full_for=refusal.error.retry_after or RETRY_AFTER_SECONDS)
    return AttemptFailedError(refusal.error) if refusal.elsewhere else refusal.error


def _headers(call: TranslationCall) -> dict[str, str]:
    """Return what a replica learns of the call beside its texts."""
    return {REQUEST_ID_HEADER: call.request_id, PRIORITY_HEADER: call.priority, CALLER_HEADER: call.caller.tag}


def _outcome_label(response: ReplicaResponse) -> str:
    """Name a response's outcome for metrics.

    Labels are bounded whatever a replica writes.
    """
    if response.status == HTTPStatus.OK:
        return "ok"
    if response.problem is not None:
        return response.problem.code if response.problem.code in CODES else "other"
    return str(response.status)
