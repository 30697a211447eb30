"""Answers: a call's answer from the cache, from a flight under way, or from the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

from proxy.cache.coalescing import RequestCoalescer
from proxy.cache.translation_cache import CacheLookup, TranslationCache, encoded
from proxy.call import TranslationCall
from proxy.metrics import ProxyMetrics
from proxy.translation.dispatcher import Dispatcher
from proxy.translation.results import read_results
from shared.languages import LanguagePair
from shared.protocol.errors import RelayedError
from shared.protocol.messages import AUTO, TranslateRequest, Translation


class AnswerSource(StrEnum):
    """Where an answer comes from; the value of ``X-Cache``."""

    HIT = "hit"
    PARTIAL = "partial"
    MISS = "miss"
    COALESCED = "coalesced"


class TranslationService:
    """Holds no state of its own; without a cache only what is under way is shared."""

    def __init__(
        self, dispatcher: Dispatcher, flights: RequestCoalescer, cache: TranslationCache | None, metrics: ProxyMetrics
    ) -> None:
        """Take the parts."""
        self._dispatcher = dispatcher
        self._flights = flights
        self._cache = cache
        self._metrics = metrics

    async def translate(self, call: TranslationCall, told: Callable[[AnswerSource], None]) -> bytes:
        """Return the answer's JSON; say where it comes from before the first part of it is told, if there is a cache.

        Nothing of a caller who opted out is kept or shared, nor are they answered with anything of others.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        request, caller = call.request, call.caller
        detects = request.source_lang == AUTO
        if not detects:
            caller.check(LanguagePair(request.source_lang, request.target_lang))
        # Which pair it will be, and so whether their key is for it, only the dispatcher finds out.
        if not caller.cached or (detects and caller.pairs is not None):
            return await self._dispatcher.translate(call)
        recalled = None if self._cache is None else await self._cache.look_up(call.request)
        if recalled is not None and not recalled.missing:
            return self._answer_all(call, recalled, told)
        if call.on_delta is not None:
            return await self._stream(call, recalled, told)
        if recalled is not None and recalled.found:
            return await self._answer_some(call, recalled, told)
        self._count(recalled, 0)
        body, joined = await self._flights.share(call, partial(self._compute, recalled))
        self._note(call, told, AnswerSource.COALESCED if joined else AnswerSource.MISS, joined=joined)
        return body

    def _answer_all(self, call: TranslationCall, recalled: CacheLookup, told: Callable[[AnswerSource], None]) -> bytes:
        call.measured.pair = recalled.route.name
        self._count(recalled, len(recalled.keys))
        told(AnswerSource.HIT)
        if call.on_delta is not None:
            for index, value in sorted(recalled.found.items()):
                call.on_delta(index, Translation.model_validate_json(value).translation or "")
        return _joined(call.request, recalled.found)

    async def _stream(
        self, call: TranslationCall, recalled: CacheLookup | None, told: Callable[[AnswerSource], None]
    ) -> bytes:
        """Have it translated as a whole: each reader of a stream has a pace of their own."""
        if self._cache is not None:
            told(AnswerSource.MISS)
        self._count(recalled, 0)
        return await self._compute(recalled, call)

    async def _answer_some(
        self, call: TranslationCall, recalled: CacheLookup, told: Callable[[AnswerSource], None]
    ) -> bytes:
        """Have the texts translated that are not known, and put all together."""
        missing = recalled.missing
        self._count(recalled, len(recalled.found))
        texts = [call.request.texts[index] for index in missing]
        rest = call.asking(call.request.model_copy(update={"text": texts}), None)
        try:
            body, joined = await self._flights.share(rest, partial(self._compute, recalled.only(missing)))
        except RelayedError as error:
            error.detail = f"{error.detail} (Counted among the {len(missing)} texts that are not in the cache.)"
            raise
        results = read_results(rest.request, body)
        self._note(call, told, AnswerSource.PARTIAL, joined=joined)
        computed = {index: encoded(result) for index, result in zip(missing, results, strict=True)}
        return _joined(call.request, {**recalled.found, **computed})

    async def _compute(self, recalled: CacheLookup | None, call: TranslationCall) -> bytes:
        body = await self._dispatcher.translate(call)
        if self._cache is not None and recalled is not None:
            self._cache.keep(recalled, range(len(recalled.keys)), read_results(call.request, body))
        return body

    def _note(
        self, call: TranslationCall, told: Callable[[AnswerSource], None], source: AnswerSource, *, joined: bool
    ) -> None:
        if joined:
            self._metrics.coalesced.labels(call.measured.pair).inc()
        if self._cache is not None or source is AnswerSource.COALESCED:
            told(source)

    def _count(self, recalled: CacheLookup | None, hits: int) -> None:
        if recalled is None:
            return
        pair = recalled.route.name
        self._metrics.cache_hits.labels(pair).inc(hits)
        self._metrics.cache_misses.labels(pair).inc(len(recalled.keys) - hits)
        if hits:
            self._metrics.texts.labels(pair).inc(hits)  # the dispatcher counts the others


def _joined(request: TranslateRequest, values: Mapping[int, bytes]) -> bytes:
    """Return the answer's JSON from that of each text's translation."""
    if isinstance(request.text, str):
        return values[0]
    return b'{"results":[%s]}' % b",".join(values[index] for index in range(len(values)))
