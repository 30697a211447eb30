"""Summaries of all proxies in Redis."""

from __future__ import annotations

from typing import Final

from proxy.redis_client import BoundedRedis, RedisKeys
from proxy.status.proxy_summary import MAX_SUMMARY_BYTES, ProxySummary, encode, parse

# Proxies that are shown, the latest first; their summaries take at most 3 MiB.
MAX_PROXIES: Final = 32
# A proxy that ended is shown as long as its figures are.
SUMMARY_SECONDS: Final = 900
# A proxy writes, then reads.
MAX_CALLS: Final = 1

# KEYS: index, summary; ARGV: name, record, Unix time, seconds to live, most proxies.
WRITE_SCRIPT: Final = """
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[4])
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3] - ARGV[4])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[5] - 1)
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
"""


class StatusStore(BoundedRedis):
    """Summaries of proxies; each expires. Failures raise StoreUnavailableError."""

    def __init__(self, url: str, prefix: str, timeout: float) -> None:
        super().__init__(url, timeout, MAX_CALLS)
        self._keys = RedisKeys(prefix)

    async def write(self, summary: ProxySummary) -> None:
        """Write a proxy's summary for ``SUMMARY_SECONDS``."""
        keys = self._keys.proxies, self._keys.proxy(summary.name)
        values = summary.name, encode(summary), summary.at, SUMMARY_SECONDS, MAX_PROXIES
        await self._call("EVAL", WRITE_SCRIPT, len(keys), *keys, *values)

    async def read(self) -> list[ProxySummary]:
        """Return readable summaries of the latest ``MAX_PROXIES`` proxies."""
        names: list[str] = await self._call("ZREVRANGE", self._keys.proxies, 0, MAX_PROXIES - 1)
        summaries: list[ProxySummary] = []
        for name in names:  # one after the other: parsing one takes a millisecond
            record: str = await self._call("GETRANGE", self._keys.proxy(name), 0, MAX_SUMMARY_BYTES - 1)
            if record and (summary := parse(record)) is not None:
                summaries.append(summary)
        return summaries
