"""Operators' commands on the fleet."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from proxy.fleet.discovery import Discovery
from proxy.fleet.overrides import Override, OverrideKind
from proxy.fleet.registry import Registry
from shared.protocol.errors import UnknownReplicaError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AppliedOverride:
    """An override in force; ``shared``: Redis has it."""

    override: Override
    shared: bool
    urls: tuple[str, ...]


@dataclass(eq=False, slots=True)
class FleetAdmin:
    """Operators' commands; each takes effect here before it is written to Redis.

    A host name means all its replicas. They raise FleetFullError, and except ``add`` UnknownReplicaError.
    """

    _registry: Registry
    _discovery: Discovery

    async def add(self, url: str, weight: float | None, *, keeps_weight: bool) -> AppliedOverride:
        """Add a replica, or change a known one's weight."""
        before = self._registry.overrides.get(url)
        removed = before is not None and before.verdict is OverrideKind.REMOVED
        override = self._registry.override(
            url,
            OverrideKind.SERVING if before is None or removed else before.verdict,
            added=url not in self._registry.configured,
            weight=before.weight if keeps_weight and before is not None and not removed else weight,
            new_verdict=removed,
        )
        # So that /fleet and probe_unhealthy need not wait for the next sweep.
        self._registry.set_addresses(await self._discovery.expand([url]))
        return await self._share(override)

    async def remove(self, url: str) -> AppliedOverride:
        """Remove a replica; its requests in flight continue."""
        self._check_known(url)
        own = url not in self._registry.configured and self._registry.names.get(url, (url,)) == (url,)
        override = self._registry.override(url, OverrideKind.REMOVED, added=own, weight=None, new_verdict=True)
        return await self._share(override)

    async def drain(self, url: str) -> AppliedOverride:
        """Send a replica no new requests; its requests in flight continue."""
        return await self._set_kind(url, OverrideKind.DRAINED)

    async def resume(self, url: str) -> AppliedOverride:
        """Send a replica requests again."""
        return await self._set_kind(url, OverrideKind.SERVING)

    async def expect(self, counts: Mapping[str, int | None]) -> bool:
        """Set services' numbers (None: none); return whether shared; or raise InvalidRequestError."""
        expectations = self._registry.expect(counts)
        shared = await self._registry.share_expected(expectations)
        log.info("expected replicas set", extra={"expected": dict(counts), "shared": shared})
        return shared

    async def _set_kind(self, url: str, kind: OverrideKind) -> AppliedOverride:
        self._check_known(url)
        before = self._registry.overrides.get(url)
        added, weight = (before.added, before.weight) if before else (False, None)
        return await self._share(self._registry.override(url, kind, added=added, weight=weight, new_verdict=True))

    async def _share(self, override: Override) -> AppliedOverride:
        shared = await self._registry.share_override(override)
        fields = {"replica": override.url, "verdict": override.verdict, "weight": override.weight, "shared": shared}
        log.info("operator change", extra=fields)
        urls = tuple(url for url, names in self._registry.names.items() if override.url in {url, *names})
        return AppliedOverride(override, shared, urls)

    def _check_known(self, url: str) -> None:
        if url not in self._registry.names and url not in self._registry.fleet_urls():
            raise UnknownReplicaError(url)
