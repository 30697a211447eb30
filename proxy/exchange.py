"""Exchange: one request to one replica, and what its answer or silence says."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from proxy.client import BrokenAnswerError, SilentError, UnreachableError
from proxy.errand import AttemptFailedError
from proxy.hedge import Patience, Reason
from proxy.outcome import OK, RETRY_AFTER_SECONDS, UNTRUSTED, Verdict, refusal
from shared.caller import CALLER_HEADER
from shared.codes import CODES
from shared.errors import PairUnavailableError, ReplicaFailedError
from shared.priority import PRIORITY_HEADER
from shared.request_id import REQUEST_ID_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.attempt import Attempt, Choice
    from proxy.client import Answer, ReplicaClient
    from proxy.errand import Errand, Journey
    from proxy.evidence import LocalEvidence
    from proxy.metrics import ProxyMetrics
    from shared.languages import LanguagePair

log = logging.getLogger(__name__)


class BeatenError(Exception):
    """A hedge was answered first."""


class Exchange:
    """Sends, and maps what comes back; holds no state of its own."""

    def __init__(self, client: ReplicaClient, evidence: LocalEvidence, metrics: ProxyMetrics) -> None:
        """Take the parts."""
        self._client = client
        self._evidence = evidence
        self._metrics = metrics

    async def send(self, choice: Choice, journey: Journey, patience: Patience, lost: Callable[[], None]) -> bytes:
        """Return the body of the replica's translation.

        Raises:
            AttemptFailedError: it did not serve the errand, another may.
            BeatenError: the wait was ended because a hedge was answered.
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
                    attempt.says(Verdict.FAILED)
                    log.warning("replica broke off", extra={"replica": choice.url, "error": str(error)})
                    message = "A replica broke off its answer, and no other could take over."
                    raise AttemptFailedError(ReplicaFailedError(message)) from error
                except TimeoutError as error:
                    if patience.ended is Reason.BEATEN:
                        attempt.outcome = "beaten"
                        attempt.beaten()
                        raise BeatenError from error
                    attempt.outcome = "replica-lost"
                    attempt.says(Verdict.FAILED)
                    log.warning("replica lost with a request in hand", extra={"replica": choice.url})
                    message = "A replica was lost with the request in hand, and no other could take over."
                    raise AttemptFailedError(ReplicaFailedError(message)) from error
                except SilentError as error:
                    attempt.outcome = "deadline-exceeded"
                    attempt.expires()
                    raise journey.deadline.exceeded() from error
                attempt.outcome = _outcome(answer)
                if answer.status == OK:
                    attempt.says(Verdict.GOOD)
                    return answer.body
                raise self._refused(attempt, journey, pair, answer)
        finally:
            self._metrics.attempts_of(choice.url, attempt.outcome).inc()

    @staticmethod
    def _unreachable(
        attempt: Attempt, journey: Journey, pair: LanguagePair, error: UnreachableError
    ) -> AttemptFailedError:
        if not attempt.own.is_out:  # else it is no news
            log.warning("replica unreachable", extra={"replica": attempt.choice.url, "error": str(error)})
        attempt.says(Verdict.FAILED, unreachable=True)
        journey.unreached += 1
        why = "its replicas can not be reached"
        return AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=RETRY_AFTER_SECONDS))

    @staticmethod
    def _refused(attempt: Attempt, journey: Journey, pair: LanguagePair, answer: Answer) -> Exception:
        found = refusal(pair, answer.status, answer.problem, answer.retry_after, journey.deadline)
        url = attempt.choice.url
        if found.verdict is Verdict.FAILED:
            level = logging.ERROR if answer.status in UNTRUSTED else logging.WARNING
            code = answer.problem.code if answer.problem is not None else None
            log.log(level, "replica failed", extra={"replica": url, "status": answer.status, "code": code})
        if found.verdict is Verdict.NONE:
            attempt.expires()
        else:
            attempt.says(found.verdict, full_for=found.error.retry_after or RETRY_AFTER_SECONDS)
        return AttemptFailedError(found.error) if found.elsewhere else found.error


def _headers(errand: Errand) -> dict[str, str]:
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
