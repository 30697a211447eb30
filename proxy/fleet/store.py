"""The fleet in Redis: lease, replicas, known pairs and overrides."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import to_json

from proxy.fleet.expected_replicas import Expectation
from proxy.fleet.overrides import Override
from proxy.fleet.replica import Replica
from proxy.storage.connection import RedisConnection
from proxy.storage.lease import LeaderLease
from proxy.storage.records import Codec, ExpiringRecords, IndexedRecords, LastSeen, LatestRecords
from proxy.storage.redis_keys import RedisKeys
from shared.languages import LanguagePair
from shared.protocol.report import ServedPairs

# Pairs without replicas stay known this long: 503 instead of 404.
REMEMBERED_SECONDS: Final = 24 * 3600
# Life of overrides and expectations after all proxies stopped.
OVERRIDES_SECONDS: Final = 30 * 24 * 3600
# One each for the sweep, the lease and operators' changes, and some for what was cancelled.
MAX_CALLS: Final = 8

_PAIRS: Final[TypeAdapter[ServedPairs]] = TypeAdapter(ServedPairs)


class FleetStore:
    """The fleet in Redis; every key expires. ``clock`` returns Unix seconds.

    A command takes at most ``timeout`` seconds, a batch twice that. Failures raise StoreUnavailableError.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        self._redis = RedisConnection(url, timeout, MAX_CALLS)
        self._keys = keys = RedisKeys(prefix)
        replicas = Codec("replica", _encoded, Replica.model_validate_json, logging.DEBUG)
        overrides = Codec("override", Override.model_dump_json, Override.model_validate_json, logging.DEBUG)
        expected = Codec("expectation", Expectation.model_dump_json, Expectation.model_validate_json, logging.DEBUG)
        served = Codec("served pairs", lambda pairs: to_json(pairs).decode(), _PAIRS.validate_json, logging.DEBUG)
        self._served = ExpiringRecords(self._redis, served, keys.served_pairs)
        self._known = LastSeen(self._redis, keys.pairs, REMEMBERED_SECONDS)
        self._replicas = IndexedRecords(self._redis, replicas, keys.replicas, keys.replica)
        self._pairs: dict[str, ServedPairs] = {}  # by version, as last written or read
        self._clock = clock
        self.overrides = LatestRecords(self._redis, overrides, keys.overrides, lambda each: each.url, OVERRIDES_SECONDS)
        self.expected = LatestRecords(
            self._redis, expected, keys.expected, lambda each: each.service, OVERRIDES_SECONDS
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.close()

    def lease(self, owner: str, redis_timeout: float, clock: Callable[[], float]) -> LeaderLease:
        """Return the prober's lease; ``clock`` gives monotonic seconds."""
        return LeaderLease(self._redis, self._keys.lease, owner, redis_timeout, clock)

    async def write(self, replicas: Iterable[Replica], known: Mapping[LanguagePair, float], ttl: float) -> None:
        """Write replicas for ``ttl`` seconds, and known pairs."""
        now, by_url = self._clock(), {each.url: each for each in replicas}
        reports = (each.report for each in by_url.values())
        self._pairs = {report.pairs.version: report.pairs for report in reports if report is not None}
        await self._served.put(self._pairs, ttl)
        await self._replicas.put(by_url, at=now, seconds=ttl)
        # ``en>zh-Hant`` can be split, unlike its label.
        await self._known.write({f"{pair.source}>{pair.target}": seen for pair, seen in known.items()}, now)

    async def read(self) -> tuple[list[Replica], dict[LanguagePair, float]]:
        """Return readable replicas, and known pairs with their last Unix times."""
        members = await self._known.read()
        replicas = [each for each in (await self._replicas.all()).values() if each is not None]
        await self._read_pairs(replicas)
        parts = ((member.split(">"), seen) for member, seen in members.items())
        return [known for each in replicas if (known := self._with_pairs(each)) is not None], {
            LanguagePair(*pair): float(seen) for pair, seen in parts if len(pair) == len(LanguagePair._fields)
        }

    async def _read_pairs(self, replicas: Iterable[Replica]) -> None:
        named = {each.report.pairs_version or "" for each in replicas if each.report is not None} - {""}
        self._pairs = {version: pairs for version, pairs in self._pairs.items() if version in named}
        self._pairs |= await self._served.get(sorted(named - self._pairs.keys()))

    def _with_pairs(self, replica: Replica) -> Replica | None:
        """Return the replica with pairs; None if those expired."""
        report = replica.report
        if report is None or report.pairs_version is None:  # written before pairs had versions
            return replica
        pairs = self._pairs.get(report.pairs_version)
        if pairs is None:
            return None
        return replica.model_copy(update={"report": report.model_copy(update={"pairs": pairs})})


def _encoded(replica: Replica) -> str:
    # The version of the pairs replaces them.
    if replica.report is None:
        return replica.model_dump_json()
    report = replica.report.model_copy(update={"pairs_version": replica.report.pairs.version})
    return replica.model_copy(update={"report": report}).model_dump_json(exclude={"report": {"pairs"}})
