"""Fingerprints of requests and of texts: equal where the translation is, different elsewhere."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from proxy.cache.coalescing import request_fingerprint
from proxy.cache.fingerprints import text_fingerprints
from shared.protocol.translate_request import SentenceSplitting, TextFormat, TranslateRequest, XmlOptions

HELLO = TranslateRequest(text="Hello", source_lang="en", target_lang="de")


words = st.text(alphabet="ab", max_size=3)


requests = st.builds(
    TranslateRequest,
    text=words | st.lists(words, min_size=1, max_size=3),
    source_lang=st.sampled_from(["auto", "en", "en-GB"]),
    target_lang=st.sampled_from(["de", "fr"]),
    format=st.sampled_from(TextFormat),
    do_not_translate=st.lists(st.sampled_from(["a", "b", "ab"]), max_size=2),
    terms=st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["a", "b"]), max_size=2),
    pivot=st.booleans(),
    alternatives=st.integers(0, 2),
    split_sentences=st.sampled_from([None, *SentenceSplitting]),
    context=words,
    confidence=st.booleans(),
    min_confidence=st.sampled_from([None, 0, 0.5, 1]),
    xml=st.none() | st.builds(XmlOptions, ignore_tags=st.lists(st.sampled_from("ab"), max_size=1)),
)


@given(requests, requests)
def test_fingerprints_differ_when_requests_differ(one: TranslateRequest, other: TranslateRequest) -> None:
    alike = one == other and list(one.terms) == list(other.terms)
    assert (request_fingerprint(one, b"key") == request_fingerprint(other, b"key")) is alike
    if not alike and one.texts == other.texts and isinstance(one.text, str) is isinstance(other.text, str):
        assert not set(text_fingerprints(one, "m")) & set(text_fingerprints(other, "m"))


@given(st.lists(words, min_size=1, max_size=4), st.data())
def test_text_fingerprint_depends_on_text_and_models_only(texts: list[str], data: st.DataObject) -> None:
    listed = HELLO.model_copy(update={"text": texts})
    index = data.draw(st.integers(0, len(texts) - 1))
    alone = HELLO.model_copy(update={"text": texts[index]})
    keys = text_fingerprints(listed, ["m", "1"])
    assert text_fingerprints(alone, ["m", "1"]) == [keys[index]]
    assert len(set(keys)) == len(set(texts))
    assert not set(keys) & set(text_fingerprints(listed, ["m", "2"]))


@given(st.data())
def test_fingerprint_covers_every_field(data: st.DataObject) -> None:
    """Whatever field is added one day changes the digest too."""
    others: dict[str, Any] = {
        "text": "Bye",
        "source_lang": "fr",
        "target_lang": "fr",
        "format": TextFormat.HTML,
        "do_not_translate": ["Pairway"],
        "terms": {"a": "b"},
        "pivot": False,
        "alternatives": 1,
        "split_sentences": SentenceSplitting.NONE,
        "context": "At the bank.",
        "confidence": True,
        "min_confidence": 0.0,
        "xml": XmlOptions(ignore_tags=["x"]),
    }
    assert set(others) == set(TranslateRequest.model_fields)
    name = data.draw(st.sampled_from(sorted(others)))
    changed = HELLO.model_copy(update={name: others[name]})
    assert request_fingerprint(changed, b"key") != request_fingerprint(HELLO, b"key")
    assert text_fingerprints(changed, "m") != text_fingerprints(HELLO, "m")
