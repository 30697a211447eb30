"""Translation cache: stored translations, valid while the same models serve the route."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import product
from typing import Final

from pydantic import ValidationError
from pydantic_core import to_json

from proxy.cache.coalescing import FINGERPRINT_BYTES, HASHED_INLINE_CHARS
from proxy.cache.memory_cache import MemoryCache
from proxy.cache.redis_cache import RedisCache
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from proxy.routing.routes import Route
from shared.languages import LanguagePair
from shared.parsing.long_bodies import LongBodies
from shared.protocol.answers import Translation
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.turns import LoopTurns

# The number changes with the format of an entry.
_CACHE_DOMAIN: Final = b"pairway-cache-1"
_LENGTH_BYTES: Final = 8
# A translation has fewer than 16 characters (64 bytes) per source character (apiserver/guards/length.py).
ENTRY_BYTES: Final = 16 * 1024
BYTES_PER_CHAR: Final = 64
# Of each text of a list, at most: its key and the search for it; its entry in Redis, and for each byte of that.
LOOKUP_SECONDS: Final = 4e-6
READ_SECONDS: Final = 1e-5
READ_SECONDS_PER_BYTE: Final = 1.5e-8


def text_fingerprints(request: TranslateRequest, served_by: object) -> list[bytes]:
    """Return each text's fingerprint, equal in all proxies; ``served_by`` is JSON-serializable.

    Every field of a request counts, also future ones: otherwise a client gets the answer to another request.
    """
    options = request.model_dump_json(exclude={"text"}).encode()
    common = blake2b(_with_length(options), digest_size=FINGERPRINT_BYTES, person=_CACHE_DOMAIN)
    common.update(_with_length(to_json(served_by)))
    fingerprints: list[bytes] = []
    for text in request.texts:
        text_hash = common.copy()
        text_hash.update(text.encode())
        fingerprints.append(text_hash.digest())
    return fingerprints


def _with_length(part: bytes) -> bytes:
    # Makes concatenations unambiguous.
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part


# Names and revisions of the models that serve one pair, sorted.
ServedModels = tuple[tuple[str, str], ...]


class ModelVersions:
    """Each pair's models, until replicas, pairs or revisions change."""

    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot
        self._tiers: object = None
        self._models: dict[LanguagePair, ServedModels | None] = {}

    def for_route(self, route: Route) -> tuple[ServedModels, ...] | None:
        """Return each leg's preferred models; None if a revision is unknown.

        Only the first tier counts: the cache holds preferred translations.
        """
        snapshot = self._snapshot()
        # The registry creates new tiers when a replica, a pair or a revision changes.
        if self._tiers is not snapshot.tiers:
            self._tiers, self._models = snapshot.tiers, {}
        models_by_leg: list[ServedModels] = []
        for leg in route.legs:
            if leg not in self._models:
                self._models[leg] = _served_models(leg, snapshot)
            models = self._models[leg]
            if models is None:
                return None
            models_by_leg.append(models)
        return tuple(models_by_leg)


def model_names(models_by_leg: tuple[ServedModels, ...]) -> frozenset[str]:
    """Return a translation's possible model names (``results.py`` joins two legs)."""
    names_by_leg = ([name for name, _ in models] for models in models_by_leg)
    return frozenset("+".join(dict.fromkeys(names)) for names in product(*names_by_leg))


def _served_models(pair: LanguagePair, snapshot: Snapshot) -> ServedModels | None:
    tiers = snapshot.tiers.get(pair, ())
    models = {_model_version(snapshot.replicas[url], pair) for url in tiers[0]} if tiers else {None}
    known = {model for model in models if model is not None}
    return tuple(sorted(known)) if len(known) == len(models) else None


def _model_version(replica: Replica, pair: LanguagePair) -> tuple[str, str] | None:
    report = replica.report
    pair_report = None if report is None else report.find(pair)
    if report is None or pair_report is None:
        return None
    model = report.models.get(pair_report.model)
    return None if model is None or model.revision is None else (pair_report.model, model.revision)


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
    _turns: LoopTurns
    _long_bodies: LongBodies

    async def look_up(self, caller: str, request: TranslateRequest, route: Route) -> CacheLookup | None:
        """Return cached values; None if a model revision is unknown.

        Then nothing may be stored either.
        """
        served_by = self._model_versions.for_route(route)
        if served_by is None:
            return None
        models = [[(leg.source, leg.target) for leg in route.legs], served_by]
        if not isinstance(request.text, str):
            await self._turns.take(len(request.text) * LOOKUP_SECONDS)
        if request.chars > HASHED_INLINE_CHARS:
            keys = await self._long_bodies.read(caller, partial(text_fingerprints, request, models))
        else:
            keys = text_fingerprints(request, models)
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
        if len(entries) > 1:
            size = sum(len(value) for _, value in entries.values())
            await self._turns.take(len(entries) * READ_SECONDS + size * READ_SECONDS_PER_BYTE)
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
