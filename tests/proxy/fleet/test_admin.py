"""Operators' changes of the fleet."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from proxy.fleet.admin import FleetAdmin
from proxy.fleet.discovery import Discovery
from proxy.fleet.overrides import OverrideKind
from proxy.fleet.replica import ReplicaState
from shared.protocol.errors import InvalidRequestError, UnknownReplicaError
from tests.proxy.fleet.registries import A, B, ProxyParts, proxy_at
from tests.proxy.proxies import nowhere
from tests.proxy.samples import replica

NEW = "http://127.0.0.1:9"


@pytest.fixture
async def parts() -> AsyncGenerator[ProxyParts]:
    async with proxy_at(nowhere()) as one:
        one.adopt(replica(A, "en>de"), replica(B, "en>de"))
        yield one


@pytest.fixture
def admin(parts: ProxyParts) -> FleetAdmin:
    return FleetAdmin(parts.registry, Discovery())


async def test_drain_and_resume_return_the_override_and_its_urls(parts: ProxyParts, admin: FleetAdmin) -> None:
    drained = await admin.drain(A)
    assert (drained.override.verdict, drained.urls, drained.shared) == (OverrideKind.DRAINED, (A,), False)
    assert parts.state(A) is ReplicaState.DRAINING
    resumed = await admin.resume(A)
    assert resumed.override.is_undone()
    assert parts.state(A) is ReplicaState.READY


async def test_added_replica_is_removed_without_a_trace(parts: ProxyParts, admin: FleetAdmin) -> None:
    added = await admin.add(NEW, 2.0, keeps_weight=False)
    assert (added.urls, added.override.added, added.override.weight) == ((NEW,), True, 2.0)
    assert (await admin.add(NEW, None, keeps_weight=True)).override.weight == 2.0
    removed = await admin.remove(NEW)
    assert (removed.urls, removed.override.is_undone()) == ((), True)
    assert NEW not in parts.registry.snapshot.replicas


async def test_removed_replica_of_the_settings_stays_removed(parts: ProxyParts, admin: FleetAdmin) -> None:
    assert not (await admin.remove(B)).override.is_undone()
    assert parts.registry.fleet_urls() == [A]
    assert (await admin.add(B, None, keeps_weight=True)).urls == (B,)


async def test_unknown_replica_is_refused(admin: FleetAdmin) -> None:
    for command in (admin.drain, admin.resume, admin.remove):
        with pytest.raises(UnknownReplicaError, match=NEW):
            await command(NEW)


async def test_expected_replicas_hold_here_without_redis() -> None:
    async with proxy_at(nowhere(), configured=("http://de:1",)) as parts:
        admin = FleetAdmin(parts.registry, Discovery())
        assert not await admin.expect({"de": 2})
        assert [each.expected for each in parts.registry.services] == [2]
        with pytest.raises(InvalidRequestError, match="fr: is not a service"):
            await admin.expect({"fr": 2})
