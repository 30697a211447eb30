"""Fields of DeepL's glossaries as ours: what is refused, JSON and forms, merged changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from proxy.api.compat.deepl_glossaries import (
    ignored_names,
    read_edit,
    read_pair,
    read_v2_draft,
    read_v3_draft,
)
from proxy.exchange.fields import Fields
from proxy.glossaries.glossary import MAX_DICTIONARIES, MAX_ENTRIES, Glossary, GlossaryDraft
from shared.protocol.errors import PairwayError, TooLargeError
from shared.runtime.turns import Steps, finish

EN_DE: dict[str, Any] = {"source_lang": "EN", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv"}
DE_EN: dict[str, Any] = {"source_lang": "DE", "target_lang": "EN-gb", "entries": "b,a", "entries_format": "csv"}


def named(**members: Any) -> Fields:
    return Fields({"name": "Products", **members})


@pytest.mark.parametrize(
    ("read", "members", "fault"),
    [
        (read_v2_draft, {**EN_DE, "name": None}, "name: is required"),
        (read_v2_draft, {**EN_DE, "name": " "}, "name: is blank"),
        (read_v2_draft, {**EN_DE, "name": 3}, "name: must be a string"),
        (read_v2_draft, {**EN_DE, "source_lang": ""}, "'source_lang' not specified"),
        (read_v2_draft, {**EN_DE, "target_lang": None}, "'target_lang' not specified"),
        (read_v2_draft, {**EN_DE, "target_lang": "xx!"}, "target_lang: 'xx!'"),
        (read_v2_draft, {**EN_DE, "target_lang": "XX"}, "no language has the code xx"),
        (read_v2_draft, {**EN_DE, "target_lang": "en"}, "Unsupported glossary source and target language pair"),
        (read_v2_draft, {**EN_DE, "entries": None}, "'entries' not specified"),
        (read_v2_draft, {**EN_DE, "entries": {"a": "b"}}, "'entries' not supported"),
        (read_v2_draft, {**EN_DE, "entries": ["a\tb", "c\td"]}, "'entries' not supported"),
        (read_v2_draft, {**EN_DE, "entries_format": "json" * 100}, "'entries_format' not supported: 'jsonjson"),
        (read_v3_draft, {}, "dictionaries must be provided"),
        (read_v3_draft, {"dictionaries": []}, "dictionaries must be provided"),
        (read_v3_draft, {"dictionaries": [EN_DE, "x"]}, "item 1 is not an object"),
        (read_v3_draft, {"dictionaries": [EN_DE, EN_DE]}, "several for en-de"),
        (read_v3_draft, {"dictionaries": [{**EN_DE, "entries": "a"}]}, "line 1"),
        (read_edit, {"name": None}, "Nothing to change"),
        (read_edit, {"name": None, "dictionaries": []}, "Nothing to change"),
        (read_edit, {"name": ""}, "name: "),
    ],
)
def test_wrong_fields_are_refused(read: Callable[[Fields], Steps[object]], members: dict[str, Any], fault: str) -> None:
    with pytest.raises(PairwayError) as caught:
        finish(read(named(**members)))
    assert fault in caught.value.detail
    assert caught.value.http_status < 500


def test_too_many_dictionaries_are_refused() -> None:
    with pytest.raises(TooLargeError):
        finish(read_v3_draft(named(dictionaries=[EN_DE] * (MAX_DICTIONARIES + 1))))


def test_entries_of_all_dictionaries_are_counted() -> None:
    many = "\n".join(f"{number}\tx" for number in range(MAX_ENTRIES))
    with pytest.raises(TooLargeError):
        finish(read_v3_draft(named(dictionaries=[{**EN_DE, "entries": many}, DE_EN])))


def test_json_has_one_dictionary_or_several() -> None:
    one = finish(read_v2_draft(named(source_lang="EN", target_lang="ZH_Hant", entries="a\tb", entries_format=None)))
    assert [each.model_dump() for each in one.dictionaries] == [
        {"source_lang": "en", "target_lang": "zh-Hant", "entries": {"a": "b"}}
    ]
    several = finish(read_v3_draft(named(dictionaries=[EN_DE, DE_EN])))
    assert (several.name, list(map(str, (each.pair for each in several.dictionaries)))) == (
        "Products",
        ["en-de", "de-en-GB"],
    )
    assert finish(read_v3_draft(named(dictionaries=EN_DE))).dictionaries == several.dictionaries[:1]


@pytest.mark.parametrize("shape", ["dictionaries[{}].{}", "dictionaries[{}][{}]"])
def test_forms_name_their_dictionaries_by_index(shape: str) -> None:
    members: dict[str, object] = {"name": "Products"}
    for index, dictionary in ((10, DE_EN), (0, EN_DE)):
        members |= {shape.format(index, name): value for name, value in dictionary.items()}
    draft = finish(read_v3_draft(Fields(members, is_json=False)))
    assert [str(each.pair) for each in draft.dictionaries] == ["en-de", "de-en-GB"]
    assert ignored_names(Fields(members, is_json=False), ("name", "dictionaries")) == []


def test_names_without_effect_are_found() -> None:
    assert ignored_names(named(dictionaries=[], ready=True, entries="a"), ("name", "dictionaries")) == [
        "ready",
        "entries",
    ]


def test_pair_is_read_in_any_case() -> None:
    assert read_pair({"source_lang": "EN", "target_lang": "pt_br"}) == ("en", "pt-BR")


def test_edit_renames_and_merges_in_one_version() -> None:
    before = Glossary.create(GlossaryDraft.model_validate({"name": "Old", "dictionaries": []}), 0.0)
    first = finish(read_edit(Fields({"dictionaries": [EN_DE]}))).apply(before)
    edit = finish(read_edit(named(dictionaries=[{**EN_DE, "entries": "A\tc\na\td"}, DE_EN])))
    after = edit.apply(first)
    assert (first.name, first.version) == ("Old", 2)
    assert (after.name, after.version) == ("Products", 3)
    assert [each.entries for each in after.dictionaries] == [{"a": "d", "A": "c"}, {"b": "a"}]


def test_edit_has_one_dictionary_for_each_pair() -> None:
    edit = finish(
        read_edit(Fields({"dictionaries": [EN_DE, DE_EN, *({**EN_DE, "entries": f"a\t{n}"} for n in range(9))]}))
    )
    assert [each.entries for each in edit.dictionaries] == [{"a": "8"}, {"b": "a"}]
