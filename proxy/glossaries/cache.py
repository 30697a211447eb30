"""Cache of glossaries with their matchers, in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

from proxy.glossaries.glossary import Glossary
from proxy.glossaries.matcher import TermMatcher
from proxy.glossaries.owner import GlossaryOwner
from proxy.glossaries.store import GlossaryStore
from proxy.storage.recent_copies import Outage, RecentCopies
from shared.languages import LanguagePair
from shared.protocol.errors import GlossariesUnavailableError, UnknownGlossaryError

# After this time the version is read again, so a change through another proxy is used this much later.
FRESH_SECONDS: Final = 2.0
# Entries in memory; the glossary checked longest ago is dropped first. A longer one counts as several of half a KiB: an
# emoji makes a phrase of 200 letters four times as large, and three copies of it 3 KiB.
MAX_CACHED_ENTRIES: Final = 100_000
ENTRY_BYTES: Final = 512
# Of an entry beside its words: its places in tables. Of a dictionary and a glossary: the tables and names.
OVERHEAD_BYTES: Final = 300
DICTIONARY_BYTES: Final = 2048
GLOSSARY_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class ReadyGlossary:
    """A glossary's matchers by pair."""

    version: int
    matchers: Mapping[LanguagePair, TermMatcher]

    @classmethod
    def of(cls, glossary: Glossary) -> ReadyGlossary:
        """Build the matchers; 10,000 entries take 25 ms."""
        return cls(glossary.version, {each.pair: TermMatcher(each.entries) for each in glossary.dictionaries})

    @property
    def size(self) -> int:
        """Size in entries of ``ENTRY_BYTES``; at least its entries."""
        entries = sum(len(each.entries) for each in self.matchers.values())
        words = sum(each.word_bytes for each in self.matchers.values())
        tables = GLOSSARY_BYTES + len(self.matchers) * DICTIONARY_BYTES + entries * OVERHEAD_BYTES
        return max(entries, (words + tables) // ENTRY_BYTES)


class GlossaryCache:
    """Cache of glossaries in front of the store; ``clock`` gives monotonic seconds."""

    def __init__(self, store: GlossaryStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._copies = RecentCopies[tuple[str, str], ReadyGlossary](
            clock,
            FRESH_SECONDS,
            MAX_CACHED_ENTRIES,
            GlossariesUnavailableError,
            size=lambda glossary: glossary.size,
        )
        self._outage = Outage(clock, "glossaries cannot be read", "glossaries can be read again")
        # One request loads a glossary, others wait for it.
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        # One glossary is read and built at a time: callers with many large ones would take its memory for each.
        self._build = asyncio.Lock()

    async def get(self, owner: GlossaryOwner, glossary_id: str) -> ReadyGlossary:
        """Return a glossary, at most ``FRESH_SECONDS`` old while Redis answers.

        Raises:
            UnknownGlossaryError: the owner has no such glossary.
            GlossariesUnavailableError: Redis is away, and the glossary was not used lately.
        """
        key = owner.name, glossary_id
        glossary = self._copies.fresh(key)
        if glossary is not None:
            return glossary
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            glossary = await self._copies.get(key, lambda known: self._check(owner, glossary_id, known))
        if glossary is None:
            raise UnknownGlossaryError(glossary_id)
        return glossary

    async def _check(self, owner: GlossaryOwner, glossary_id: str, known: ReadyGlossary | None) -> ReadyGlossary | None:
        """Return the glossary as it is now; None if there is none."""
        if not self._outage.start_call():
            raise GlossariesUnavailableError("Glossaries cannot be read now: Redis did not answer an earlier call.")
        try:
            glossary = await self._read(owner, glossary_id, known)
        except GlossariesUnavailableError as error:
            self._outage.begin(error)
            raise
        self._outage.end()
        return glossary

    async def _read(self, owner: GlossaryOwner, glossary_id: str, known: ReadyGlossary | None) -> ReadyGlossary | None:
        try:
            version = await self._store.version(owner, glossary_id)
            if known is not None and known.version == version:
                await self._store.renew(owner)
                return known
            async with self._build:
                return await asyncio.to_thread(ReadyGlossary.of, await self._store.read(owner, glossary_id))
        except UnknownGlossaryError:
            return None
