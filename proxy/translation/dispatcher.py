"""One request's journey: detect, look up its pairs, group, forward, and put the answers together."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from proxy.admission.controller import AdmissionController
from proxy.call import TranslationCall
from proxy.fleet.registry import Registry
from proxy.metrics import ProxyMetrics
from proxy.routing.language_detector import LanguageDetector
from proxy.routing.pivots import Pivots
from proxy.routing.routes import Route, find_route, known_pairs
from proxy.routing.visible_text import INLINE_CHARS, words
from proxy.translation.pivot import PivotTranslator
from proxy.translation.results import read_results
from proxy.upstream.response_classifier import RETRY_AFTER_SECONDS
from shared.languages import LanguagePair, closeness
from shared.protocol.errors import PairUnavailableError, RelayedError, UnknownPairError
from shared.protocol.messages import AUTO, Detected, TextFormat, TranslateRequest, Translation, same_language, unchanged
from shared.protocol.sse import OnDelta


class Dispatcher:
    """Sends each request where its pair is served; holds no state of its own."""

    def __init__(
        self,
        registry: Registry,
        carrier: PivotTranslator,
        detector: LanguageDetector,
        metrics: ProxyMetrics,
        pivots: Pivots | None,
        admission: AdmissionController,
    ) -> None:
        """Take the parts; without ``pivots`` every route is direct."""
        self._registry = registry
        self._carrier = carrier
        self._pivots = pivots
        self._detector = detector
        self._metrics = metrics
        self._admission = admission

    async def translate(self, call: TranslationCall) -> bytes:
        """Return the answer's JSON: a replica's own bytes where one serves it all, else put together.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        request, measured, on_delta = call.request, call.measured, call.on_delta
        if request.source_lang != AUTO:
            call.caller.check(LanguagePair(request.source_lang, request.target_lang))
        if not self._registry.snapshot.ready:  # which pairs there are is not known yet: none may be called unknown
            asked = f"{request.source_lang}-{request.target_lang}"
            raise PairUnavailableError(asked, "no API server has reported yet", retry_after=RETRY_AFTER_SECONDS)
        if request.source_lang == AUTO:
            return await self._translate_detected(call)
        wanted = LanguagePair(request.source_lang, request.target_lang)
        known = self._known(wanted)
        if known is None and closeness(wanted.target, wanted.source) is not None:
            # Nothing to do: en into en-GB, unless somebody hosts a model for just that.
            same = [same_language(text, wanted.source, wanted.target) for text in request.texts]
            return _at_once(request, dict(enumerate(same)), on_delta)
        # Markup and what is longer are sent on unseen: the replica knows identity too (of markup, exactly), and the
        # event loop has no time to look.
        seen = known is not None and request.format is TextFormat.TEXT and request.chars <= INLINE_CHARS
        if known is not None and seen and all(words(text, request.format) is None for text in request.texts):
            measured.pair = str(known)
            self._metrics.texts_of(measured.pair).inc(len(request.texts))
            same = [unchanged(text, known.source, known.target) for text in request.texts]
            return _at_once(request, dict(enumerate(same)), on_delta)
        measured.pair = "other" if known is None else str(known)
        route = self._route(wanted, request)
        measured.pair = route.name
        self._metrics.texts_of(measured.pair).inc(len(request.texts))
        with self._admission.admitted([(call, leg) for leg in route.legs], self._registry.snapshot):
            return await self._carrier.translate(wanted, route, call)

    def _known(self, wanted: LanguagePair) -> LanguagePair | None:
        """Return the known pair closest to the wanted one, None where only a pivot could lead there."""
        snapshot = self._registry.snapshot
        if wanted in snapshot.ready:  # nearly always
            return wanted
        try:
            return known_pairs(wanted, snapshot)[0]
        except UnknownPairError:
            return None

    def _route(self, wanted: LanguagePair, request: TranslateRequest) -> Route:
        return find_route(wanted, self._registry.snapshot, self._pivots if request.pivot else None)

    async def _translate_detected(self, call: TranslationCall) -> bytes:
        """Detect and route each text alone; texts of one language travel together."""
        request, measured, on_delta = call.request, call.measured, call.on_delta
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
        for pair in wanted.values():
            call.caller.check(pair)
        routes = {lang: self._route(pair, request) for lang, pair in wanted.items()}
        names = [route.name for route in routes.values()]
        measured.pair = names[0] if len(names) == 1 else ("mixed" if names else "none")
        for name, indices in zip(names, groups.values(), strict=True):
            self._metrics.texts_of(name).inc(len(indices))
        calls = {
            lang: call.asking(_part(request, indices), on_delta and _renumbered(on_delta, indices))
            for lang, indices in groups.items()
        }
        legs = [(calls[lang], leg) for lang, route in routes.items() for leg in route.legs]
        with self._admission.admitted(legs, self._registry.snapshot):
            _tell(results, on_delta)
            sent = await self._translate_groups(wanted, routes, calls)
        for lang, indices in groups.items():
            for index, result in zip(indices, sent[lang], strict=True):
                results[index] = result.model_copy(update={"detected": found[index]})
        return request.answer([results[index] for index in range(len(request.texts))])

    async def _translate_groups(
        self, wanted: dict[str, LanguagePair], routes: dict[str, Route], calls: dict[str, TranslationCall]
    ) -> dict[str, Sequence[Translation]]:
        try:
            async with asyncio.TaskGroup() as tasks:
                sent = {
                    lang: tasks.create_task(self._translate_group(wanted[lang], routes[lang], each))
                    for lang, each in calls.items()
                }
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return {lang: task.result() for lang, task in sent.items()}

    async def _translate_group(
        self, wanted: LanguagePair, route: Route, call: TranslationCall
    ) -> Sequence[Translation]:
        try:
            body = await self._carrier.translate(wanted, route, call)
        except RelayedError as error:
            if not isinstance(call.request.text, str):
                error.detail = f"{error.detail} (Counted among the texts detected as {wanted.source}.)"
            raise
        return read_results(call.request, body)


def _renumbered(on_delta: OnDelta, indices: Sequence[int]) -> OnDelta:
    """Return where a group's deltas go: to the texts' indices in the client's request."""
    return lambda index, text: on_delta(indices[index], text)


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
