"""One request's journey: detect, look up its pairs, group, forward, and put the answers together."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from proxy.forwarder import RETRY_AFTER_SECONDS, Errand
from proxy.routing import find_route, known_pairs
from shared.errors import PairUnavailableError, RelayedError, ReplicaFailedError, UnknownPairError
from shared.languages import LanguagePair, closeness
from shared.wire import AUTO, Detected, Notice, TranslateRequest, Translation, Translations

if TYPE_CHECKING:
    from proxy.detector import Detector
    from proxy.forwarder import Forwarder
    from proxy.registry import Registry
    from shared.deadline import Deadline
    from shared.telemetry import Measured, ProxyMetrics

M = TypeVar("M", Translation, Translations)


class Dispatcher:
    """Sends each request where its pair is served; holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        forwarder: Forwarder,
        detector: Detector,
        metrics: ProxyMetrics,
    ) -> None:
        """Take the parts."""
        self._registry = registry
        self._forwarder = forwarder
        self._detector = detector
        self._metrics = metrics

    async def translate(
        self, request: TranslateRequest, deadline: Deadline, request_id: str, measured: Measured
    ) -> bytes | dict[str, Any]:
        """Return the answer's JSON: a replica's own bytes where one serves it all, else an object put together.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        if not self._registry.snapshot.ready:  # which pairs there are is not known yet: none may be called unknown
            asked = f"{request.source_lang}-{request.target_lang}"
            raise PairUnavailableError(asked, "no API server has reported yet", retry_after=RETRY_AFTER_SECONDS)
        if request.source_lang == AUTO:
            return await self._translate_detected(request, deadline, request_id, measured)
        wanted = LanguagePair(request.source_lang, request.target_lang)
        try:
            pair = known_pairs(wanted, self._registry.snapshot)[0]
        except UnknownPairError:
            if closeness(wanted.target, wanted.source) is None:
                raise
            # Nothing to do: en into en-GB, unless somebody hosts a model for just that.
            return _shaped(request, [_same_language(text, wanted.source, wanted.target) for text in request.texts])
        measured.pair = str(pair)
        self._metrics.texts.labels(measured.pair).inc(len(request.texts))
        if all(not text.strip() for text in request.texts):
            return _shaped(request, [_unchanged(text, pair.source, pair.target) for text in request.texts])
        return await self._forwarder.send(Errand(wanted, request.text, measured), deadline, request_id)

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
                results[index] = _same_language(text, detected.lang, request.target_lang, detected)
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
                    lang: tasks.create_task(
                        self._translate_group(request, wanted[lang], indices, deadline, request_id, measured)
                    )
                    for lang, indices in groups.items()
                }
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for lang, indices in groups.items():
            for index, result in zip(indices, sent[lang].result(), strict=True):
                results[index] = result.model_copy(update={"detected": found[index]})
        return _shaped(request, [results[index] for index in range(len(request.texts))])

    async def _translate_group(
        self,
        request: TranslateRequest,
        wanted: LanguagePair,
        indices: list[int],
        deadline: Deadline,
        request_id: str,
        measured: Measured,
    ) -> list[Translation]:
        if isinstance(request.text, str):
            body = await self._forwarder.send(Errand(wanted, request.text, measured), deadline, request_id)
            return [_parsed(Translation, body)]
        texts = [request.text[index] for index in indices]
        try:
            body = await self._forwarder.send(Errand(wanted, texts, measured), deadline, request_id)
        except RelayedError as error:
            error.detail = f"{error.detail} (Counted among the texts detected as {wanted.source}.)"
            raise
        results = _parsed(Translations, body).results
        if len(results) != len(indices):
            message = f"A replica answered {len(indices)} texts with {len(results)} translations."
            raise ReplicaFailedError(message)
        return results


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


def _same_language(text: str, source: str, target: str, detected: Detected | None = None) -> Translation:
    notice = Notice(code="same-language", message="The text is in the target language already.")
    return _unchanged(text, source, target, detected, notice)


def _shaped(request: TranslateRequest, results: list[Translation]) -> dict[str, Any]:
    """Answer one text with one object, a list with a list."""
    if isinstance(request.text, str):
        return results[0].to_json()
    return {"results": [result.to_json() for result in results]}
