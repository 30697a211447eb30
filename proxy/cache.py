"""TranslationCache: what was translated before, text by text, for as long as the same models would answer it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import to_json

from proxy.digest import text_digests, unhurried
from proxy.revisions import model_names
from proxy.routing import Route, find_route
from shared.errors import PairwayError
from shared.languages import LanguagePair
from shared.wire import AUTO, Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from proxy.cache_store import CacheStore
    from proxy.fleet import Snapshot
    from proxy.lru import Lru
    from proxy.metrics import ProxyMetrics
    from proxy.revisions import Revisions, Served
    from proxy.routing import Pivots
    from shared.wire import TranslateRequest


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the cache knows of one request: its route now, who serves it, a key for each text, and what was found."""

    route: Route
    served_by: tuple[Served, ...]
    keys: Sequence[bytes]
    found: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def missing(self) -> list[int]:
        """The indices of the texts that are not known."""
        return [index for index in range(len(self.keys)) if index not in self.found]


class TranslationCache:
    """Keeps translations in memory, and in the second tier where there is one.

    Kept is whatever came back as usable: a translation with warnings too, they would come again. Not kept is what no
    usable output could be had for, and what a model answered that is not the pair's preferred one.
    """

    def __init__(
        self,
        lru: Lru,
        store: CacheStore | None,
        snapshot: Callable[[], Snapshot],
        pivots: Pivots | None,
        revisions: Revisions,
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

    async def recall(self, request: TranslateRequest) -> Recalled | None:
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
        served_by = self._revisions.of(route)
        if served_by is None:
            return None
        keys = await unhurried(
            request, partial(text_digests, request, [[(leg.source, leg.target) for leg in route.legs], served_by])
        )
        recalled = Recalled(route, served_by, keys)
        for index, key in enumerate(keys):
            if (value := self._lru.get(key)) is not None:
                recalled.found[index] = value
        await self._read_second(recalled)
        self._measure()
        return recalled

    async def _read_second(self, recalled: Recalled) -> None:
        missing = recalled.missing
        if self._store is None or not missing:
            return
        there = await self._store.read(list(dict.fromkeys(recalled.keys[index] for index in missing)))
        good = {key: entry for key, entry in there.items() if _is_translation(entry[1])}
        for key, (expires, value) in good.items():
            self._lru.put(key, value, min(expires, self._clock() + self._seconds))
        recalled.found.update(
            (index, good[recalled.keys[index]][1]) for index in missing if recalled.keys[index] in good
        )

    def keep(self, recalled: Recalled, indices: Iterable[int], results: Sequence[Translation]) -> None:
        """Keep the results of the request's texts with these indices, if they are what the route stands for still."""
        if self._revisions.of(recalled.route) != recalled.served_by:
            return  # a model changed meanwhile: who knows which one answered
        names = model_names(recalled.served_by)
        expires = self._clock() + self._seconds
        for index, result in zip(indices, results, strict=True):
            usual = result.model is None or (result.model in names and result.route == recalled.route.languages)
            if result.translation is None or not usual:
                continue
            value = encoded(result)
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


def _is_translation(value: bytes) -> bool:
    """Say whether an entry of the second tier is what we would write, so that nothing else gets into an answer."""
    try:
        return Translation.model_validate_json(value).translation is not None
    except ValidationError:
        return False
