"""What proxies write to Redis, in steps that always write the same; the clock is in the year 2100."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from unittest import mock

from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import Override, OverrideKind
from proxy.fleet.store import FleetStore
from proxy.glossaries.glossary import owner_of_key, owner_of_word
from proxy.glossaries.store import KEPT_SECONDS, RENEW_SECONDS, GlossaryStore
from proxy.keys.api_key import ApiKey, Scope
from proxy.keys.store import KeyStore
from proxy.keys.usage import LIMITS
from proxy.status.fleet_event import FleetEvent, FleetEventKind
from proxy.status.summary_store import SummaryStore
from proxy.storage.connection import RedisConnection
from proxy.storage.redis_keys import RedisKeys
from proxy.storage.scripts import hold_lease
from tests.conftest import PREFIX
from tests.proxy.glossaries.samples import dictionary, draft
from tests.proxy.samples import models, pair, replica
from tests.proxy.status.summaries import summary
from tests.support.clock import HandClock

START = 4_102_444_800.0
PATIENT = 5.0
ALICE, BOB, OLD = (f"{number:012x}" for number in (1, 2, 3))
WORD, OWNER = owner_of_word("a word"), owner_of_key(ALICE)
A, B = "http://a:8001", "http://b:8001"
LEASE = RedisKeys(PREFIX).lease


def glossary_id(number: int) -> str:
    """Return the id of the glossary that was created at this place, from 1."""
    return str(uuid.UUID(int=number, version=4))


def _clock() -> HandClock:
    clock = HandClock()
    clock.now = START
    return clock


@dataclass(slots=True)
class Stores:
    """The stores of one proxy, and its clock."""

    keys: KeyStore
    glossaries: GlossaryStore
    fleet: FleetStore
    status: SummaryStore
    redis: RedisConnection
    clock: HandClock = field(default_factory=_clock)


@asynccontextmanager
async def stores_at(url: str) -> AsyncGenerator[Stores]:
    """Open the stores of a proxy; the ids of its glossaries are counted."""
    clock, ids = _clock(), (uuid.UUID(int=number, version=4) for number in count(1))
    stores = Stores(
        KeyStore(url, PREFIX, PATIENT, clock),
        GlossaryStore(url, PREFIX, PATIENT, clock),
        FleetStore(url, PREFIX, PATIENT, clock),
        SummaryStore(url, PREFIX, PATIENT),
        RedisConnection(url, PATIENT, 1),
        clock,
    )
    try:
        with mock.patch("uuid.uuid4", side_effect=ids):
            yield stores
    finally:
        for store in (stores.keys, stores.glossaries, stores.fleet, stores.status, stores.redis):
            await store.close()


def key(key_id: str, **granted: Any) -> ApiKey:
    """Return a key with this id."""
    values: dict[str, Any] = {"name": f"n-{key_id[-1]}", "digest": "ab" * 32, "created_at": START + int(key_id, 16)}
    return ApiKey(id=key_id, **(values | granted))


def override(url: str, at: float, **changes: Any) -> Override:
    """Return an operator's change of a URL."""
    values: dict[str, Any] = {"verdict": OverrideKind.DRAINED, "since": at, **changes}
    return Override(url=url, at=at, **values)


def counters(key_id: str) -> list[str]:
    """Return the names of a key's counters at START."""
    names = ("2100-01-01T00:00", "2100-01-01", "2100-01")
    return [f"{PREFIX}use:{key_id}:{limit.unit}:{name}" for limit, name in zip(LIMITS, names, strict=True)]


async def add_keys(stores: Stores) -> None:
    limits = {"requests_per_minute": 3, "chars_per_day": 100, "chars_per_month": 1000}
    await stores.keys.add(key(ALICE, pairs=("en-de", "zh-Hant>de"), **limits))
    await stores.keys.add(key(BOB, scopes=(Scope.OPERATE,), cached=False))
    await stores.keys.add(key(OLD, expires_at=START + 3600))


async def count_usage(stores: Stores) -> None:
    await stores.keys.count(ALICE, requests=1)
    await stores.keys.count(ALICE, chars=60)
    await stores.keys.count(ALICE, chars=60)
    await stores.keys.count(BOB, requests=2)


async def refund(stores: Stores) -> None:
    await stores.keys.refund(counters(ALICE)[1:], 20)
    await stores.keys.refund(counters(BOB)[1:], 20)


async def change_keys(stores: Stores) -> None:
    await stores.keys.change(ALICE, {"chars_per_day": None, "name": "Älice"})
    await stores.keys.revoke(BOB)


async def raise_counters(stores: Stores) -> None:
    await stores.keys.raise_chars(ALICE, {"2100-01-01": 50, "2100-01": 30, "2099-12": 7})
    await stores.keys.raise_chars(OLD, {"2100-01": 12})


async def create_glossaries(stores: Stores) -> None:
    await stores.glossaries.create(WORD, draft())
    await stores.glossaries.create(WORD, draft(dictionary("en", "zh-Hant", tea="茶"), name="Tea"))
    await stores.glossaries.create(OWNER, draft())


async def change_glossaries(stores: Stores) -> None:
    await stores.glossaries.update(WORD, glossary_id(1), lambda each: each.renamed("Goods"))
    await stores.glossaries.update(OWNER, glossary_id(3), lambda each: each.with_entries(dictionary(tea="Tee")))


async def renew_glossaries(stores: Stores) -> None:
    stores.clock.now = START + RENEW_SECONDS + 1
    await stores.glossaries.list_all(WORD)
    await stores.glossaries.list_all(OWNER)


async def delete_glossary(stores: Stores) -> None:
    await stores.glossaries.delete(WORD, glossary_id(2))


async def purge_glossaries(stores: Stores) -> None:
    stores.clock.now = START + RENEW_SECONDS + KEPT_SECONDS + 2
    await stores.glossaries.purge()


async def delete_last_glossary(stores: Stores) -> None:
    await stores.glossaries.delete(OWNER, glossary_id(3))


async def take_lease(stores: Stores) -> None:
    await hold_lease(stores.redis, LEASE, "p1", 60_000)
    await hold_lease(stores.redis, LEASE, "p2", 90_000)


async def write_replicas(stores: Stores) -> None:
    stores.clock.now = START
    fleet = [
        replica(A, "en>de", starting=("en>zh-Hant",), models=models(ahead=1, limit=8, rate=2.5)),
        replica(B).silent("no answer", 5.0, max_misses=1),
    ]
    await stores.fleet.write(fleet, {pair("en>de"): START, pair("en>zh-Hant"): START - 5}, 600)


async def replica_leaves(stores: Stores) -> None:
    stores.clock.now = START + 601
    await stores.fleet.write([replica(A, "en>de")], {pair("en>de"): START + 601}, 600)


async def write_overrides(stores: Stores) -> None:
    drained = override(A, START)
    added = override("http://c:1", START + 0.125, verdict=OverrideKind.SERVING, added=True, weight=0.5)
    await stores.fleet.overrides.write([drained, added])


async def replace_overrides(stores: Stores) -> None:
    earlier, later = override(A, START - 1, weight=2.0), override("http://c:1", START + 1, since=START, added=True)
    await stores.fleet.overrides.write([earlier, later])


async def delete_override(stores: Stores) -> None:
    await stores.fleet.overrides.delete(["http://c:1"])


async def state_expected(stores: Stores) -> None:
    await stores.fleet.expected.write(
        [Expectation(service=name, count=3, at=START, learnt=False) for name in ("de", "fr")]
    )


async def take_expected_back(stores: Stores) -> None:
    back = Expectation(service="fr", count=0, at=START + 1, learnt=True)
    await stores.fleet.expected.write([back, Expectation(service="de", count=1, at=START - 1, learnt=False)])


async def release_lease(stores: Stores) -> None:
    await hold_lease(stores.redis, LEASE, "p2", 0)
    await hold_lease(stores.redis, LEASE, "p1", 0)


async def write_summaries(stores: Stores) -> None:
    events = [FleetEvent.of(FleetEventKind.REPLICA_DOWN, START, A, "no answer")]
    await stores.status.write(summary("p1", at=START, started_at=START - 60, leader=True, events=events))
    await stores.status.write(summary("p2", at=START + 1, started_at=START - 60))


STEPS: Mapping[str, Callable[[Stores], Awaitable[None]]] = {
    step.__name__: step
    for step in (
        add_keys,
        count_usage,
        refund,
        change_keys,
        raise_counters,
        create_glossaries,
        change_glossaries,
        renew_glossaries,
        delete_glossary,
        purge_glossaries,
        delete_last_glossary,
        take_lease,
        write_replicas,
        replica_leaves,
        write_overrides,
        replace_overrides,
        delete_override,
        state_expected,
        take_expected_back,
        release_lease,
        write_summaries,
    )
}
