"""Translation service: answers from the cache, a shared computation or the dispatcher."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial

from proxy.cache.coalescing import RequestCoalescer
from proxy.cache.translation_cache import CacheLookup, TranslationCache, encode
from proxy.call import TranslationCall
from proxy.metrics import ProxyMetrics
from proxy.translation.dispatcher import Dispatcher
from proxy.translation.results import read_results, with_note
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
    """Entry of the pipeline; without a cache only computations are shared."""

    def __init__(
        self, dispatcher: Dispatcher, coalescer: RequestCoalescer, cache: TranslationCache | None, metrics: ProxyMetrics
    ) -> None:
        self._dispatcher = dispatcher
        self._coalescer = coalescer
        self._cache = cache
        self._metrics = metrics

    async def translate(self, call: TranslationCall, on_source: Callable[[AnswerSource], None]) -> bytes:
        """Return the answer's JSON.

        ``on_source`` is called with the cache status before the first delta; without a cache only for an answer shared
        with another request. Nothing of a caller who opted out is kept or shared, and nothing of others answers them.

        Raises:
            PairwayError: the request is all or nothing; the error says why not.
        """
        request, caller = call.request, call.caller
        is_detected = request.source_lang == AUTO
        if not is_detected:
            caller.check(LanguagePair(request.source_lang, request.target_lang))
        # Which pair it will be, and so whether their key is for it, only the dispatcher finds out.
        if not caller.cached or (is_detected and caller.pairs is not None):
            return await self._dispatcher.translate(call)
        lookup = None if self._cache is None else await self._cache.look_up(call.request)
        if lookup is not None and not lookup.missing:
            return self._answer_all(call, lookup, on_source)
        if call.on_delta is not None:
            return await self._stream(call, lookup, on_source)
        if lookup is not None and lookup.values:
            return await self._answer_some(call, lookup, on_source)
        self._count(lookup, 0)
        body, joined = await self._coalescer.run(call, partial(self._compute, lookup))
        self._note_source(call, on_source, AnswerSource.COALESCED if joined else AnswerSource.MISS, joined=joined)
        return body

    def _answer_all(
        self, call: TranslationCall, lookup: CacheLookup, on_source: Callable[[AnswerSource], None]
    ) -> bytes:
        call.sample.pair = lookup.route.name
        self._count(lookup, len(lookup.keys))
        on_source(AnswerSource.HIT)
        if call.on_delta is not None:
            for index, value in sorted(lookup.values.items()):
                call.on_delta(index, Translation.model_validate_json(value).translation or "")
        return _join(call.request, lookup.values)

    async def _stream(
        self, call: TranslationCall, lookup: CacheLookup | None, on_source: Callable[[AnswerSource], None]
    ) -> bytes:
        """Translate all texts, unshared: each client reads at its own pace."""
        if self._cache is not None:
            on_source(AnswerSource.MISS)
        self._count(lookup, 0)
        return await self._compute(lookup, call)

    async def _answer_some(
        self, call: TranslationCall, lookup: CacheLookup, on_source: Callable[[AnswerSource], None]
    ) -> bytes:
        """Have the texts translated that are not known, and put all together."""
        missing = lookup.missing
        self._count(lookup, len(lookup.values))
        texts = [call.request.texts[index] for index in missing]
        rest = call.for_part(call.request.model_copy(update={"text": texts}), None)
        try:
            body, joined = await self._coalescer.run(rest, partial(self._compute, lookup.subset(missing)))
        except RelayedError as error:
            raise with_note(error, f"Counted among the {len(missing)} texts that are not in the cache.") from error
        results = read_results(rest.request, body)
        self._note_source(call, on_source, AnswerSource.PARTIAL, joined=joined)
        computed = {index: encode(result) for index, result in zip(missing, results, strict=True)}
        return _join(call.request, {**lookup.values, **computed})

    async def _compute(self, lookup: CacheLookup | None, call: TranslationCall) -> bytes:
        body = await self._dispatcher.translate(call)
        if self._cache is not None and lookup is not None:
            self._cache.store(lookup, range(len(lookup.keys)), read_results(call.request, body))
        return body

    def _note_source(
        self, call: TranslationCall, on_source: Callable[[AnswerSource], None], source: AnswerSource, *, joined: bool
    ) -> None:
        if joined:
            self._metrics.coalesced.labels(call.sample.pair).inc()
        if self._cache is not None or source is AnswerSource.COALESCED:
            on_source(source)

    def _count(self, lookup: CacheLookup | None, hits: int) -> None:
        if lookup is None:
            return
        pair = lookup.route.name
        self._metrics.cache_hits.labels(pair).inc(hits)
        self._metrics.cache_misses.labels(pair).inc(len(lookup.keys) - hits)
        if hits:
            self._metrics.texts.labels(pair).inc(hits)  # the dispatcher counts the others


def _join(request: TranslateRequest, values: Mapping[int, bytes]) -> bytes:
    """Return the answer's JSON from that of each text's translation."""
    if isinstance(request.text, str):
        return values[0]
    return b'{"results":[%s]}' % b",".join(values[index] for index in range(len(values)))
