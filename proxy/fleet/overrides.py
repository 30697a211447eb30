"""Overrides: what operators changed of the fleet; one for each URL, and the latest wins wherever two meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat

from proxy.urls import replica_url
from shared.protocol.errors import FleetFullError

# As many as the settings take replicas; an override is some 150 bytes.
MAX_OVERRIDES: Final = 1000
# What was undone is remembered this long, so that no proxy that was away brings it back.
UNDONE_SECONDS: Final = 24 * 3600.0
# Two overrides of one URL are told apart by their times, also when a clock was set back between them.
TICK_SECONDS: Final = 0.001


class OverrideKind(StrEnum):
    """What an operator wants of a replica."""

    SERVING = "serving"
    DRAINED = "drained"
    REMOVED = "removed"


class Override(BaseModel):
    """An operator's latest change of one URL (an address, or a name for several), also the record in Redis.

    ``at`` is the Unix time of it, ``since`` that of its verdict. ``added``: the URL is the operator's own, whether or
    not settings name it too. ``weight`` takes the place of the one that the replica reports.
    """

    model_config = ConfigDict(frozen=True)

    url: Annotated[str, AfterValidator(replica_url)]
    verdict: OverrideKind
    at: FiniteFloat
    since: FiniteFloat
    added: bool = False
    weight: Annotated[FiniteFloat, Field(gt=0)] | None = None

    def is_undone(self) -> bool:
        """Say whether the fleet would be the same without it: what was drained serves again, what was added is gone."""
        if self.verdict is OverrideKind.REMOVED:
            return self.added
        return self.verdict is OverrideKind.SERVING and not self.added and self.weight is None


class Overrides:
    """Mutable state: the latest override of each URL, at most ``MAX_OVERRIDES``; ``clock`` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._by_url: dict[str, Override] = {}

    def all(self) -> list[Override]:
        """Return every override, those that are undone too."""
        return list(self._by_url.values())

    def get(self, url: str) -> Override | None:
        """Return the override of this very URL."""
        return self._by_url.get(url)

    def put(self, url: str, verdict: OverrideKind, *, added: bool, weight: float | None, new_verdict: bool) -> Override:
        """Keep an override, or raise FleetFullError; with ``new_verdict`` it is the latest one on its addresses."""
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
        """Take later overrides of others, drop what was undone long ago; say whether anything is new."""
        before = dict(self._by_url)
        for override in overrides:
            ours = self._by_url.get(override.url)
            if ours is None or ours.at <= override.at:
                self._by_url[override.url] = override
        horizon = self._clock() - UNDONE_SECONDS
        kept = [each for each in self._by_url.values() if each.at > horizon or not each.is_undone()]
        kept.sort(key=lambda each: (each.is_undone(), -each.at))  # of too many, undone and the oldest ones go
        self._by_url = {each.url: each for each in kept[:MAX_OVERRIDES]}
        return self._by_url != before

    def fleet_urls(self, configured: Sequence[str]) -> list[str]:
        """Return the URLs that make up the fleet, names not yet expanded: the settings' and operators' own."""
        overrides = self._by_url.values()
        removed = {each.url for each in overrides if each.verdict is OverrideKind.REMOVED and not each.added}
        own = sorted(each.url for each in overrides if each.verdict is not OverrideKind.REMOVED and each.added)
        # One that an operator added and removed again is what the settings say, also when they name it only later.
        return [url for url in dict.fromkeys((*configured, *own)) if url not in removed]

    def kind(self, url: str, names: Iterable[str]) -> OverrideKind:
        """Return the latest override of an address and its names."""
        latest = max(self._of(url, names), key=lambda each: each.since, default=None)
        return latest.verdict if latest else OverrideKind.SERVING

    def weight(self, url: str, names: Iterable[str]) -> float | None:
        """Return the weight that an operator gave last, or None."""
        weighted = [each for each in self._of(url, names) if each.weight is not None]
        latest = max(weighted, key=lambda each: each.at, default=None)
        return latest.weight if latest else None

    def _of(self, url: str, names: Iterable[str]) -> list[Override]:
        overrides = [self._by_url[each] for each in {url, *names} if each in self._by_url]
        return [each for each in overrides if each.verdict is not OverrideKind.REMOVED or not each.added]
