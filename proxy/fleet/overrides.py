"""Operators' changes of the fleet; each URL's latest wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat
from typing_extensions import override

from proxy.storage.latest_copy import LatestCopy
from proxy.urls import replica_url
from shared.protocol.errors import FleetFullError

# As many as replicas in the settings; each takes about 150 bytes.
MAX_OVERRIDES: Final = 1000
# Undone overrides are kept this long: a proxy that was away might restore the change.
UNDONE_SECONDS: Final = 24 * 3600.0


class OverrideKind(StrEnum):
    """An operator's wish for a replica."""

    SERVING = "serving"
    DRAINED = "drained"
    REMOVED = "removed"


class Override(BaseModel):
    """An operator's latest change of one URL; the record in Redis.

    ``at``: Unix time of the change, ``since``: of its verdict. ``added``: by an operator, even if the settings name it
    too.
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


class Overrides(LatestCopy[Override]):
    """Each URL's latest override; ``clock`` returns Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(lambda each: each.url, clock)

    def change(
        self, url: str, verdict: OverrideKind, *, added: bool, weight: float | None, new_verdict: bool
    ) -> Override:
        """Store an override, or raise FleetFullError.

        A ``new_verdict`` also wins over those of names and addresses.
        """
        before = self.get(url)
        if before is None and len(self.all()) >= MAX_OVERRIDES:
            undone = [each for each in self.all() if each.is_undone()]
            if not undone:
                raise FleetFullError(MAX_OVERRIDES)
            del self._by_name[min(undone, key=lambda each: each.at).url]
        at = self.next_at(url)
        since = at if new_verdict else (before.since if before else 0.0)
        override = Override(url=url, verdict=verdict, at=at, since=since, added=added, weight=weight)
        self.put(override)
        return override

    @override
    def expired_in(self, stored: Iterable[Override]) -> list[str]:
        return [each.url for each in stored if self._is_expired(each)]

    def _is_expired(self, override: Override) -> bool:
        return override.is_undone() and override.at <= self._clock() - UNDONE_SECONDS

    @override
    def _kept(self, records: list[Override]) -> list[Override]:
        kept = [each for each in records if not self._is_expired(each)]
        kept.sort(key=lambda each: (each.is_undone(), -each.at))  # drop undone and oldest first
        return kept[:MAX_OVERRIDES]

    def fleet_urls(self, configured: Sequence[str]) -> list[str]:
        """Return URLs from settings and operators, names not expanded."""
        overrides = self.all()
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
        found = map(self.get, {url, *names})
        overrides = [each for each in found if each is not None]
        return [each for each in overrides if each.verdict is not OverrideKind.REMOVED or not each.added]
