"""Term finder: adds found entries of a glossary to requests."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from proxy.glossaries.cache import GlossaryCache
from proxy.glossaries.glossary import pair_name, pair_names, parse_id
from proxy.glossaries.matcher import TermMatcher
from proxy.glossaries.owner import GlossaryOwner
from shared.languages import LanguagePair, language_of, stand_ins
from shared.protocol.answers import Notice
from shared.protocol.errors import InvalidRequestError
from shared.protocol.translate_request import AUTO, MAX_PHRASES, TranslateRequest
from shared.runtime.turns import LoopTurns

# Longer texts are searched in a thread.
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

    def __init__(self, cache: GlossaryCache, turns: LoopTurns) -> None:
        self._cache = cache
        self._turns = turns

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
            return _with_terms(request, matcher)
        return await asyncio.to_thread(_with_terms, request, matcher)


def _without_variants(pair: LanguagePair) -> LanguagePair:
    return LanguagePair(*map(language_of, pair))


def _with_terms(request: TranslateRequest, matcher: TermMatcher) -> RequestWithTerms:
    found = matcher.find(request.texts, request.format)
    if not found:
        return RequestWithTerms(request, truncated=False)
    own = {source.casefold() for source in request.terms}
    added = [source for source in found if source.casefold() not in own]
    free = MAX_PHRASES - len(request.terms)
    terms = request.terms | {source: matcher.entries[source] for source in added[:free]}
    return RequestWithTerms(request.model_copy(update={"terms": terms}), truncated=len(added) > free)
