"""Summaries of all proxies in Redis."""

from __future__ import annotations

import logging
from typing import Final

from proxy.status.proxy_summary import MAX_SUMMARY_BYTES, ProxySummary, encode
from proxy.storage.connection import RedisConnection, RedisKeys
from proxy.storage.records import Codec, IndexedRecords

# Proxies that are shown, the latest first; their summaries take at most 3 MiB.
MAX_PROXIES: Final = 32
# A proxy that ended is shown as long as its figures are.
SUMMARY_SECONDS: Final = 900
# A proxy writes, then reads.
MAX_CALLS: Final = 1

# One at a time: parsing one takes a millisecond.
PAGE: Final = 1

_CODEC: Final = Codec("summary of a proxy", encode, ProxySummary.model_validate_json, logging.DEBUG)


class StatusStore:
    """Summaries of proxies; each expires. Failures raise StoreUnavailableError."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        keys, self._redis = RedisKeys(prefix), RedisConnection(url, timeout, MAX_CALLS)
        self._summaries = IndexedRecords(
            self._redis,
            _CODEC,
            keys.proxies,
            keys.proxy,
            most=MAX_PROXIES,
            max_bytes=MAX_SUMMARY_BYTES,
            page=PAGE,
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
