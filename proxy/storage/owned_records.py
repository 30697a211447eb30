"""Records of owners, limited and purged with their owners: glossaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.storage.connection import RedisConnection
from proxy.storage.redis_keys import RedisKeys
from proxy.storage.scripts import purge_owners, write_glossary

# Owners purged in one call, and calls of one purge; the next purge continues.
PURGE_PAGE: Final = 20
MAX_PURGE_PAGES: Final = 500


@dataclass(eq=False, slots=True)
class OwnedRecords:
    """Records as text, and a list of lines for each owner."""

    _redis: RedisConnection
    _keys: RedisKeys

    async def lines(self, owner: str) -> list[str]:
        """Return the lines of an owner's list."""
        return await self._redis.call("HVALS", self._keys.glossaries(owner))

    async def line(self, owner: str, record_id: str) -> str | None:
        """Return a record's line; None without one."""
        return await self._redis.call("HGET", self._keys.glossaries(owner), record_id)

    async def text(self, owner: str, record_id: str) -> str | None:
        """Return a record's text; None without one."""
        return await self._redis.call("GET", self._keys.glossary(owner, record_id))

    async def write(
        self,
        owner: str,
        record_id: str,
        version: int | str,
        text: str,
        line: str,
        size: int,
        limits: tuple[int, int],
        lifetime: int | str,
        purge_at: float,
    ) -> int:
        """Write or delete a record; arguments and answer are the script's."""
        keys = self._keys
        names = keys.glossaries(owner), keys.glossary_owners, keys.glossary_bytes, keys.glossary(owner, "")
        values = owner, record_id, version, text, line, size, limits, lifetime, purge_at
        return await write_glossary(self._redis, *names, *values)

    async def renew(self, owner: str, lifetime: int, purge_at: float) -> None:
        """Let all records of an owner live on."""
        lines = self._keys.glossaries(owner)
        exists, ids = await self._redis.send([("EXPIRE", lines, lifetime), ("HKEYS", lines)], timeouts=1)
        if exists:
            renewals = [("EXPIRE", self._keys.glossary(owner, each), lifetime) for each in ids]
            await self._redis.send([*renewals, ("ZADD", self._keys.glossary_owners, purge_at, owner)], timeouts=1)

    async def purge(self, now: float, next_look: float) -> None:
        """Forget owners that are due, unless their API key exists."""
        keys = self._keys
        beginnings = keys.glossaries(""), keys.glossary("", "").removesuffix(":"), keys.api_key("")
        for _ in range(MAX_PURGE_PAGES):
            names = keys.glossary_owners, keys.glossary_bytes, *beginnings
            if await purge_owners(self._redis, *names, now, next_look, PURGE_PAGE) < PURGE_PAGE:
                return
