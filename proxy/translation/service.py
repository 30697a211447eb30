"""Translation service: answers from the cache, a shared computation or the dispatcher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from proxy.cache.coalescing import RequestCoalescer
from proxy.cache.translation_cache import CacheLookup, TranslationCache
from proxy.call import TranslationCall
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route
from proxy.translation.dispatcher import CallPlan, Dispatcher
from proxy.translation.results import ResultTurns, with_note
from shared.protocol.answers import Translation
from shared.protocol.errors import RelayedError
from shared.protocol.translate_request import TranslateRequest

CACHE_HEADER: Final = "X-Cache"


class AnswerSource(StrEnum):
    """The source of an answer, and the value of ``X-Cache``."""

    HIT = "hit"
    PARTIAL = "partial"
    MISS = "miss"
    COALESCED = "coalesced"


class Answer(NamedTuple):
    """The answer's JSON and its source (None without cache and sharing)."""

    body: bytes
    source: AnswerSource | None


@dataclass(eq=False, slots=True)
class TranslationService:
    """Entry of the pipeline; without a cache it only shares computations."""

    _dispatcher: Dispatcher
    _coalescer: RequestCoalescer
    _cache: TranslationCache | None
    _metrics: ProxyMetrics
    _turns: ResultTurns

    async def translate(self, call: TranslationCall, plan: CallPlan | None = None) -> Answer:
        """Return the answer; a sink gets the source before its first delta.

        Callers that opted out bypass the cache and coalescing. ``plan``: the dispatcher's, if made before.

        Raises:
            PairwayError: a part of the request failed; there are no partial answers.
        """
        caller, cache = call.caller, self._cache
        plan = self._dispatcher.plan(call) if plan is None else plan
        # Only the dispatcher knows the detected pair, and can check that the caller's key allows it.
        is_private = plan.route is None and caller.pairs is not None
        if not caller.cached or (is_private and not call.linger_seconds):
            return Answer(await self._dispatcher.translate(call, plan), None)
        lookup = None
        if cache is not None and isinstance(plan.route, Route):
            lookup = await cache.look_up(caller.identity, call.request, plan.route)
        if lookup is not None and not lookup.missing:
            return self._answer_all(call, lookup)
        source = None if cache is None else AnswerSource.MISS
        if call.sink is not None:
            return await self._stream(call, plan, lookup, source)
        if lookup is not None and lookup.values:
            return await self._answer_some(call, plan, lookup)
        self._count(lookup, 0)
        body, joined = await self._compute(call, plan, lookup, is_private=is_private)
        return Answer(body, AnswerSource.COALESCED if joined else source)

    async def uncached_part(self, call: TranslationCall, route: Route) -> TranslationCall | None:
        """Return the call for texts that are not cached, or None."""
        if self._cache is None or not call.caller.cached:
            return call
        lookup = await self._cache.look_up(call.caller.identity, call.request, route)
        if lookup is None or not lookup.values:
            return call
        texts = [call.request.texts[index] for index in lookup.missing]
        return call.for_part(call.request.model_copy(update={"text": texts}), None) if texts else None

    def _answer_all(self, call: TranslationCall, lookup: CacheLookup) -> Answer:
        self._count(lookup, len(lookup.keys), call.cost.chars)
        if call.sink is not None:
            call.sink.headers[CACHE_HEADER] = AnswerSource.HIT
            for index, value in sorted(lookup.values.items()):
                call.sink(index, Translation.model_validate_json(value).translation or "")
        return Answer(_join(call.request, lookup.values), AnswerSource.HIT)

    async def _stream(
        self, call: TranslationCall, plan: CallPlan, lookup: CacheLookup | None, source: AnswerSource | None
    ) -> Answer:
        """Translate all texts without coalescing: each client reads at its own pace."""
        if call.sink is not None and source is not None:
            call.sink.headers[CACHE_HEADER] = source
        self._count(lookup, 0)
        body = await self._dispatcher.translate(call, plan)
        await self._store(call.request, lookup, body)
        return Answer(body, source)

    async def _answer_some(self, call: TranslationCall, plan: CallPlan, lookup: CacheLookup) -> Answer:
        if not call.linger_seconds:
            return Answer(await self._complete(call, plan, lookup, shares_rest=True), AnswerSource.PARTIAL)
        # Another rest may be missing when the request is repeated, so the whole of it is shared.
        body, joined = await self._share(call, lambda: self._complete(call, plan, lookup, shares_rest=False))
        return Answer(body, AnswerSource.COALESCED if joined else AnswerSource.PARTIAL)

    async def _complete(
        self, call: TranslationCall, plan: CallPlan, lookup: CacheLookup, *, shares_rest: bool
    ) -> bytes:
        """Return the JSON of all texts; compute the missing ones."""
        missing = lookup.missing
        texts = [call.request.texts[index] for index in missing]
        rest = call.for_part(call.request.model_copy(update={"text": texts}), None)
        rest_plan = plan._replace(has_words=None)
        self._count(lookup, len(lookup.values), call.cost.chars - rest.cost.chars)
        try:
            if shares_rest:
                body, _ = await self._compute(rest, rest_plan, lookup.subset(missing))
            else:
                body = await self._dispatcher.translate(rest, rest_plan)
                await self._store(rest.request, lookup.subset(missing), body)
        except RelayedError as error:
            raise with_note(
                error,
                f"Positions and totals refer only to the {len(missing)} of {len(call.request.texts)} texts not in "
                "the cache.",
            ) from error
        results = await self._turns.read(rest.request, body)
        computed = {index: result.to_json() for index, result in zip(missing, results, strict=True)}
        return _join(call.request, {**lookup.values, **computed})

    async def _compute(
        self, call: TranslationCall, plan: CallPlan, lookup: CacheLookup | None, *, is_private: bool = False
    ) -> tuple[bytes, bool]:
        """Return the JSON of all texts, and whether another request computed it."""
        body, joined = await self._share(call, lambda: self._dispatcher.translate(call, plan), is_private=is_private)
        if not joined:
            await self._store(call.request, lookup, body)
        return body, joined

    async def _share(
        self, call: TranslationCall, compute: Callable[[], Awaitable[bytes]], *, is_private: bool = False
    ) -> tuple[bytes, bool]:
        body, joined = await self._coalescer.run(call, compute, is_private=is_private)
        if joined:
            self._metrics.coalesced.labels(call.sample.pair).inc()
        return body, joined

    async def _store(self, request: TranslateRequest, lookup: CacheLookup | None, body: bytes) -> None:
        if self._cache is not None and lookup is not None:
            self._cache.store(lookup, range(len(lookup.keys)), await self._turns.read(request, body))

    def _count(self, lookup: CacheLookup | None, hits: int, characters: int = 0) -> None:
        if lookup is None:
            return
        pair = lookup.route.pair
        self._metrics.cache_hits.labels(pair).inc(hits)
        self._metrics.cache_misses.labels(pair).inc(len(lookup.keys) - hits)
        if hits:
            self._metrics.count_texts(pair, hits, characters)  # the dispatcher counts the others


def _join(request: TranslateRequest, values: Mapping[int, bytes]) -> bytes:
    if isinstance(request.text, str):
        return values[0]
    return b'{"results":[%s]}' % b",".join(values[index] for index in range(len(values)))
