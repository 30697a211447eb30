"""Term finder: adds entries of a glossary to requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from proxy.glossaries.glossary import Glossary, GlossaryOwner, pair_name, pair_names, parse_id
from proxy.glossaries.matcher import TermMatcher
from proxy.glossaries.store import GlossaryStore
from proxy.storage.recent_copies import Outage, RecentCopies
from shared.languages import LanguagePair, language_of, stand_ins
from shared.protocol.answers import Notice
from shared.protocol.errors import GlossariesUnavailableError, InvalidRequestError, UnknownGlossaryError
from shared.protocol.translate_request import AUTO, MAX_PHRASES, TranslateRequest
from shared.runtime.turns import FairLock, FairThread, LoopTurns, Steps, finish

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
    def of(cls, glossary: Glossary) -> Steps[ReadyGlossary]:
        """Build the matchers, in steps."""
        matchers: dict[LanguagePair, TermMatcher] = {}
        for each in glossary.dictionaries:
            matchers[each.pair] = yield from TermMatcher.build(each.entries)
        return cls(glossary.version, matchers)

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
        # One glossary is read and built at a time, owners in turn: those with many large ones would take its memory for each.
        self._build = FairLock()

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
            async with self._build.held(owner.name):
                steps = ReadyGlossary.of(await self._store.read(owner, glossary_id))
                return await self._store.thread.run_steps(owner.name, steps)
        except UnknownGlossaryError:
            return None


# Longer texts are searched in a thread, owners in turn.
INLINE_CHARS: Final = 2048
# For each of their characters, at most: nested entries in markup with character references.
CHAR_SECONDS: Final = 4e-6
TRUNCATED: Final = Notice(
    code="glossary-truncated",
    message=f"The texts of this request have more entries of the glossary than a request may have terms ({MAX_PHRASES}); "
    "the longest were used. Send fewer texts in a request.",
)


class RequestWithTerms(NamedTuple):
    """A request with its glossary's entries as terms.

    ``truncated``: there were too many, and the shortest were left out; each result gets ``TRUNCATED``.
    """

    request: TranslateRequest
    truncated: bool


class TermFinder:
    """Finds a glossary's entries for requests of all APIs."""

    def __init__(self, cache: GlossaryCache, turns: LoopTurns, thread: FairThread) -> None:
        self._cache = cache
        self._turns = turns
        self._thread = thread

    async def add_terms(
        self, owner: GlossaryOwner, glossary_id: str, request: TranslateRequest, *, for_variants: bool = False
    ) -> RequestWithTerms:
        """Return the request with the found entries; its own terms come first.

        ``for_variants``: without a fitting dictionary, that of the languages without script and region is used, as zh
        for zh-Hant.

        Raises:
            UnknownGlossaryError: the owner has no such glossary.
            InvalidRequestError: the source language is to be detected, or the glossary lacks the pair.
            GlossariesUnavailableError: Redis is away, and the glossary was not used lately.
        """
        if request.source_lang == AUTO:
            raise InvalidRequestError([("glossary", "needs source_lang: a dictionary is for one source language")])
        glossary = await self._cache.get(owner, parse_id(glossary_id))
        pair = LanguagePair(request.source_lang, request.target_lang)
        fitting = stand_ins(pair, glossary.matchers)
        if not fitting and for_variants and (bare := _without_variants(pair)) in glossary.matchers:
            fitting = [bare]
        if not fitting:
            known = ", ".join(pair_names(list(glossary.matchers))) or "none yet"
            raise InvalidRequestError([("glossary", f"has no dictionary for {pair_name(pair)}; its pairs: {known}")])
        matcher = glossary.matchers[fitting[0]]
        if request.chars <= INLINE_CHARS:
            await self._turns.take((request.chars + 1) * CHAR_SECONDS)
            return finish(_with_terms(request, matcher))
        return await self._thread.run_steps(owner.name, _with_terms(request, matcher))


def _without_variants(pair: LanguagePair) -> LanguagePair:
    return LanguagePair(*map(language_of, pair))


def _with_terms(request: TranslateRequest, matcher: TermMatcher) -> Steps[RequestWithTerms]:
    found = yield from matcher.find(request.texts, request.format)
    if not found:
        return RequestWithTerms(request, truncated=False)
    own = {source.casefold() for source in request.terms}
    added = [source for source in found if source.casefold() not in own]
    free = MAX_PHRASES - len(request.terms)
    terms = request.terms | {source: matcher.entries[source] for source in added[:free]}
    return RequestWithTerms(request.model_copy(update={"terms": terms}), truncated=len(added) > free)
