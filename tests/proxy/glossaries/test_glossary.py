"""The model of glossaries: limits, messages, changes."""

from __future__ import annotations

import json
import re
import uuid
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from proxy.glossaries.glossary import (
    GLOSSARY_BODY_BYTES,
    MAX_DICTIONARIES,
    MAX_ENTRIES,
    MAX_NAME_CHARS,
    READER,
    Dictionary,
    Entries,
    Glossary,
    GlossaryChanges,
    GlossaryDraft,
    owner_of_key,
    owner_of_word,
    parse_id,
    parse_pair,
)
from shared.languages import LanguagePair
from shared.protocol.errors import (
    BadRequestError,
    InvalidRequestError,
    PairwayError,
    TooLargeError,
    UnknownDictionaryError,
    UnknownGlossaryError,
)
from tests.proxy.glossaries.samples import dictionary, draft, many_entries

EN_DE = LanguagePair("en", "de")
MODELS = (GlossaryDraft, GlossaryChanges, Entries)
NAMES = ["name", "dictionaries", "entries", "source_lang", "target_lang", "en", "de"]
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=15,
)


ID = "5f6f6d0e-3c1b-4f0a-9d5e-0a6a7c1b2d3e"


def body_of(**members: Any) -> bytes:
    return json.dumps({"name": "a", **members}).encode()


def one(**entries: object) -> list[object]:
    return [{"source_lang": "en", "target_lang": "de", "entries": entries}]


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        (b"{}", "name", "is required"),
        (body_of(name=3), "name", "must be a string"),
        (body_of(name=" "), "name", "is blank"),
        (body_of(name="a\nb"), "name", "cannot be shown"),
        (body_of(name="x" * (MAX_NAME_CHARS + 1)), "name", "has more than 200 characters"),
        (body_of(glossary="x"), "glossary", "is not a field of this request"),
        (body_of(dictionaries={}), "dictionaries", "must be a list"),
        (body_of(dictionaries=[3]), "dictionaries[0]", "must be an object"),
        (body_of(dictionaries=[{}]), "dictionaries[0].entries", "is required"),
        (body_of(dictionaries=one()), "dictionaries[0].entries", "must not be empty"),
        (body_of(dictionaries=one(a=3)), "dictionaries[0].entries", "the target of entry 1 must be a string"),
        (body_of(dictionaries=one(a="b", c="\t")), "dictionaries[0].entries", "the target of entry 2 is blank"),
        (body_of(dictionaries=one(a="b\u2028c")), "dictionaries[0].entries", "contains a line break"),
        (body_of(dictionaries=one(**{"x" * 201: "b"})), "dictionaries[0].entries", "has 201 characters"),
        (body_of(dictionaries=one(**{"": "b"})), "dictionaries[0].entries", "the source of entry 1 has 0 characters"),
        (
            body_of(dictionaries=[{"source_lang": "e", "target_lang": "de", "entries": {"a": "b"}}]),
            "dictionaries[0].source_lang",
            "'e' ",
        ),
        (body_of(dictionaries=one(a="b") * 2), "dictionaries", "there are several for en-de"),
        (
            body_of(
                dictionaries=[{"source_lang": "en", "target_lang": tag, "entries": {"a": "b"}} for tag in ("de", "DEU")]
            ),
            "dictionaries",
            "there are several for en-de",
        ),
    ],
)
def test_wrong_fields_are_named(body: bytes, field: str, message: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        READER.read(body, GlossaryDraft)
    (error,) = (each for each in caught.value.facts["errors"] if each["field"] == field)
    assert message in error["message"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"3", b'{"name": "a", "name": "b"}', b'{"entries": NaN}'])
def test_bodies_that_are_no_objects_are_bad_requests(body: bytes) -> None:
    with pytest.raises(BadRequestError):
        READER.read(body, GlossaryDraft)


def test_entry_that_is_sent_twice_is_refused() -> None:
    with pytest.raises(BadRequestError, match="occurs twice"):
        READER.read(b'{"entries": {"a": "b", "a": "c"}}', Entries)


def test_too_many_entries_are_too_large() -> None:
    half = many_entries(MAX_ENTRIES // 2 + 1)
    with pytest.raises(TooLargeError) as caught:
        READER.read(json.dumps({"entries": many_entries(MAX_ENTRIES + 1)}).encode(), Entries)
    assert caught.value.facts == {"limit": MAX_ENTRIES, "unit": "entries"}
    both = [{"source_lang": "en", "target_lang": target, "entries": half} for target in ("de", "fr")]
    with pytest.raises(TooLargeError, match=r"10002 entries; at most 10000"):
        READER.read(body_of(dictionaries=both), GlossaryDraft)


def test_unknown_members_are_limited_in_messages() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        READER.read(json.dumps({f"x{n}": n for n in range(1000)}).encode(), GlossaryDraft)
    assert len(caught.value.facts["errors"]) <= 10


def test_entries_of_ordinary_length_fit_into_a_body() -> None:
    entries = {f"Обычное слово словаря {n}": f"Обычный перевод слова {n}" for n in range(MAX_ENTRIES)}
    body = json.dumps(
        {"name": "a", "dictionaries": [{"source_lang": "ru", "target_lang": "de", "entries": entries}]}
    ).encode()
    assert len(body) < GLOSSARY_BODY_BYTES
    assert READER.read(body, GlossaryDraft).dictionaries[0].entries == entries


def test_ids_are_random_uuids() -> None:
    ids = {Glossary.create(draft(), 0.0).id for _ in range(100)}
    assert len(ids) == 100
    assert all(str(uuid.UUID(each)) == each == parse_id(each.upper()) for each in ids)


@pytest.mark.parametrize("text", ["", "x", "0" * 36, f"{ID}0", ID.replace("-", "")])
def test_malformed_ids_are_unknown(text: str) -> None:
    with pytest.raises(UnknownGlossaryError):
        parse_id(text)


def test_message_of_a_malformed_id_hides_keys() -> None:
    with pytest.raises(UnknownGlossaryError) as caught:
        parse_id("pw_0123456789ab_" + "s" * 32)
    assert "ssss" not in caught.value.detail


def test_impossible_tags_of_a_path_are_named() -> None:
    assert parse_pair("EN_us", "deu") == ("en-US", "de")
    with pytest.raises(InvalidRequestError, match="target_lang: 'e' "):
        parse_pair("en", "e")


def test_info_counts_entries() -> None:
    glossary = Glossary.create(draft(dictionary(a="b", c="d"), dictionary("en-GB", "zh-Hant")), 5.0)
    assert glossary.info.model_dump() == {
        "id": glossary.id,
        "name": "Products",
        "created_at": 5.0,
        "dictionaries": [
            {"source_lang": "en", "target_lang": "de", "entry_count": 2},
            {"source_lang": "en-GB", "target_lang": "zh-Hant", "entry_count": 1},
        ],
    }


def test_dictionaries_are_replaced_merged_and_removed() -> None:
    first = Glossary.create(draft(dictionary(a="b", c="d")), 0.0)
    replaced = first.with_dictionary(dictionary(x="y"))
    merged = first.with_entries(dictionary(c="e", f="g")).with_entries(dictionary("en", "fr", a="h"))
    assert replaced.dictionary(EN_DE).entries == {"x": "y"}
    assert merged.dictionary(EN_DE).entries == {"a": "b", "c": "e", "f": "g"}
    assert merged.dictionary(LanguagePair("en", "fr")).entries == {"a": "h"}
    assert merged.without_dictionary(EN_DE).pairs == [("en", "fr")]
    assert first.renamed("other").name == "other"
    assert (first.version, first.renamed("x").version, merged.version) == (1, 2, 3)
    assert first.dictionary(EN_DE).entries == {"a": "b", "c": "d"}, "changes make new glossaries"


def test_absent_dictionary_names_those_that_exist() -> None:
    glossary = Glossary.create(draft(dictionary(), dictionary("en", "zh-Hant")), 0.0)
    with pytest.raises(UnknownDictionaryError, match=re.escape("for fr-de. Its pairs: en-de, en>zh-Hant.")) as caught:
        glossary.without_dictionary(LanguagePair("fr", "de"))
    assert caught.value.facts == {"pairs": ["en-de", "en>zh-Hant"]}


def test_limits_hold_for_changes_too() -> None:
    full = Glossary.create(GlossaryDraft(name="a"), 0.0).with_dictionary(
        Dictionary(source_lang="en", target_lang="de", entries=many_entries(MAX_ENTRIES))
    )
    full.with_entries(dictionary(**{"term number 5": "x"}))
    for change in (full.with_entries, full.with_dictionary):
        with pytest.raises(TooLargeError):
            change(dictionary("en", "fr"))
    with pytest.raises(TooLargeError):
        full.with_entries(dictionary(new="x"))
    wide = full.without_dictionary(EN_DE)
    for n in range(MAX_DICTIONARIES):
        wide = wide.with_dictionary(dictionary("en", f"q{chr(97 + n // 26)}{chr(97 + n % 26)}"))
    with pytest.raises(TooLargeError, match="dictionaries"):
        wide.with_dictionary(dictionary("en", "de"))


@given(st.binary(max_size=200) | ANY_JSON.map(lambda value: json.dumps(value).encode()), st.sampled_from(MODELS))
def test_any_body_is_a_model_or_a_refusal(sent: bytes, model: type[BaseModel]) -> None:
    with suppress(PairwayError):
        assert isinstance(READER.read(sent, model), model)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "sent", [b"[" * 200_000, b'{"a":' * 200_000, b'{"entries": {' + b'"a": 1,' * 500_000 + b'"b": 1}}']
)
def test_hostile_bodies_are_refused(sent: bytes) -> None:
    for model in MODELS:
        with pytest.raises(PairwayError):
            READER.read(sent, model)


def test_words_have_stable_digests_that_hide_them() -> None:
    owner = owner_of_word("my word")
    assert owner == owner_of_word("my word")
    assert owner.name == "word-f9b7e596b0eb14bc688dc78df3193339"
    assert "my word" not in repr(owner)
    assert owner.expires


def test_owners_of_other_words_and_keys_differ() -> None:
    words = ["a", "A", "a ", "0123456789ab", "key-0123456789ab", "ü", "\udcff"]
    owners = {owner_of_word(word).name for word in words} | {owner_of_key("0123456789ab").name}
    assert len(owners) == len(words) + 1


def test_owner_of_a_key_lasts() -> None:
    owner = owner_of_key("0123456789ab")
    assert (owner.name, owner.expires) == ("key-0123456789ab", False)
