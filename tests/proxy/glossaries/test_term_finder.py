"""The term finder: which dictionary, which terms, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import pytest

from proxy.glossaries.glossary import Dictionary
from proxy.glossaries.matcher import TermMatcher
from proxy.glossaries.store import GlossaryStore
from proxy.glossaries.term_finder import INLINE_CHARS, GlossaryCache, TermFinder
from shared.protocol.errors import InvalidRequestError, UnknownGlossaryError
from shared.protocol.translate_request import MAX_PHRASES, TextFormat, TranslateRequest
from shared.runtime.turns import LoopTurns, Steps
from tests.conftest import PREFIX, RedisServer
from tests.proxy.glossaries.samples import ALICE, BOB, dictionary, draft
from tests.support.clock import HandClock


@pytest.fixture
async def store(redis: RedisServer) -> AsyncGenerator[GlossaryStore]:
    one = GlossaryStore(redis.url, PREFIX, 5.0, HandClock())
    yield one
    await one.close()


@pytest.fixture
def finder(store: GlossaryStore) -> TermFinder:
    return TermFinder(GlossaryCache(store, HandClock()), LoopTurns(), store.thread)


def request(text: str | list[str], source: str = "en", target: str = "de", **members: Any) -> TranslateRequest:
    return TranslateRequest(text=text, source_lang=source, target_lang=target, **members)


async def glossary_id(store: GlossaryStore, *dictionaries: Dictionary) -> str:
    return (await store.create(ALICE, draft(*dictionaries))).id


async def test_detected_source_is_refused(store: GlossaryStore, finder: TermFinder) -> None:
    with pytest.raises(InvalidRequestError, match="glossary: needs source_lang"):
        await finder.add_terms(ALICE, await glossary_id(store), request("invoice", "auto"))


async def test_missing_pair_is_refused_with_those_that_exist(store: GlossaryStore, finder: TermFinder) -> None:
    wanted = await glossary_id(store, dictionary(), dictionary("en", "zh-Hant"))
    with pytest.raises(
        InvalidRequestError, match="glossary: has no dictionary for en-fr; its pairs: en-de, en>zh-Hant"
    ):
        await finder.add_terms(ALICE, wanted, request("invoice", target="fr"))


async def test_other_owners_glossary_is_unknown(store: GlossaryStore, finder: TermFinder) -> None:
    wanted = await glossary_id(store)
    with pytest.raises(UnknownGlossaryError):
        await finder.add_terms(BOB, wanted, request("invoice"))


async def test_bare_dictionary_serves_variants_if_asked(store: GlossaryStore, finder: TermFinder) -> None:
    wanted = await glossary_id(store, dictionary("en", "zh", invoice="發票"), dictionary("en", "fr-FR"))
    traditional = request("an invoice", target="zh-Hant")
    with pytest.raises(InvalidRequestError, match="no dictionary for en>zh-Hant"):
        await finder.add_terms(ALICE, wanted, traditional)
    found = await finder.add_terms(ALICE, wanted, traditional, for_variants=True)
    assert (found.request.terms, found.request.target_lang) == ({"invoice": "發票"}, "zh-Hant")
    with pytest.raises(InvalidRequestError, match="no dictionary for en-de"):
        await finder.add_terms(ALICE, wanted, request("an invoice", target="de"), for_variants=True)


@pytest.mark.parametrize(
    ("source", "target", "term"), [("en", "de", "wide"), ("en-US", "de-AT", "close"), ("en-GB", "de-CH", "wide")]
)
async def test_closest_dictionary_is_used(
    store: GlossaryStore, finder: TermFinder, source: str, target: str, term: str
) -> None:
    wanted = await glossary_id(store, dictionary(invoice="wide"), dictionary("en-US", "de-AT", invoice="close"))
    found = await finder.add_terms(ALICE, wanted, request("an invoice", source, target))
    assert found.request.terms == {"invoice": term}


async def test_only_found_entries_become_terms(store: GlossaryStore, finder: TermFinder) -> None:
    wanted = await glossary_id(store, dictionary(invoice="Rechnung", order="Auftrag", tax="Steuer"))
    sent = request(["the invoice", "no tax"], do_not_translate=["x"])
    found = await finder.add_terms(ALICE, wanted, sent)
    assert found.request == sent.model_copy(update={"terms": {"invoice": "Rechnung", "tax": "Steuer"}})
    assert not found.truncated
    assert sent.terms == {}
    none = request("nothing of it")
    assert (await finder.add_terms(ALICE, wanted, none)).request is none


async def test_long_texts_are_searched_outside_the_event_loop(
    store: GlossaryStore, finder: TermFinder, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_loop: list[bool] = []
    find = TermMatcher.find

    def noted(matcher: TermMatcher, texts: Iterable[str], text_format: TextFormat) -> Steps[list[str]]:
        in_loop.append(threading.current_thread() is threading.main_thread())
        return (yield from find(matcher, texts, text_format))

    monkeypatch.setattr(TermMatcher, "find", noted)
    wanted = await glossary_id(store, dictionary(invoice="Rechnung"))
    for text in ("the invoice", "the invoice" + " again" * 1_000):
        found = await finder.add_terms(ALICE, wanted, request(text))
        assert found.request.terms == {"invoice": "Rechnung"}
    assert in_loop == [True, False]


async def test_terms_of_the_request_win(store: GlossaryStore, finder: TermFinder) -> None:
    wanted = await glossary_id(store, dictionary(invoice="Rechnung", order="Auftrag"))
    sent = request("invoice, order", terms={"INVOICE": "Faktura", "x": "y"})
    found = await finder.add_terms(ALICE, wanted, sent)
    assert list(found.request.terms.items()) == [("INVOICE", "Faktura"), ("x", "y"), ("order", "Auftrag")]


@pytest.mark.parametrize("padding", [0, INLINE_CHARS])
async def test_longest_entries_are_used_if_too_many_are_found(
    store: GlossaryStore, finder: TermFinder, padding: int
) -> None:
    entries = {f"w{n}": "x" for n in range(MAX_PHRASES + 50)}
    wanted = await glossary_id(store, dictionary(**entries))
    text = " ".join(entries) + " " * padding
    found = await finder.add_terms(ALICE, wanted, request(text, terms={"own": "y"}))
    assert found.truncated
    assert len(found.request.terms) == MAX_PHRASES
    assert {"own", "w305"} < found.request.terms.keys()
    assert "w9" not in found.request.terms
    exact = " ".join(list(entries)[:MAX_PHRASES])
    assert not (await finder.add_terms(ALICE, wanted, request(exact))).truncated
