"""Exchange: one request to one replica, and what its answer or silence says."""

from __future__ import annotations

import logging
from collections.abc import Callable

from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.local_stats import LocalStats
from proxy.forwarding.forward_request import AttemptFailedError, AttemptHistory, ForwardRequest
from proxy.forwarding.hedge import CancellableWait, HedgeReason
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import Answer, ReplicaClient
from proxy.upstream.errors import BrokenAnswerError, SilentError, UnreachableError
from proxy.upstream.response_classifier import OK, RETRY_AFTER_SECONDS, UNTRUSTED, AttemptOutcome, classify
from shared.languages import LanguagePair
from shared.protocol.error_codes import CODES
from shared.protocol.errors import PairUnavailableError, ReplicaFailedError
from shared.protocol.headers import CALLER_HEADER, REQUEST_ID_HEADER
from shared.protocol.priority import PRIORITY_HEADER

log = logging.getLogger(__name__)


class HedgeWonError(Exception):
    """A hedge was answered first."""


class UpstreamRequest:
    """Sends, and maps what comes back; holds no state of its own."""

    def __init__(self, client: ReplicaClient, evidence: LocalStats, metrics: ProxyMetrics) -> None:
        """Take the parts."""
        self._client = client
        self._evidence = evidence
        self._metrics = metrics

    async def send(
        self, choice: Selection, journey: AttemptHistory, patience: CancellableWait, lost: Callable[[], None]
    ) -> bytes:
        """Return the body of the replica's translation.

        Raises:
            AttemptFailedError: it did not serve the errand, another may.
            HedgeWonError: the wait was ended because a hedge was answered.
            PairwayError: what holds for the client whoever answers.
        """
        errand, pair = journey.errand, choice.pair
        errand.call.measured.replicas.append(choice.url)
        body = errand.body_for(pair)
        attempt = self._evidence.attempt(choice, errand.freight, lost)
        try:
            with attempt:
                try:
                    async with patience:
                        answer = await self._client.translate(
                            choice.url, body, journey.deadline, _headers(errand), attempt.relayed(errand.relay)
                        )
                except UnreachableError as error:
                    attempt.outcome = "unreachable"
                    raise self._unreachable(attempt, journey, pair, error) from error
                except BrokenAnswerError as error:
                    attempt.outcome = "broken-answer"
                    attempt.says(AttemptOutcome.FAILED)
                    log.warning("replica broke off", extra={"replica": choice.url, "error": str(error)})
                    message = "A replica broke off its answer, and no other could take over."
                    raise AttemptFailedError(ReplicaFailedError(message)) from error
                except TimeoutError as error:
                    if patience.ended is HedgeReason.BEATEN:
                        attempt.outcome = "beaten"
                        attempt.beaten()
                        raise HedgeWonError from error
                    attempt.outcome = "replica-lost"
                    attempt.says(AttemptOutcome.FAILED)
                    log.warning("replica lost with a request in hand", extra={"replica": choice.url})
                    message = "A replica was lost with the request in hand, and no other could take over."
                    raise AttemptFailedError(ReplicaFailedError(message)) from error
                except SilentError as error:
                    attempt.outcome = "deadline-exceeded"
                    attempt.expires()
                    raise journey.deadline.exceeded() from error
                attempt.outcome = _outcome(answer)
                if answer.status == OK:
                    attempt.says(AttemptOutcome.GOOD)
                    return answer.body
                raise self._refused(attempt, journey, pair, answer)
        finally:
            self._metrics.attempts_of(choice.url, attempt.outcome).inc()

    @staticmethod
    def _unreachable(
        attempt: Attempt, journey: AttemptHistory, pair: LanguagePair, error: UnreachableError
    ) -> AttemptFailedError:
        if not attempt.own.is_out:  # else it is no news
            log.warning("replica unreachable", extra={"replica": attempt.choice.url, "error": str(error)})
        attempt.says(AttemptOutcome.FAILED, unreachable=True)
        journey.unreached += 1
        why = "its replicas can not be reached"
        return AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=RETRY_AFTER_SECONDS))

    @staticmethod
    def _refused(attempt: Attempt, journey: AttemptHistory, pair: LanguagePair, answer: Answer) -> Exception:
        found = classify(pair, answer.status, answer.problem, answer.retry_after, journey.deadline)
        url = attempt.choice.url
        if found.verdict is AttemptOutcome.FAILED:
            level = logging.ERROR if answer.status in UNTRUSTED else logging.WARNING
            code = answer.problem.code if answer.problem is not None else None
            log.log(level, "replica failed", extra={"replica": url, "status": answer.status, "code": code})
        if found.verdict is AttemptOutcome.NONE:
            attempt.expires()
        else:
            attempt.says(found.verdict, full_for=found.error.retry_after or RETRY_AFTER_SECONDS)
        return AttemptFailedError(found.error) if found.elsewhere else found.error


def _headers(errand: ForwardRequest) -> dict[str, str]:
    """Return what a replica is told of the call beside its texts."""
    call = errand.call
    return {REQUEST_ID_HEADER: call.request_id, PRIORITY_HEADER: call.priority, CALLER_HEADER: call.caller.tag}


def _outcome(answer: Answer) -> str:
    """Name an answer's end for metrics; labels are bounded whatever a replica writes."""
    if answer.status == OK:
        return "ok"
    if answer.problem is not None:
        return answer.problem.code if answer.problem.code in CODES else "other"
    return str(answer.status)
