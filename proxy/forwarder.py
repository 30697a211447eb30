"""One errand's way: pick a replica, send, classify, and try another while the Deadline allows."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy import balancer
from proxy.client import OK, BrokenAnswerError, SilentError, UnreachableError
from proxy.routing import find_route
from shared.errors import OverloadedError, PairUnavailableError, PairwayError, RelayedError, ReplicaFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from proxy.client import Answer, ReplicaClient
    from proxy.evidence import LocalEvidence
    from proxy.registry import Registry
    from shared.deadline import Deadline
    from shared.events import OnDelta
    from shared.languages import LanguagePair
    from shared.telemetry import Measured, ProxyMetrics
    from shared.wire import TranslateRequest

log = logging.getLogger(__name__)

# A replica's problems that hold for the client whoever answers; every other refusal is worth another replica.
FINAL_CODES: Final = frozenset({"bad-request", "invalid-request", "too-large", "unusable-output"})
# What a replica that is full or lost the pair asks us to wait, when it does not say.
RETRY_AFTER_SECONDS: Final = 1.0


class _AttemptFailedError(Exception):
    """One replica could not serve the request; another may. ``error`` is what to say if none can."""

    def __init__(self, error: PairwayError) -> None:
        super().__init__(error.detail)
        self.error = error


class Relay:
    """Passes a replica's deltas on to the client; once one was, no other replica can take over: ``begun``."""

    def __init__(self, on_delta: OnDelta, indices: Sequence[int]) -> None:
        """Take whom to tell, and the index in the client's request of each of the replica's texts."""
        self._on_delta = on_delta
        self._indices = indices
        self.begun = False

    def __call__(self, index: int, text: str) -> None:
        """Pass one on.

        Raises:
            BrokenAnswerError: the replica was sent no such text.
        """
        if not 0 <= index < len(self._indices):
            raise BrokenAnswerError(f"a delta of text {index} of {len(self._indices)}")
        if text:
            self.begun = True
            self._on_delta(self._indices[index], text)


@dataclass(frozen=True, slots=True)
class Errand:
    """What is sent to one replica: texts of one pair, as the client wants them; ``relay`` where it wants a stream."""

    wanted: LanguagePair
    request: TranslateRequest
    measured: Measured
    relay: Relay | None

    @property
    def begun(self) -> bool:
        """Whether a part of a replica's answer is on its way to the client."""
        return self.relay is not None and self.relay.begun

    def body_for(self, pair: LanguagePair) -> bytes:
        """Return the request to a replica; it names the pair that the route chose, not what the client wrote."""
        languages = {"source_lang": pair.source, "target_lang": pair.target}
        return self.request.model_copy(update=languages).model_dump_json(exclude_defaults=True).encode()


class Forwarder:
    """Sends errands to replicas; holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        client: ReplicaClient,
        evidence: LocalEvidence,
        metrics: ProxyMetrics,
        rng: Random,
        max_attempts: int,
    ) -> None:
        """Take the parts; ``max_attempts`` replicas are tried for one errand."""
        self._registry = registry
        self._client = client
        self._evidence = evidence
        self._metrics = metrics
        self._rng = rng
        self._max_attempts = max_attempts

    async def send(self, errand: Errand, deadline: Deadline, request_id: str) -> bytes:
        """Return the body of the first replica that serves the errand; a failed one is not asked twice.

        Raises:
            PairwayError: none could, or one broke off what the relay had begun; the error says why.
        """
        failed: dict[str, PairwayError] = {}
        try:
            return await self._attempt(errand, failed, deadline, request_id)
        except _AttemptFailedError:
            if self._max_attempts == 1:
                raise _most_telling(failed) from None
        try:
            async for attempt in AsyncRetrying(
                stop=stop_after_attempt(self._max_attempts - 1),
                retry=retry_if_exception_type(_AttemptFailedError),
                reraise=True,
            ):
                with attempt:
                    return await self._attempt(errand, failed, deadline, request_id)
        except _AttemptFailedError:
            pass
        raise _most_telling(failed)

    async def _attempt(
        self, errand: Errand, failed: dict[str, PairwayError], deadline: Deadline, request_id: str
    ) -> bytes:
        """Send to the best replica that has not ``failed`` yet, and add it to those when it does."""
        snapshot = self._registry.snapshot
        try:
            route = find_route(errand.wanted, snapshot)
        except PairUnavailableError:
            if failed:
                raise _most_telling(failed) from None
            raise
        untried = [url for url in route.urls if url not in failed]
        if not untried:
            raise _most_telling(failed)
        # When nothing seems reachable, our own evidence is what to doubt: a machine that stalls misses connections.
        urls = self._evidence.reachable(untried, snapshot) or untried
        if deadline.remaining() <= 0:
            raise deadline.exceeded()
        url = balancer.least_loaded(urls, lambda each: self._evidence.load(each, snapshot), self._rng)
        if failed:
            self._metrics.retries.labels(str(route.pair)).inc()
        try:
            return await self._exchange(url, errand, route.pair, deadline, request_id, first=not failed)
        except _AttemptFailedError as failure:
            failed[url] = failure.error
            if errand.begun:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent on.") from failure
            raise

    async def _exchange(
        self, url: str, errand: Errand, pair: LanguagePair, deadline: Deadline, request_id: str, *, first: bool
    ) -> bytes:
        """Send to one replica. Only a ``first`` attempt is given up for a lost replica: what took two down stays there."""
        errand.measured.replicas.append(url)
        body = errand.body_for(pair)
        outcome = "client-gone"
        try:
            async with asyncio.timeout(None) as patience:
                lost = partial(self._give_up, patience, url, errand) if first else _wait_on
                with self._evidence.in_flight(url, len(errand.request.texts), lost):
                    answer = await self._client.translate(url, body, deadline, request_id, errand.relay)
            outcome = "ok" if answer.status == OK else (answer.problem.code if answer.problem else str(answer.status))
        except UnreachableError as error:
            outcome = "unreachable"
            snapshot = self._registry.snapshot
            if self._evidence.note_unreachable(url, snapshot):
                log.warning("replica unreachable", extra={"replica": url, "error": str(error)})
            raise _AttemptFailedError(unavailable_because_unreachable(pair)) from error
        except BrokenAnswerError as error:
            outcome = "broken-answer"
            log.warning("replica broke off", extra={"replica": url, "error": str(error)})
            message = "A replica broke off its answer, and no other could take over."
            raise _AttemptFailedError(ReplicaFailedError(message)) from error
        except TimeoutError as error:
            outcome = "replica-lost"
            log.warning("replica lost with a request in hand", extra={"replica": url})
            message = "A replica was lost with the request in hand, and no other could take over."
            raise _AttemptFailedError(ReplicaFailedError(message)) from error
        except SilentError as error:
            outcome = "deadline-exceeded"
            raise deadline.exceeded() from error
        finally:
            self._metrics.attempts.labels(url, outcome).inc()
        if answer.status == OK:
            return answer.body
        if answer.problem is not None and answer.problem.code == "deadline-exceeded":
            raise deadline.exceeded()
        raise _classified(url, pair, answer)

    def _give_up(self, patience: asyncio.Timeout, url: str, errand: Errand) -> None:
        """End the wait for a replica that is DOWN, if another can take over; else it may still answer."""
        if errand.begun:
            return
        snapshot = self._registry.snapshot
        try:
            others = [each for each in find_route(errand.wanted, snapshot).urls if each != url]
        except PairwayError:
            return
        if self._evidence.reachable(others, snapshot) and not patience.expired():
            patience.reschedule(asyncio.get_running_loop().time())


def _wait_on() -> None:
    """Do nothing about a lost replica: the Deadline bounds the wait."""


def _most_telling(failed: dict[str, PairwayError]) -> PairwayError:
    """Return what to say when no replica could: one that is full or gone may be back soon, one that fails may not."""
    kinds = (OverloadedError, PairUnavailableError)
    return min(
        failed.values(), key=lambda error: next((n for n, kind in enumerate(kinds) if isinstance(error, kind)), 2)
    )


def unavailable_because_unreachable(pair: LanguagePair) -> PairUnavailableError:
    """Return the error for a pair whose replicas refuse connections before the next sweep has seen it."""
    return PairUnavailableError(str(pair), "its replicas can not be reached", retry_after=RETRY_AFTER_SECONDS)


def _classified(url: str, pair: LanguagePair, answer: Answer) -> Exception:
    """Turn a replica's refusal into what it means here, by the problem's code rather than the status alone."""
    problem = answer.problem
    if problem is None:
        log.warning("replica answered strangely", extra={"replica": url, "status": answer.status})
        return _AttemptFailedError(ReplicaFailedError(f"A replica answered {answer.status} without a reason."))
    wait = answer.retry_after or RETRY_AFTER_SECONDS
    if problem.code in FINAL_CODES:
        return RelayedError(
            code=problem.code,
            http_status=answer.status,
            title=problem.title,
            detail=problem.detail,
            facts=problem.model_extra or {},
        )
    match problem.code:
        case "overloaded":
            return _AttemptFailedError(OverloadedError("Every replica for this pair is full.", retry_after=wait))
        case "unknown-pair" | "pair-unavailable":
            why = "the replicas that served it are not ready for it any more"
            return _AttemptFailedError(PairUnavailableError(str(pair), why, retry_after=wait))
        case _:
            log.warning("replica failed", extra={"replica": url, "status": answer.status, "code": problem.code})
            return _AttemptFailedError(ReplicaFailedError(f"A replica answered {problem.code}."))
