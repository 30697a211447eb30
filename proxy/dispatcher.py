"""One request's journey: detect, route, pick, send, classify, and try another replica while the Deadline allows."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import ValidationError
from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy import balancer
from proxy.client import OK, BrokenAnswerError, SilentError, UnreachableError
from proxy.routing import find_route, known_pairs
from shared.errors import OverloadedError, PairUnavailableError, PairwayError, RelayedError, ReplicaFailedError
from shared.languages import LanguagePair, closeness
from shared.wire import AUTO, Detected, Notice, TranslateRequest, Translation, Translations

if TYPE_CHECKING:
    from random import Random

    from proxy.client import Answer, ReplicaClient
    from proxy.detector import Detector
    from proxy.evidence import LocalEvidence
    from proxy.registry import Registry
    from shared.deadline import Deadline
    from shared.telemetry import Measured, ProxyMetrics

log = logging.getLogger(__name__)
M = TypeVar("M", Translation, Translations)

# A replica's problems that hold for the client whoever answers; every other refusal is worth another replica.
FINAL_CODES: Final = frozenset({"bad-request", "invalid-request", "too-large", "unusable-output", "deadline-exceeded"})
# What a replica that is full or lost the pair asks us to wait, when it does not say.
RETRY_AFTER_SECONDS: Final = 1.0


class _AttemptFailedError(Exception):
    """One replica could not serve the request; another may. ``error`` is what to say if none can."""

    def __init__(self, error: PairwayError) -> None:
        super().__init__(error.detail)
        self.error = error


@dataclass(frozen=True, slots=True)
class _Errand:
    """What is sent to one replica: texts of one pair."""

    wanted: LanguagePair
    text: str | list[str]

    @property
    def size(self) -> int:
        return 1 if isinstance(self.text, str) else len(self.text)


class Dispatcher:
    """Sends each request where its pair is served; holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        client: ReplicaClient,
        evidence: LocalEvidence,
        detector: Detector,
        metrics: ProxyMetrics,
        rng: Random,
        max_attempts: int,
    ) -> None:
        """Take the parts."""
        self._registry = registry
        self._client = client
        self._evidence = evidence
        self._detector = detector
        self._metrics = metrics
        self._rng = rng
        self._max_attempts = max_attempts

    async def translate(
        self, request: TranslateRequest, deadline: Deadline, request_id: str, measured: Measured
    ) -> bytes | dict[str, Any]:
        """Return the answer's JSON: a replica's own bytes where one serves it all, else an object put together.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        if not self._registry.swept:  # which pairs there are is not known yet, so none may be called unknown
            asked = f"{request.source_lang}-{request.target_lang}"
            raise PairUnavailableError(asked, "this proxy has just started", retry_after=RETRY_AFTER_SECONDS)
        if request.source_lang == AUTO:
            return await self._translate_detected(request, deadline, request_id, measured)
        wanted = LanguagePair(request.source_lang, request.target_lang)
        pair = known_pairs(wanted, self._registry.snapshot)[0]
        measured.pair = str(pair)
        self._metrics.texts.labels(measured.pair).inc(len(request.texts))
        if all(not text.strip() for text in request.texts):
            return _shaped(request, [_unchanged(text, pair.source, pair.target) for text in request.texts])
        return await self._send(_Errand(wanted, request.text), deadline, request_id)

    async def _translate_detected(
        self, request: TranslateRequest, deadline: Deadline, request_id: str, measured: Measured
    ) -> dict[str, Any]:
        """Detect and route each text alone; texts of one language travel together."""
        results: dict[int, Translation] = {}
        groups: dict[str, list[int]] = defaultdict(list)
        found: dict[int, Detected] = {}
        served = self._registry.snapshot.source_languages
        single = isinstance(request.text, str)
        for index, text in enumerate(request.texts):
            if not text.strip():
                results[index] = _unchanged(text, None, request.target_lang)
                continue
            detected = self._detector.detect(text, served, "text" if single else f"text[{index}]")
            self._metrics.detected.labels(detected.lang).inc()
            if closeness(request.target_lang, detected.lang) is not None:
                notice = Notice(code="same-language", message="The text is in the target language already.")
                results[index] = _unchanged(text, detected.lang, request.target_lang, detected, notice)
                continue
            found[index] = detected
            groups[detected.lang].append(index)
        # Every pair is looked up before anything is sent: all or nothing, and nothing computed in vain.
        wanted = {lang: LanguagePair(lang, request.target_lang) for lang in groups}
        pairs = [find_route(pair, self._registry.snapshot).pair for pair in wanted.values()]
        measured.pair = str(pairs[0]) if len(pairs) == 1 else ("mixed" if pairs else "none")
        for pair, indices in zip(pairs, groups.values(), strict=True):
            self._metrics.texts.labels(str(pair)).inc(len(indices))
        try:
            async with asyncio.TaskGroup() as tasks:
                sent = {
                    lang: tasks.create_task(self._translate_group(request, wanted[lang], indices, deadline, request_id))
                    for lang, indices in groups.items()
                }
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for lang, indices in groups.items():
            for index, result in zip(indices, sent[lang].result(), strict=True):
                results[index] = result.model_copy(update={"detected": found[index]})
        return _shaped(request, [results[index] for index in range(len(request.texts))])

    async def _translate_group(
        self, request: TranslateRequest, wanted: LanguagePair, indices: list[int], deadline: Deadline, request_id: str
    ) -> list[Translation]:
        if isinstance(request.text, str):
            body = await self._send(_Errand(wanted, request.text), deadline, request_id)
            return [_parsed(Translation, body)]
        texts = [request.text[index] for index in indices]
        try:
            body = await self._send(_Errand(wanted, texts), deadline, request_id)
        except RelayedError as error:
            error.detail = f"{error.detail} (Counted among the texts detected as {wanted.source}.)"
            raise
        results = _parsed(Translations, body).results
        if len(results) != len(indices):
            message = f"A replica answered {len(indices)} texts with {len(results)} translations."
            raise ReplicaFailedError(message)
        return results

    async def _send(self, errand: _Errand, deadline: Deadline, request_id: str) -> bytes:
        """Return the body of the first replica that serves the errand; a failed one is not asked twice."""
        body = (
            TranslateRequest(text=errand.text, source_lang=errand.wanted.source, target_lang=errand.wanted.target)
            .model_dump_json()
            .encode()
        )
        failed: dict[str, PairwayError] = {}
        try:
            return await self._attempt(errand, body, failed, deadline, request_id)
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
                    return await self._attempt(errand, body, failed, deadline, request_id)
        except _AttemptFailedError:
            pass
        raise _most_telling(failed)

    async def _attempt(
        self, errand: _Errand, body: bytes, failed: dict[str, PairwayError], deadline: Deadline, request_id: str
    ) -> bytes:
        """Send to the best replica that has not ``failed`` yet, and add it to those when it does."""
        snapshot = self._registry.snapshot
        try:
            route = find_route(errand.wanted, snapshot)
        except PairUnavailableError:
            if failed:
                raise _most_telling(failed) from None
            raise
        urls = [url for url in self._evidence.reachable(route.urls, snapshot) if url not in failed]
        if not urls:
            raise _most_telling(failed) if failed else unavailable_because_unreachable(route.pair)
        if deadline.remaining() <= 0:
            raise deadline.exceeded()
        url = balancer.least_loaded(urls, lambda each: self._evidence.load(each, snapshot), self._rng)
        if failed:
            self._metrics.retries.labels(str(route.pair)).inc()
        with self._evidence.in_flight(url, errand.size):
            try:
                return await self._exchange(url, route.pair, body, deadline, request_id)
            except _AttemptFailedError as failure:
                failed[url] = failure.error
                raise

    async def _exchange(self, url: str, pair: LanguagePair, body: bytes, deadline: Deadline, request_id: str) -> bytes:
        outcome = "client-gone"
        try:
            answer = await self._client.translate(url, body, deadline, request_id)
            outcome = "ok" if answer.status == OK else (answer.problem.code if answer.problem else str(answer.status))
        except UnreachableError as error:
            outcome = "unreachable"
            snapshot = self._registry.snapshot
            self._evidence.note_unreachable(url, snapshot)
            log.warning("replica unreachable", extra={"replica": url, "error": str(error)})
            raise _AttemptFailedError(unavailable_because_unreachable(pair)) from error
        except BrokenAnswerError as error:
            outcome = "broken-answer"
            log.warning("replica broke off", extra={"replica": url, "error": str(error)})
            message = "A replica broke off its answer, and no other could take over."
            raise _AttemptFailedError(ReplicaFailedError(message)) from error
        except SilentError as error:
            outcome = "deadline-exceeded"
            raise deadline.exceeded() from error
        finally:
            self._metrics.attempts.labels(url, outcome).inc()
        if answer.status == OK:
            return answer.body
        raise _classified(url, pair, answer)


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


def _parsed(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        message = "A replica's answer can not be read."
        raise ReplicaFailedError(message) from error


def _unchanged(
    text: str, source: str | None, target: str, detected: Detected | None = None, *warnings: Notice
) -> Translation:
    """Return a text as it came: blank, or in the target language already."""
    route = [source, target] if source is not None else [target]
    return Translation(
        translation=text,
        source_lang=source,
        target_lang=target,
        model=None,
        route=route,
        detected=detected,
        warnings=list(warnings),
    )


def _shaped(request: TranslateRequest, results: list[Translation]) -> dict[str, Any]:
    """Answer one text with one object, a list with a list."""
    if isinstance(request.text, str):
        return results[0].to_json()
    return {"results": [result.to_json() for result in results]}
