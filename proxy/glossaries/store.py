"""Glossaries in Redis: a list and records for each owner."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Final, TypeVar

from pydantic import BaseModel

from proxy.glossaries.glossary import MAX_GLOSSARY_BYTES, Glossary, GlossaryDraft, GlossaryInfo, GlossaryOwner
from proxy.storage.connection import RedisConnection, StoreUnavailableError
from proxy.storage.owned_records import OwnedRecords
from proxy.storage.records import Codec, RecordContendedError, update_record
from proxy.storage.redis_keys import RedisKeys
from shared.protocol.answers import KEEPS_NO_WORDS
from shared.protocol.errors import (
    GlossariesFullError,
    GlossariesUnavailableError,
    TooLargeError,
    UnknownGlossaryError,
)
from shared.runtime.turns import FairLock, FairThread

A = TypeVar("A")
R = TypeVar("R")

log = logging.getLogger(__name__)

# Of one owner.
MAX_GLOSSARIES: Final = 100
# Of all owners: half of what Redis holds in compose, so that the fleet's state always has space.
MAX_STORED_BYTES: Final = 64 * 1024 * 1024
# What Redis needs for a glossary beside its record.
OVERHEAD_BYTES: Final = 1024
# An owner that expires uses glossaries this long after the last use, which is written at most once in RENEW_SECONDS.
KEPT_SECONDS: Final = 31 * 24 * 3600
RENEW_SECONDS: Final = 24 * 3600
# After that an API key is looked for again; glossaries outlive it by no more.
KEY_CHECK_SECONDS: Final = 24 * 3600
# Owners whose renewal this proxy remembers; a forgotten one is renewed again.
MAX_RENEWED: Final = 10_000
PURGE_SECONDS: Final = 3600.0
# Calls at once: records are large.
MAX_CALLS: Final = 8
# Larger records are read and written in a thread.
INLINE_BYTES: Final = 16_384
INLINE_ENTRIES: Final = 500


class _Line(BaseModel):
    """A glossary in its owner's list; ``size`` is in bytes."""

    model_config = KEEPS_NO_WORDS

    version: int
    size: int
    info: GlossaryInfo


_LINES: Final = Codec("line of a glossary", _Line.model_dump_json, _Line.model_validate_json)
_GLOSSARIES: Final = Codec("glossary", Glossary.model_dump_json, Glossary.model_validate_json)


class GlossaryStore:
    """Glossaries in Redis, over connections of their own; ``clock`` gives Unix seconds.

    Every method raises GlossariesUnavailableError if Redis is away or refuses to write.
    """

    def __init__(self, url: str, prefix: str, timeout: float, clock: Callable[[], float]) -> None:
        self._redis = RedisConnection(url, timeout, MAX_CALLS)
        self._records = OwnedRecords(self._redis, RedisKeys(prefix))
        self._clock = clock
        self._renewed: dict[str, float] = {}
        # For long work on glossaries, owners in turn.
        self.thread = FairThread("glossaries")
        self._change = FairLock()
        # Held while a draft is read: a half-read one takes several times its bytes.
        self.reading = FairLock()

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.close()

    async def create(self, owner: GlossaryOwner, draft: GlossaryDraft) -> Glossary:
        """Store a new glossary.

        Raises:
            GlossariesFullError: the owner, or all owners together, have too many.
            TooLargeError: it has too many bytes.
        """
        glossary = Glossary.create(draft, self._clock())
        await self._write(owner, glossary, 0)
        return glossary

    async def list_all(self, owner: GlossaryOwner) -> list[GlossaryInfo]:
        """Return the owner's readable glossaries, the oldest first."""
        await self.renew(owner)
        with _mapped_errors():
            lines = await self._records.lines(owner.name)
        parsed = [line.info for each in lines if (line := _LINES.decode(each)) is not None]
        return sorted(parsed, key=lambda info: (info.created_at, info.id))

    async def info(self, owner: GlossaryOwner, glossary_id: str) -> GlossaryInfo:
        """Return a glossary without entries; raise UnknownGlossaryError without one."""
        await self.renew(owner)
        return (await self._line(owner, glossary_id)).info

    async def version(self, owner: GlossaryOwner, glossary_id: str) -> int:
        """Return a glossary's version; raise UnknownGlossaryError without one."""
        return (await self._line(owner, glossary_id)).version

    async def read(self, owner: GlossaryOwner, glossary_id: str) -> Glossary:
        """Return a glossary with its entries; raise UnknownGlossaryError without one."""
        await self.renew(owner)
        with _mapped_errors():
            record = await self._records.text(owner.name, glossary_id)
        small = len(record or "") <= INLINE_BYTES
        glossary = _GLOSSARIES.decode(record) if small else await self._in_thread(owner, _GLOSSARIES.decode, record)
        if glossary is None:
            raise UnknownGlossaryError(glossary_id)
        return glossary

    async def update(self, owner: GlossaryOwner, glossary_id: str, change: Callable[[Glossary], Glossary]) -> Glossary:
        """Write what ``change`` makes of a glossary.

        ``change`` is called again if the glossary changed meanwhile. One glossary is changed at a time, owners in turn: a
        small change of a large one takes the memory of the whole.

        Raises:
            UnknownGlossaryError: there is no such glossary.
            GlossariesFullError: all owners together have too many bytes.
            TooLargeError: it has too many bytes.
        """

        async def read() -> tuple[Glossary, int]:
            glossary = await self.read(owner, glossary_id)
            return glossary, glossary.version

        async def replace(version: int, glossary: Glossary) -> bool:
            return await self._write(owner, glossary, version)

        async with self._change.held(owner.name):
            try:
                return await update_record(read, replace, change)
            except RecordContendedError as error:
                detail = "The glossary was changed by other requests at every try."
                raise GlossariesUnavailableError(detail) from error

    async def delete(self, owner: GlossaryOwner, glossary_id: str) -> None:
        """Delete a glossary; raise UnknownGlossaryError without one."""
        if not await self._run_write(owner, glossary_id, "", "", "", 0):
            raise UnknownGlossaryError(glossary_id)

    async def renew(self, owner: GlossaryOwner) -> None:
        """Note a use by an owner that may expire.

        Within RENEW_SECONDS after another use nothing is done. Without Redis nothing is noted; the next use is.
        """
        now = self._clock()
        if not owner.expires or now < self._renewed.get(owner.name, -math.inf) + RENEW_SECONDS:
            return
        try:
            with _mapped_errors():
                await self._records.renew(owner.name, KEPT_SECONDS, now + KEPT_SECONDS)
        except GlossariesUnavailableError:  # a Redis that refuses to write can still be read
            return
        self._renewed.pop(owner.name, None)
        self._renewed[owner.name] = now
        if len(self._renewed) > MAX_RENEWED:
            del self._renewed[next(iter(self._renewed))]

    async def purge(self) -> None:
        """Forget owners that expired, and delete the glossaries of deleted API keys."""
        now = self._clock()
        with _mapped_errors():
            await self._records.purge(now, now + KEY_CHECK_SECONDS)

    async def tick(self) -> None:
        """Purge, unless Redis is away."""
        try:
            await self.purge()
        except GlossariesUnavailableError as error:
            log.warning("glossaries cannot be purged", extra={"error": str(error.__cause__)})

    async def _write(self, owner: GlossaryOwner, glossary: Glossary, version: int) -> bool:
        """Return whether it is written; not if its version in Redis differs."""
        entries = sum(len(each.entries) for each in glossary.dictionaries)
        small = entries <= INLINE_ENTRIES
        record = _GLOSSARIES.encode(glossary) if small else await self._in_thread(owner, _GLOSSARIES.encode, glossary)
        size = len(record.encode())
        if size > MAX_GLOSSARY_BYTES:
            raise TooLargeError("The glossary", size=size, limit=MAX_GLOSSARY_BYTES, unit="bytes as JSON")
        size += OVERHEAD_BYTES
        line = _LINES.encode(_Line(version=glossary.version, size=size, info=glossary.info))
        written = await self._run_write(owner, glossary.id, version, record, line, size)
        if written == -2:  # expired ones may still be counted
            await self.purge()
            written = await self._run_write(owner, glossary.id, version, record, line, size)
        if written == -1:
            detail = f"You have {MAX_GLOSSARIES} glossaries, which is the maximum; delete one."
            raise GlossariesFullError(detail, limit=MAX_GLOSSARIES, unit="glossaries")
        if written == -2:
            detail = f"The glossaries of all callers fill this fleet's limit of {MAX_STORED_BYTES} bytes."
            raise GlossariesFullError(detail, limit=MAX_STORED_BYTES, unit="bytes")
        return bool(written)

    async def _in_thread(self, owner: GlossaryOwner, convert: Callable[[A], R], value: A) -> R:
        """Convert a large record at its owner's turn."""
        return await self.thread.run(owner.name, partial(convert, value))

    async def _run_write(
        self, owner: GlossaryOwner, glossary_id: str, version: int | str, record: str, line: str, size: int
    ) -> int:
        """Run the script; '' as ``record`` deletes, '' as ``version`` means any."""
        seconds = KEPT_SECONDS if owner.expires else KEY_CHECK_SECONDS
        lifetime, purge_at = KEPT_SECONDS if owner.expires else "", self._clock() + seconds
        limits = MAX_GLOSSARIES, MAX_STORED_BYTES
        values = owner.name, glossary_id, version, record, line, size, limits, lifetime, purge_at
        with _mapped_errors():
            return await self._records.write(*values)

    async def _line(self, owner: GlossaryOwner, glossary_id: str) -> _Line:
        with _mapped_errors():
            line = _LINES.decode(await self._records.line(owner.name, glossary_id))
        if line is None:
            raise UnknownGlossaryError(glossary_id)
        return line


@contextmanager
def _mapped_errors() -> Generator[None]:
    try:
        yield
    except StoreUnavailableError as error:
        # Callers learn no addresses of Redis.
        raise GlossariesUnavailableError("Glossaries cannot be read or changed now.") from error
