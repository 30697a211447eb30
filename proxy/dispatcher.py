"""One request's journey: detect, look up its pairs, group, forward, and put the answers together."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from proxy.forwarder import RETRY_AFTER_SECONDS, Errand, Relay
from proxy.prose import INLINE_CHARS, words
from proxy.routing import find_route, known_pairs
from shared.errors import PairUnavailableError, RelayedError, ReplicaFailedError, UnknownPairError
from shared.languages import LanguagePair, closeness
from shared.untranslated import same_language, unchanged
from shared.wire import AUTO, Detected, TextFormat, TranslateRequest, Translation, Translations

if TYPE_CHECKING:
    from proxy.detector import Detector
    from proxy.forwarder import Forwarder
    from proxy.registry import Registry
    from shared.deadline import Deadline
    from shared.events import OnDelta
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
        self,
        request: TranslateRequest,
        deadline: Deadline,
        request_id: str,
        measured: Measured,
        on_delta: OnDelta | None = None,
    ) -> bytes:
        """Return the answer's JSON: a replica's own bytes where one serves it all, else put together.

        ``on_delta`` is told every part of each text's translation, by its index, as soon as it is final.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        if not self._registry.snapshot.ready:  # which pairs there are is not known yet: none may be called unknown
            asked = f"{request.source_lang}-{request.target_lang}"
            raise PairUnavailableError(asked, "no API server has reported yet", retry_after=RETRY_AFTER_SECONDS)
        if request.source_lang == AUTO:
            return await self._translate_detected(request, deadline, request_id, measured, on_delta)
        wanted = LanguagePair(request.source_lang, request.target_lang)
        try:
            pair = known_pairs(wanted, self._registry.snapshot)[0]
        except UnknownPairError:
            if closeness(wanted.target, wanted.source) is None:
                raise
            # Nothing to do: en into en-GB, unless somebody hosts a model for just that.
            same = [same_language(text, wanted.source, wanted.target) for text in request.texts]
            return _at_once(request, dict(enumerate(same)), on_delta)
        measured.pair = str(pair)
        self._metrics.texts.labels(measured.pair).inc(len(request.texts))
        # Markup and what is longer are sent on unseen: the replica knows identity too (of markup, exactly), and the
        # event loop has no time to look.
        seen = request.format is TextFormat.TEXT and request.chars <= INLINE_CHARS
        if seen and all(words(text, request.format) is None for text in request.texts):
            same = [unchanged(text, pair.source, pair.target) for text in request.texts]
            return _at_once(request, dict(enumerate(same)), on_delta)
        errand = Errand(wanted, request, measured, on_delta and Relay(on_delta, range(len(request.texts))))
        return await self._forwarder.send(errand, deadline, request_id)

    async def _translate_detected(
        self,
        request: TranslateRequest,
        deadline: Deadline,
        request_id: str,
        measured: Measured,
        on_delta: OnDelta | None,
    ) -> bytes:
        """Detect and route each text alone; texts of one language travel together."""
        results: dict[int, Translation] = {}
        groups: dict[str, list[int]] = defaultdict(list)
        found: dict[int, Detected] = {}
        for index, text in enumerate(request.texts):
            read = await _words(text, request.format)
            if read is None:
                results[index] = unchanged(text, None, request.target_lang)
                continue
            where = "text" if isinstance(request.text, str) else f"text[{index}]"
            # The target too, though nothing may be served from it: a text in it has nothing to be done.
            served = self._registry.snapshot.source_languages | {request.target_lang}
            detected = self._detector.detect(read, served, where)
            self._metrics.detected.labels(detected.lang).inc()
            if closeness(request.target_lang, detected.lang) is not None:
                results[index] = same_language(text, detected.lang, request.target_lang, detected)
                continue
            found[index] = detected
            groups[detected.lang].append(index)
        # Every pair is looked up before anything is sent: all or nothing, and nothing computed in vain.
        wanted = {lang: LanguagePair(lang, request.target_lang) for lang in groups}
        pairs = [find_route(pair, self._registry.snapshot).pair for pair in wanted.values()]
        measured.pair = str(pairs[0]) if len(pairs) == 1 else ("mixed" if pairs else "none")
        for pair, indices in zip(pairs, groups.values(), strict=True):
            self._metrics.texts.labels(str(pair)).inc(len(indices))
        _tell(results, on_delta)
        try:
            async with asyncio.TaskGroup() as tasks:
                sent = {
                    lang: tasks.create_task(
                        self._translate_group(
                            Errand(
                                wanted[lang], _part(request, indices), measured, on_delta and Relay(on_delta, indices)
                            ),
                            deadline,
                            request_id,
                        )
                    )
                    for lang, indices in groups.items()
                }
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        for lang, indices in groups.items():
            for index, result in zip(indices, sent[lang].result(), strict=True):
                results[index] = result.model_copy(update={"detected": found[index]})
        return request.answer([results[index] for index in range(len(request.texts))])

    async def _translate_group(self, errand: Errand, deadline: Deadline, request_id: str) -> list[Translation]:
        if isinstance(errand.request.text, str):
            return [_parsed(Translation, await self._forwarder.send(errand, deadline, request_id))]
        try:
            body = await self._forwarder.send(errand, deadline, request_id)
        except RelayedError as error:
            error.detail = f"{error.detail} (Counted among the texts detected as {errand.wanted.source}.)"
            raise
        results = _parsed(Translations, body).results
        if len(results) != len(errand.request.text):
            message = f"A replica answered {len(errand.request.text)} texts with {len(results)} translations."
            raise ReplicaFailedError(message)
        return results


async def _words(text: str, text_format: TextFormat) -> str | None:
    """Return what a reader reads, without keeping other requests waiting: in a thread, or else after their turn."""
    if len(text) > INLINE_CHARS:
        return await asyncio.to_thread(words, text, text_format)
    await asyncio.sleep(0)
    return words(text, text_format)


def _part(request: TranslateRequest, indices: list[int]) -> TranslateRequest:
    """Return the request for some of its texts; a single text stays one."""
    if isinstance(request.text, str):
        return request
    return request.model_copy(update={"text": [request.text[index] for index in indices]})


def _tell(results: dict[int, Translation], on_delta: OnDelta | None) -> None:
    """Tell translations that are whole from the first."""
    if on_delta is not None:
        for index, result in results.items():
            on_delta(index, result.translation or "")


def _at_once(request: TranslateRequest, results: dict[int, Translation], on_delta: OnDelta | None) -> bytes:
    """Answer a request for which nothing had to be sent."""
    _tell(results, on_delta)
    return request.answer(list(results.values()))


def _parsed(model: type[M], body: bytes) -> M:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        message = "A replica's answer can not be read."
        raise ReplicaFailedError(message) from error
