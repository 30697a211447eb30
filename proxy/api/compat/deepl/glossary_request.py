"""Glossary request: the fields of DeepL's glossaries, as ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from proxy.api.compat.deepl.entry_lines import FORMATS, TSV, parse_entries
from proxy.api.compat.fields import Fields
from proxy.api.compat.language_codes import parse_code
from proxy.glossaries.glossary import MAX_DICTIONARIES, Dictionary, Glossary, GlossaryChanges, GlossaryDraft, validated
from shared.languages import LanguagePair, is_registered
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import BadRequestError, TooLargeError

# Members of a dictionary, which are fields of their own in version 2 and in requests for one dictionary.
DICTIONARY_FIELDS: Final = ("source_lang", "target_lang", "entries", "entries_format")
READER: Final = JsonReader((*DICTIONARY_FIELDS, "name", "dictionaries"))
# Forms have dictionaries[0].source_lang, or dictionaries[0][source_lang].
_IN_FORM: Final = re.compile(r"dictionaries\[(\d{1,4})\](?:\.(\w+)|\[(\w+)\])")
_SHOWN_CHARS: Final = 40


class GlossaryEdit(NamedTuple):
    """Changes of a glossary: a name, and dictionaries to merge."""

    name: str | None
    dictionaries: Sequence[Dictionary]

    def apply(self, before: Glossary) -> Glossary:
        """Return the changed glossary; raise TooLargeError beyond its limits."""
        after = before if self.name is None else before.renamed(self.name)
        for dictionary in self.dictionaries:
            after = after.with_entries(dictionary)
        # One change, whatever its parts.
        return after.model_copy(update={"version": before.version + 1})


def read_v2_draft(fields: Fields) -> GlossaryDraft:
    """Return the glossary of one dictionary.

    Raises:
        PairwayError: a field is missing or wrong.
    """
    return _draft(fields.members, [read_dictionary(fields.members)])


def read_v3_draft(fields: Fields) -> GlossaryDraft:
    """Return the glossary; raise PairwayError if a field is missing or wrong."""
    dictionaries = _dictionaries(fields)
    if not dictionaries:
        raise BadRequestError("Glossary dictionaries must be provided: dictionaries must have at least one.")
    return _draft(fields.members, dictionaries)


def read_edit(fields: Fields) -> GlossaryEdit:
    """Return the changes; raise PairwayError without any, or for wrong fields."""
    name, dictionaries = fields.members.get("name"), _dictionaries(fields)
    if name is not None:
        name = validated({"name": name}, GlossaryChanges).name
    elif not dictionaries:
        raise BadRequestError("Nothing to change: send name, or dictionaries with entries to add.")
    return GlossaryEdit(name, _merged(dictionaries))


def read_dictionary(members: Mapping[str, object]) -> Dictionary:
    """Return the dictionary of these members.

    Raises:
        PairwayError: a member is missing or wrong.
    """
    pair = read_pair(members)
    if pair.source == pair.target:
        raise BadRequestError(f"Unsupported glossary source and target language pair: both are {pair.source}.")
    for name, tag in zip(("source_lang", "target_lang"), pair, strict=True):
        if not is_registered(tag):
            raise BadRequestError(f"Value for '{name}' not supported: no language has the code {tag}.")
    entries_format = TSV if members.get("entries_format") in (None, "") else _string(members, "entries_format")
    if entries_format not in FORMATS:
        raise BadRequestError(
            f"Value for 'entries_format' not supported: {entries_format[:_SHOWN_CHARS]!r}; it must be {' or '.join(FORMATS)}."
        )
    entries = parse_entries(_string(members, "entries"), entries_format, pair)
    return Dictionary.model_construct(source_lang=pair.source, target_lang=pair.target, entries=entries)


def read_pair(members: Mapping[str, object]) -> LanguagePair:
    """Return the pair of source_lang and target_lang; raise PairwayError without one."""
    codes = {name: _string(members, name) for name in ("source_lang", "target_lang")}
    return LanguagePair(*(parse_code(code, name) for name, code in codes.items()))


def ignored_names(fields: Fields, known: Sequence[str]) -> list[str]:
    """Return the names of members that have no effect."""
    return [name for name in fields.members if name not in known and not _IN_FORM.fullmatch(name)]


def _draft(members: Mapping[str, object], dictionaries: Sequence[Dictionary]) -> GlossaryDraft:
    named = {} if members.get("name") is None else {"name": members["name"]}
    return validated({**named, "dictionaries": list(dictionaries)}, GlossaryDraft)


def _dictionaries(fields: Fields) -> list[Dictionary]:
    value = fields.members.get("dictionaries")
    if value is None and not fields.is_json:
        value = _in_form(fields.members)
    if value is None:
        return []
    # deepl-mock and PHP clients know a single one without a list.
    each = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(each) > MAX_DICTIONARIES:
        raise TooLargeError("The glossary", size=len(each), limit=MAX_DICTIONARIES, unit="dictionaries")
    for index, item in enumerate(each):
        if not isinstance(item, dict):
            raise BadRequestError(f"Value for 'dictionaries' not supported: item {index} is not an object.")
    return [read_dictionary(cast("dict[str, object]", item)) for item in each]


def _merged(dictionaries: Sequence[Dictionary]) -> list[Dictionary]:
    """Return one dictionary for each pair; of equal sources the last counts.

    Otherwise each would copy the glossary's entries, on the event loop.
    """
    merged: dict[LanguagePair, Dictionary] = {}
    for each in dictionaries:
        merged.setdefault(each.pair, each).entries.update(each.entries)
    return list(merged.values())


def _in_form(members: Mapping[str, object]) -> list[object]:
    """Return the dictionaries in a form's names, in their order."""
    found: dict[int, dict[str, object]] = {}
    for name, value in members.items():
        if match := _IN_FORM.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2] or match[3]] = value
    return [found[index] for index in sorted(found)]


def _string(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    if value is None or value == "":
        raise BadRequestError(f"Parameter '{name}' not specified.")
    if not isinstance(value, str):
        raise BadRequestError(f"Value for '{name}' not supported: it must be one string.")
    return value
