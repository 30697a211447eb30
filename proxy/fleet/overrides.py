"""Operators' changes of the fleet; each URL's latest wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from proxy.urls import replica_url
from shared.protocol.errors import FleetFullError

# As many as replicas in the settings; each takes about 150 bytes.
MAX_OVERRIDES: Final = 1000
# Undone overrides are kept this long: a proxy that was away might restore the change.
UNDONE_SECONDS: Final = 24 * 3600.0
# Makes a URL's newer override win even if a clock was set back.
TICK_SECONDS: Final = 0.001


class OverrideKind(StrEnum):
    """An operator's wish for a replica."""

    SERVING = "serving"
    DRAINED = "drained"
    REMOVED = "removed"


class Override(BaseModel):
    """An operator's latest change of one URL; the record in Redis.

    ``at`` is the Unix time of the change, ``since`` of its verdict. ``added``: by an operator, even if the settings
    name it too.
    """

    model_config = ConfigDict(frozen=True)

    url: Annotated[str, AfterValidator(replica_url)]
    verdict: OverrideKind
    at: FiniteFloat
    since: FiniteFloat
    added: bool = False
    weight: Annotated[FiniteFloat, Field(gt=0)] | None = None

    def is_undone(self) -> bool:
        """Return whether the fleet would be the same without it."""
        if self.verdict is OverrideKind.REMOVED:
            return self.added
        return self.verdict is OverrideKind.SERVING and not self.added and self.weight is None


class Overrides:
    """Each URL's latest override; ``clock`` returns Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by_url: dict[str, Override] = {}

    def all(self) -> list[Override]:
        """Return overrides, including undone ones."""
        return list(self._by_url.values())

    def get(self, url: str) -> Override | None:
        """Return this URL's own override."""
        return self._by_url.get(url)

    def put(self, url: str, verdict: OverrideKind, *, added: bool, weight: float | None, new_verdict: bool) -> Override:
        """Store an override, or raise FleetFullError.

        A ``new_verdict`` also wins over those of the URL's names and addresses.
        """
        before = self._by_url.get(url)
        if before is None and len(self._by_url) >= MAX_OVERRIDES:
            undone = [each for each in self._by_url.values() if each.is_undone()]
            if not undone:
                raise FleetFullError(MAX_OVERRIDES)
            del self._by_url[min(undone, key=lambda each: each.at).url]
        at = max(self._clock(), before.at + TICK_SECONDS if before else 0.0)
        since = at if new_verdict else (before.since if before else 0.0)
        self._by_url[url] = Override(url=url, verdict=verdict, at=at, since=since, added=added, weight=weight)
        return self._by_url[url]

    def merge(self, overrides: Iterable[Override]) -> bool:
        """Merge other proxies' later overrides; return whether anything changed."""
        before = dict(self._by_url)
        for override in overrides:
            ours = self._by_url.get(override.url)
            if ours is None or ours.at <= override.at:
                self._by_url[override.url] = override
        horizon = self._clock() - UNDONE_SECONDS
        kept = [each for each in self._by_url.values() if each.at > horizon or not each.is_undone()]
        kept.sort(key=lambda each: (each.is_undone(), -each.at))  # drop undone and oldest first
        self._by_url = {each.url: each for each in kept[:MAX_OVERRIDES]}
        return self._by_url != before

    def fleet_urls(self, configured: Sequence[str]) -> list[str]:
        """Return URLs from settings and operators, names not expanded."""
        overrides = self._by_url.values()
        removed = {each.url for each in overrides if each.verdict is OverrideKind.REMOVED and not each.added}
        own = sorted(each.url for each in overrides if each.verdict is not OverrideKind.REMOVED and each.added)
        # A URL that an operator added and removed follows the settings.
        return [url for url in dict.fromkeys((*configured, *own)) if url not in removed]

    def kind(self, url: str, names: Iterable[str]) -> OverrideKind:
        """Return the latest verdict on an address or its names."""
        latest = max(self._of(url, names), key=lambda each: each.since, default=None)
        return latest.verdict if latest else OverrideKind.SERVING

    def weight(self, url: str, names: Iterable[str]) -> float | None:
        """Return the latest weight of an address or its names."""
        weighted = [each for each in self._of(url, names) if each.weight is not None]
        latest = max(weighted, key=lambda each: each.at, default=None)
        return latest.weight if latest else None

    def _of(self, url: str, names: Iterable[str]) -> list[Override]:
        overrides = [self._by_url[each] for each in {url, *names} if each in self._by_url]
        return [each for each in overrides if each.verdict is not OverrideKind.REMOVED or not each.added]
