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
from shared.languages import LanguagePair
from shared.protocol.errors import GlossariesUnavailableError, UnknownGlossaryError

# After this time the version is read again, so a change through another proxy is used this much later.
FRESH_SECONDS: Final = 2.0
# After its last check a glossary is used this long without Redis.
KNOWN_SECONDS: Final = 3600.0
# Pause after a failure, in which no request waits for Redis.
AWAY_SECONDS: Final = 0.5
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
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[ReadyGlossary, float]] = {}
        self._size = 0
        # One request loads a glossary, others wait for it.
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        # One glossary is read and built at a time: callers with many large ones would take its memory for each.
        self._build = asyncio.Lock()
        self._ask_after = 0.0

    async def get(self, owner: GlossaryOwner, glossary_id: str) -> ReadyGlossary:
        """Return a glossary, at most ``FRESH_SECONDS`` old while Redis answers.

        Raises:
            UnknownGlossaryError: the owner has no such glossary.
            GlossariesUnavailableError: Redis is away, and the glossary was not used lately.
        """
        key = owner.name, glossary_id
        known, checked_at = self._known.get(key, (None, 0.0))
        if known is not None and self._clock() - checked_at < FRESH_SECONDS:
            return known
        lock = self._locks.get(key)
        if lock is None:
            lock = self._locks[key] = asyncio.Lock()
        async with lock:
            known, checked_at = self._known.get(key, (None, 0.0))
            age = self._clock() - checked_at
            if known is not None and age < FRESH_SECONDS:
                return known
            try:
                return await self._check(owner, glossary_id, known)
            except GlossariesUnavailableError:
                if known is not None and age < KNOWN_SECONDS:
                    return known
                raise

    async def _check(self, owner: GlossaryOwner, glossary_id: str, known: ReadyGlossary | None) -> ReadyGlossary:
        now = self._clock()
        if now < self._ask_after:
            raise GlossariesUnavailableError("Glossaries cannot be read now: Redis did not answer an earlier call.")
        try:
            version = await self._store.version(owner, glossary_id)
            if known is None or known.version != version:
                async with self._build:
                    known = await asyncio.to_thread(ReadyGlossary.of, await self._store.read(owner, glossary_id))
            else:
                await self._store.renew(owner)
        except GlossariesUnavailableError:
            self._ask_after = now + AWAY_SECONDS
            raise
        except UnknownGlossaryError:
            self._forget((owner.name, glossary_id))
            raise
        self._keep((owner.name, glossary_id), known, now)
        return known

    def _keep(self, key: tuple[str, str], glossary: ReadyGlossary, now: float) -> None:
        self._forget(key)  # so that the new entry is the newest
        self._known[key] = glossary, now
        self._size += glossary.size
        while self._size > MAX_CACHED_ENTRIES:
            self._forget(next(iter(self._known)))

    def _forget(self, key: tuple[str, str]) -> None:
        known, _ = self._known.pop(key, (None, 0.0))
        if known is not None:
            self._size -= known.size
