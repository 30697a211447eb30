"""TranslationCache: what was translated before, text by text, for as long as the same models would answer it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json

from proxy.cache.fingerprints import in_thread_if_large, text_fingerprints
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.model_versions import ModelVersions, Served, model_names
from proxy.cache.redis_cache import RedisCache
from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from proxy.routing.pivots import Pivots
from proxy.routing.routes import Route, find_route
from shared.languages import LanguagePair
from shared.protocol.errors import PairwayError
from shared.protocol.messages import AUTO, TranslateRequest, Translation

# An entry has no more bytes: names, languages and warnings take a few hundred, and a translation has no 16 characters for
# each of its text (apiserver/guards/length.py).
ENTRY_BYTES: Final = 16 * 1024
BYTES_PER_CHAR: Final = 64


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """What the cache knows of one request: its route now, who serves it, its texts with their keys, and what was found."""

    route: Route
    served_by: tuple[Served, ...]
    texts: Sequence[str]
    keys: Sequence[bytes]
    values: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def missing(self) -> list[int]:
        """The indices of the texts that are not known."""
        return [index for index in range(len(self.keys)) if index not in self.values]

    def subset(self, indices: Sequence[int]) -> CacheLookup:
        """Return the same of some of the texts, with nothing found."""
        texts = [self.texts[index] for index in indices]
        return CacheLookup(self.route, self.served_by, texts, [self.keys[index] for index in indices])

    def encode_entry(self, text: str, result: Translation) -> bytes | None:
        """Return the text's translation as it is kept; None where it can not be one of this route's."""
        languages = self.route.languages
        way = (result.source_lang, result.target_lang, result.route) == (languages[0], languages[-1], languages)
        made = result.model in model_names(self.served_by) or (result.model is None and result.translation == text)
        value = encoded(result)
        good = way and made and result.translation is not None and result.detected is None
        return value if good and len(value) <= _longest(text) else None


class TranslationCache:
    """Keeps translations in memory, and in the second tier where there is one.

    Kept is whatever came back as usable: a translation with warnings too, they would come again. Not kept is what no
    usable output could be had for, and what a model answered that is not the pair's preferred one.
    """

    def __init__(
        self,
        lru: MemoryCache,
        store: RedisCache | None,
        snapshot: Callable[[], Snapshot],
        pivots: Pivots | None,
        revisions: ModelVersions,
        metrics: ProxyMetrics,
        seconds: float,
        clock: Callable[[], float],
    ) -> None:
        """Take both tiers, what routes go by, and for how many seconds a translation is kept; a Unix clock."""
        self._lru = lru
        self._store = store
        self._snapshot = snapshot
        self._pivots = pivots
        self._revisions = revisions
        self._metrics = metrics
        self._seconds = seconds
        self._clock = clock

    async def look_up(self, request: TranslateRequest) -> CacheLookup | None:
        """Return what is known of the request; None where nothing of it may be kept.

        That is: its language is to be detected, it can not be served now, or it is not known what exactly serves it.
        """
        if request.source_lang == AUTO:
            return None
        wanted = LanguagePair(request.source_lang, request.target_lang)
        try:
            route = find_route(wanted, self._snapshot(), self._pivots if request.pivot else None)
        except PairwayError:
            return None
        served_by = self._revisions.for_route(route)
        if served_by is None:
            return None
        keys = await in_thread_if_large(
            request, partial(text_fingerprints, request, [[(leg.source, leg.target) for leg in route.legs], served_by])
        )
        recalled = CacheLookup(route, served_by, request.texts, keys)
        for index, key in enumerate(keys):
            if (value := self._lru.get(key)) is not None:
                recalled.values[index] = value
        await self._read_second(recalled)
        self._measure()
        return recalled

    async def _read_second(self, recalled: CacheLookup) -> None:
        missing = recalled.missing
        if self._store is None or not missing:
            return
        there = await self._store.read(list(dict.fromkeys(recalled.keys[index] for index in missing)))
        for index in missing:
            if (found := there.get(recalled.keys[index])) is None:
                continue
            expires, value = found
            if (entry := _checked(recalled, recalled.texts[index], value)) is not None:
                self._lru.put(recalled.keys[index], entry, min(expires, self._clock() + self._seconds))
                recalled.values[index] = entry

    def store(self, recalled: CacheLookup, indices: Iterable[int], results: Sequence[Translation]) -> None:
        """Keep the results of the request's texts with these indices, if they are what the route stands for still."""
        if self._revisions.for_route(recalled.route) != recalled.served_by:
            return  # a model changed meanwhile: who knows which one answered
        expires = self._clock() + self._seconds
        for index, result in zip(indices, results, strict=True):
            if (value := recalled.encode_entry(recalled.texts[index], result)) is None:
                continue
            self._lru.put(recalled.keys[index], value, expires)
            if self._store is not None:
                self._store.write(recalled.keys[index], value, expires)
        self._measure()

    def _measure(self) -> None:
        self._metrics.cache_bytes.set(self._lru.size)
        self._metrics.cache_entries.set(len(self._lru))
        self._metrics.cache_evictions.inc(self._lru.take_evicted())


def encoded(result: Translation) -> bytes:
    """Return a translation as it stands in an answer, and in the cache."""
    return to_json(result.to_json())


def _checked(recalled: CacheLookup, text: str, value: bytes) -> bytes | None:
    """Return what we would write for an entry of the second tier; None where none of us can have written it."""
    if len(value) > _longest(text):
        return None
    try:
        return recalled.encode_entry(text, Translation.model_validate_json(value))
    except ValidationError:
        return None


def _longest(text: str) -> int:
    return ENTRY_BYTES + BYTES_PER_CHAR * len(text)
