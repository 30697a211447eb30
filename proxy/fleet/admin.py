"""FleetAdmin: what operators do to the fleet at run time, and what they see of it."""

from __future__ import annotations

import logging
from collections.abc import Callable

from proxy.api.fleet_view import (
    Changed,
    Fleet,
    ReplicaLine,
    ReplicaStatusView,
    change_line,
    changes_in_force,
    replica_line,
)
from proxy.fleet.discovery import Discovery
from proxy.fleet.overrides import Override, OverrideKind
from proxy.fleet.registry import Registry
from shared.protocol.access_errors import UnknownReplicaError

log = logging.getLogger(__name__)


class FleetAdmin:
    """Changes the registry; holds no state of its own. Each change holds here before it is written to Redis."""

    def __init__(
        self, registry: Registry, discovery: Discovery, view: ReplicaStatusView, clock: Callable[[], float]
    ) -> None:
        """Take the parts; ``clock`` gives Unix seconds."""
        self._registry = registry
        self._discovery = discovery
        self._view = view
        self._clock = clock

    def fleet(self) -> Fleet:
        """Show every replica, and every change in force."""
        lines = [self._line(url) for url in self._registry.snapshot.replicas]
        return Fleet(replicas=lines, changes=changes_in_force(self._registry.changes.all()))

    async def add(self, url: str, weight: float | None, *, keeps_weight: bool) -> Changed:
        """Add a replica, or all that a name stands for; one that is there stays as it is, but for its weight.

        Its weight is what is given, None for the one that it reports; one that is there can keep what it has.

        Raises:
            FleetFullError: there are too many changes already.
        """
        before = self._registry.changes.get(url)
        removed = before is not None and before.verdict is OverrideKind.REMOVED
        change = self._registry.change(
            url,
            OverrideKind.SERVING if before is None or removed else before.verdict,
            added=url not in self._registry.configured,
            weight=before.weight if keeps_weight and before is not None and not removed else weight,
            anew=removed,
        )
        # At once in /fleet, and in the hands of the next look at those that are not well.
        self._registry.place(await self._discovery.expand([url]))
        return await self._shared(change)

    async def remove(self, url: str) -> Changed:
        """Take a replica, or all that a name stands for, out of the fleet; what is in flight there goes on.

        Raises:
            UnknownReplicaError: the fleet has none at this URL.
            FleetFullError: there are too many changes already.
        """
        self._check(url)
        own = url not in self._registry.configured and self._registry.names.get(url, (url,)) == (url,)
        return await self._shared(self._registry.change(url, OverrideKind.REMOVED, added=own, weight=None, anew=True))

    async def drain(self, url: str) -> Changed:
        """Give a replica, or all that a name stands for, no new requests; what is in flight there goes on.

        Raises:
            UnknownReplicaError: the fleet has none at this URL.
            FleetFullError: there are too many changes already.
        """
        return await self._set(url, OverrideKind.DRAINED)

    async def resume(self, url: str) -> Changed:
        """Give a replica, or all that a name stands for, requests again.

        Raises:
            UnknownReplicaError: the fleet has none at this URL.
            FleetFullError: there are too many changes already.
        """
        return await self._set(url, OverrideKind.SERVING)

    async def _set(self, url: str, verdict: OverrideKind) -> Changed:
        self._check(url)
        before = self._registry.changes.get(url)
        added = before is not None and before.added
        weight = before.weight if before else None
        return await self._shared(self._registry.change(url, verdict, added=added, weight=weight, anew=True))

    async def _shared(self, change: Override) -> Changed:
        shared = await self._registry.share(change)
        fields = {"replica": change.url, "verdict": change.verdict, "weight": change.weight, "shared": shared}
        log.info("operator change", extra=fields)
        lines = [self._line(url) for url, names in self._registry.names.items() if change.url in {url, *names}]
        return Changed(change=change_line(change), shared=shared, replicas=lines)

    def _check(self, url: str) -> None:
        if url not in self._registry.names and url not in self._registry.wanted():
            raise UnknownReplicaError(url)

    def _line(self, url: str) -> ReplicaLine:
        registry = self._registry
        replica = registry.snapshot.replicas[url]
        return replica_line(replica, registry.names[url], registry.configured, self._view.standing(url), self._clock())
