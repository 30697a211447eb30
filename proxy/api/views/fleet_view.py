"""The JSON of ``GET /fleet`` and of the answers to operators' changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, Field

from proxy.api.views.health_view import ServiceHealth
from proxy.api.views.replica_view import ReplicaLine, ReplicaView
from proxy.balancing.local_stats import LocalStats
from proxy.fleet.admin import AppliedOverride
from proxy.fleet.overrides import Override
from proxy.fleet.registry import Registry
from proxy.fleet.replica import Replica


class ChangeLine(BaseModel):
    """An operator's change in force; ``at`` is its Unix time."""

    url: str
    verdict: str
    added: bool
    weight: float | None
    at: float


class Fleet(BaseModel):
    """The answer to ``GET /fleet``."""

    replicas: list[ReplicaLine]
    changes: list[ChangeLine]


class Changed(BaseModel):
    """The answer to a change: the change in force, and its replicas."""

    change: ChangeLine
    shared: bool = Field(
        description="Whether Redis has the change, so that every proxy applies it within a sweep; false: this proxy "
        "applies it now, the others once Redis answers, and it is lost if this proxy stops before."
    )
    replicas: list[ReplicaLine]


class ExpectedServices(BaseModel):
    """The answer to ``PUT /fleet/expected``: all services."""

    shared: bool = Field(description="Whether Redis has it; false: the others follow once Redis answers.")
    services: dict[str, ServiceHealth]


@dataclass(slots=True)
class FleetView:
    """Renders the fleet with this proxy's statistics; ``now`` is Unix seconds."""

    registry: Registry
    local_stats: LocalStats
    now: float

    async def fleet(self) -> bytes:
        """Return ``Fleet`` as JSON: every replica, and every override in force.

        The event loop runs between two replicas, because thousands of pairs take 20 ms.
        """
        lines: list[bytes] = []
        for replica in self.registry.snapshot.replicas.values():
            lines.append(self._line(replica).model_dump_json().encode())
            await asyncio.sleep(0)
        overrides = sorted(self.registry.overrides.all(), key=lambda each: each.url)
        changes = [_change_line(each).model_dump_json().encode() for each in overrides if not each.is_undone()]
        return b'{"replicas":[%s],"changes":[%s]}' % (b",".join(lines), b",".join(changes))

    def changed(self, applied: AppliedOverride) -> Changed:
        """Return an override and its replicas."""
        replicas = self.registry.snapshot.replicas
        return Changed(
            change=_change_line(applied.override),
            shared=applied.shared,
            replicas=[self._line(replicas[url]) for url in applied.urls],
        )

    def _line(self, replica: Replica) -> ReplicaLine:
        registry = self.registry
        view = ReplicaView(replica, registry.snapshot, self.local_stats, self.now)
        return view.line(registry.names.get(replica.url, ()), registry.configured)


def _change_line(override: Override) -> ChangeLine:
    return ChangeLine(**override.model_dump(include=set(ChangeLine.model_fields)))
