"""Translation cache: stored translations, valid while the same models serve the route."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pydantic import ValidationError

from proxy.cache.fingerprints import INLINE_CHARS, text_fingerprints
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.model_versions import ModelVersions, ServedModels, model_names
from proxy.cache.redis_cache import RedisCache
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route
from shared.protocol.answers import Translation
from shared.protocol.translate_request import TranslateRequest

# A translation has fewer than 16 characters (64 bytes) per source character (apiserver/guards/length.py).
ENTRY_BYTES: Final = 16 * 1024
BYTES_PER_CHAR: Final = 64


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """Cached values of a request's texts, by index."""

    route: Route
    served_by: tuple[ServedModels, ...]
    texts: Sequence[str]
    keys: Sequence[bytes]
    values: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def missing(self) -> list[int]:
        """Indices of the texts without a value."""
        return [index for index in range(len(self.keys)) if index not in self.values]

    def subset(self, indices: Sequence[int]) -> CacheLookup:
        """Return a lookup of some of the texts, without values."""
        texts = [self.texts[index] for index in indices]
        return CacheLookup(self.route, self.served_by, texts, [self.keys[index] for index in indices])

    def encode_entry(self, text: str, result: Translation) -> bytes | None:
        """Return the text's entry, or None if it may not be stored."""
        languages = self.route.languages
        has_route = (result.source_lang, result.target_lang, result.route) == (languages[0], languages[-1], languages)
        has_model = result.model in model_names(self.served_by) or (result.model is None and result.translation == text)
        value = result.to_json()
        is_valid = has_route and has_model and result.translation is not None and result.detected is None
        return value if is_valid and len(value) <= _max_entry_bytes(text) else None


@dataclass(eq=False, slots=True)
class TranslationCache:
    """Cache of translations in memory and, if configured, in Redis.

    It stores usable translations of preferred models, including their warnings.
    """

    _memory_cache: MemoryCache
    _redis_cache: RedisCache | None
    _model_versions: ModelVersions
    _metrics: ProxyMetrics
    _seconds: float
    _clock: Callable[[], float]

    async def look_up(self, request: TranslateRequest, route: Route) -> CacheLookup | None:
        """Return cached values; None if a model revision is unknown.

        Then nothing may be stored either.
        """
        served_by = self._model_versions.for_route(route)
        if served_by is None:
            return None
        models = [[(leg.source, leg.target) for leg in route.legs], served_by]
        is_large = request.chars > INLINE_CHARS
        keys = await to_thread(text_fingerprints, request, models) if is_large else text_fingerprints(request, models)
        lookup = CacheLookup(route, served_by, request.texts, keys)
        for index, key in enumerate(keys):
            if (value := self._memory_cache.get(key)) is not None:
                lookup.values[index] = value
        await self._read_redis(lookup)
        self._update_metrics()
        return lookup

    async def _read_redis(self, lookup: CacheLookup) -> None:
        missing = lookup.missing
        if self._redis_cache is None or not missing:
            return
        entries = await self._redis_cache.read(list(dict.fromkeys(lookup.keys[index] for index in missing)))
        for index in missing:
            if (stored := entries.get(lookup.keys[index])) is None:
                continue
            expires, value = stored
            if (entry := _validated(lookup, lookup.texts[index], value)) is not None:
                self._memory_cache.put(lookup.keys[index], entry, min(expires, self._clock() + self._seconds))
                lookup.values[index] = entry

    def store(self, lookup: CacheLookup, indices: Iterable[int], results: Sequence[Translation]) -> None:
        """Store the texts' results, unless a model changed meanwhile."""
        if self._model_versions.for_route(lookup.route) != lookup.served_by:
            return  # either model may have answered
        expires = self._clock() + self._seconds
        for index, result in zip(indices, results, strict=True):
            if (value := lookup.encode_entry(lookup.texts[index], result)) is None:
                continue
            self._memory_cache.put(lookup.keys[index], value, expires)
            if self._redis_cache is not None:
                self._redis_cache.write(lookup.keys[index], value, expires)
        self._update_metrics()

    def _update_metrics(self) -> None:
        self._metrics.cache_bytes.set(self._memory_cache.size)
        self._metrics.cache_entries.set(len(self._memory_cache))
        self._metrics.cache_evictions.inc(self._memory_cache.take_evicted())


def _validated(lookup: CacheLookup, text: str, value: bytes) -> bytes | None:
    """Return a Redis entry as this proxy would write it, or None."""
    if len(value) > _max_entry_bytes(text):
        return None
    try:
        return lookup.encode_entry(text, Translation.model_validate_json(value))
    except ValidationError:
        return None


def _max_entry_bytes(text: str) -> int:
    return ENTRY_BYTES + BYTES_PER_CHAR * len(text)
