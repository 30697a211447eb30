"""The list of places in memory that words of callers can fill: those of the proxy."""

# What objects keep is private.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, cast

from proxy.admission.retry_after import MAX_CALLERS, RetryAfter
from proxy.api.compat import languages, libretranslate
from proxy.cache.memory_cache import MemoryCache
from proxy.glossaries.glossary import Dictionary, Glossary, GlossaryDraft, GlossaryOwner, owner_of_word
from proxy.glossaries.store import MAX_RENEWED, GlossaryStore
from proxy.glossaries.term_finder import MAX_CACHED_ENTRIES, GlossaryCache
from proxy.keys import caller
from proxy.keys.api_key import ApiKey, Scope
from proxy.keys.store import MAX_KNOWN, CachedKeyStore
from proxy.routing.language_detector import MAX_SERVED_SETS, LanguageDetector, LanguageScores
from proxy.storage.owned_records import OwnedRecords
from proxy.storage.redis_keys import RedisKeys
from shared.runtime.turns import FairThread
from tests.bounds.places import Place, cache_place, fresh_tag

_CLOCK = iter(range(10**9))
ENTRIES = 5000


class _Keys:
    """A store in which each key exists."""

    async def read(self, key_id: str) -> ApiKey:
        """Return a key with this id."""
        return _KEY.model_copy(update={"id": key_id})


class _Redis:
    """A Redis that answers yes."""

    async def send(self, commands: Sequence[object], **_: object) -> list[Any]:
        """Answer each command: a list exists, and is empty."""
        answers: list[Any] = [1, []]
        return answers[: len(commands)]


class _Glossaries:
    """A store in which each owner has each glossary, of ``ENTRIES`` entries."""

    thread = FairThread("glossaries")

    async def version(self, _owner: GlossaryOwner, _id: str) -> int:
        """Return a glossary's version."""
        return 1

    async def read(self, _owner: GlossaryOwner, glossary_id: str) -> Glossary:
        """Return a glossary."""
        dictionary = Dictionary(
            source_lang="en", target_lang="de", entries={f"a{number} {glossary_id}": "b" for number in range(ENTRIES)}
        )
        return Glossary.create(GlossaryDraft(name="a", dictionaries=[dictionary]), 0.0)


_KEY = ApiKey(id="0" * 12, name="a", digest="0" * 64, created_at=0.0, scopes=(Scope.TRANSLATE,))


def proxy_places() -> Sequence[Place]:
    """Return the places of the proxy, with tables of their own."""
    detector, scores = LanguageDetector(), LanguageScores(["en"], [1.0], has_letters=True)
    retry_after = RetryAfter(lambda: 0.0, random.Random(1))  # noqa: S311 - jitter, not secrets
    keys = CachedKeyStore(cast("Any", _Keys()), lambda: float(next(_CLOCK)), serves_without_redis=True)
    owners = GlossaryStore("redis://127.0.0.1:1/0", "test:", 1.0, lambda: float(next(_CLOCK)))
    owners._records = OwnedRecords(cast("Any", _Redis()), RedisKeys("test:"))
    glossaries = GlossaryCache(cast("Any", _Glossaries()), lambda: float(next(_CLOCK)))
    memory = MemoryCache(100_000, lambda: 0.0)
    return (
        cache_place(
            caller.at_address, lambda number: caller.at_address(f"2001:db8:{number >> 16:x}:{number & 65535:x}::1")
        ),
        cache_place(languages.extension_code, lambda number: languages.extension_code(fresh_tag(number))),
        cache_place(languages.english_name, lambda number: languages.english_name(fresh_tag(number))),
        cache_place(languages.source_code, lambda number: languages.source_code(fresh_tag(number))),
        cache_place(languages.deepl_code, lambda number: languages.deepl_code(fresh_tag(number))),
        cache_place(libretranslate.codes_of, lambda number: libretranslate.codes_of(fresh_tag(number))),
        Place(
            "proxy.routing.language_detector.LanguageDetector._served_sets",
            MAX_SERVED_SETS,
            lambda: detector.served_sets,
            lambda number: detector.list_candidates(scores, ["en", fresh_tag(number)]),
        ),
        Place(
            "proxy.admission.retry_after.RetryAfter._busy_until",
            MAX_CALLERS,
            lambda: len(retry_after._busy_until),
            lambda number: retry_after.schedule(f"address {number}", 1.0, 1.0, 1.0),
        ),
        Place(
            "proxy.storage.recent_copies.RecentCopies._copies",
            MAX_KNOWN,
            lambda: len(keys._copies._copies),
            lambda number: keys.look_up(f"{number:012x}"),
        ),
        Place(
            "proxy.glossaries.store.GlossaryStore._renewed",
            MAX_RENEWED,
            lambda: len(owners._renewed),
            lambda number: owners.renew(owner_of_word(f"word {number}")),
        ),
        # In entries of glossaries, their words included; those of deleted ones too, until others take their place.
        Place(
            "proxy.storage.recent_copies.RecentCopies._copies",
            MAX_CACHED_ENTRIES,
            lambda: glossaries._copies.size,
            lambda number: glossaries.get(owner_of_word(f"word {number}"), f"{number}"),
            holds_texts=True,
            offers=MAX_CACHED_ENTRIES // ENTRIES + 5,
        ),
        # In bytes, for PROXY_CACHE_SECONDS; off unless PROXY_CACHE_BYTES is set.
        Place(
            "proxy.cache.memory_cache.MemoryCache._entries",
            memory.limit,
            lambda: memory.size,
            lambda number: memory.put(number.to_bytes(16), b"a translation", 1e12),
            holds_texts=True,
            offers=2000,
        ),
    )
