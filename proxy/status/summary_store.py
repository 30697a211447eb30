"""Summaries of all proxies in Redis, for the status page."""

from __future__ import annotations

import logging
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from proxy.status.figure_ring import MAX_PAIRS, SLOTS, PairCounts, SlotFigures
from proxy.status.fleet_event import MAX_EVENTS, FleetEvent
from proxy.status.issue_times import MAX_SHARED_ISSUES, SharedIssue
from proxy.storage.connection import RedisConnection
from proxy.storage.records import Codec, IndexedRecords
from proxy.storage.redis_keys import RedisKeys

# 90 slots of at most 400 bytes, 50 events of at most 700, 64 issues of at most 350 and 100 pairs of at most 90 in the worst
# case; usually 10 kB.
MAX_SUMMARY_BYTES: Final = 96 * 1024
MAX_NAME_CHARS: Final = 300
# Proxies that are shown, the latest first; their summaries take at most 3 MiB.
MAX_PROXIES: Final = 32
# A proxy that ended is shown as long as its figures are.
SUMMARY_SECONDS: Final = 900
# A proxy writes, then reads.
MAX_CALLS: Final = 1

# One at a time: parsing one takes a millisecond.
PAGE: Final = 1


class ProxySummary(BaseModel):
    """One proxy at ``at``: its start, figures, events and issues.

    ``pairs`` are those of the last minute; None: earlier versions have none.
    """

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)]
    version: Annotated[str, Field(max_length=64)]
    at: FiniteFloat
    started_at: FiniteFloat
    leader: bool
    draining: bool
    slots: Annotated[list[SlotFigures], Field(max_length=SLOTS)]
    events: Annotated[list[FleetEvent], Field(max_length=MAX_EVENTS)]
    issues: Annotated[list[SharedIssue], Field(max_length=MAX_SHARED_ISSUES)] = Field(default_factory=list[SharedIssue])
    pairs: Annotated[PairCounts, Field(max_length=MAX_PAIRS)] | None = None


def encode(summary: ProxySummary) -> str:
    """Return the record, at most ``MAX_SUMMARY_BYTES``: without the oldest events, then slots."""
    while True:
        record = summary.model_dump_json(exclude_defaults=True)
        if len(record.encode()) <= MAX_SUMMARY_BYTES or not (summary.events or summary.slots):
            return record
        events = summary.events[len(summary.events) // 2 + 1 :]
        slots = summary.slots if summary.events else summary.slots[len(summary.slots) // 2 + 1 :]
        summary = summary.model_copy(update={"events": events, "slots": slots})


_CODEC: Final = Codec("summary of a proxy", encode, ProxySummary.model_validate_json, logging.DEBUG)


class SummaryStore:
    """Summaries of proxies; each expires. Failures raise StoreUnavailableError."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        keys, self._redis = RedisKeys(prefix), RedisConnection(url, timeout, MAX_CALLS)
        self._summaries = IndexedRecords(
            self._redis, _CODEC, keys.proxies, keys.proxy, most=MAX_PROXIES, max_bytes=MAX_SUMMARY_BYTES, page=PAGE
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.close()

    async def write(self, summary: ProxySummary) -> None:
        """Write a proxy's summary for ``SUMMARY_SECONDS``."""
        await self._summaries.put({summary.name: summary}, at=summary.at, seconds=SUMMARY_SECONDS)

    async def read(self) -> list[ProxySummary]:
        """Return readable summaries of the latest ``MAX_PROXIES`` proxies."""
        return [each for each in (await self._summaries.latest()).values() if each is not None]
