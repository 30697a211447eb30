"""Entry lines: dictionaries as DeepL writes them, TSV or CSV. Pure."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

from proxy.api.compat.language_codes import is_known, is_same_language, tag_of
from proxy.glossaries.glossary import check_entry_count
from shared.languages import LanguagePair
from shared.protocol.errors import BadRequestError
from shared.protocol.translate_request import term_error

TSV: Final = "tsv"
CSV: Final = "csv"
FORMATS: Final = (TSV, CSV)
# DeepL's clients refuse them in terms that they send and in those that they get.
_CONTROLS: Final = re.compile("[\x00-\x1f\x80-\x9f\u2028\u2029]")
_BYTE_ORDER_MARK: Final = "\ufeff"
# After source and target, files from DeepL's website have the two languages.
_COLUMNS_WITH_LANGUAGES: Final = 4

# Number of a line, from 1, and its fields.
Line = tuple[int, list[str]]


def parse_entries(text: str, entries_format: str, pair: LanguagePair) -> dict[str, str]:
    """Return a dictionary's entries; 10,000 lines take 20 ms.

    CSV's lines for another pair are left out.

    Raises:
        BadRequestError: a line is wrong or repeats a source, or there are no entries.
        TooLargeError: there are too many entries.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    entries: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for number, fields in _csv_lines(text) if entries_format == CSV else _tsv_lines(text):
        if entries_format == CSV and not _is_for(pair, number, fields):
            continue
        source, target = _checked(number, fields, entries_format)
        if source in entries:
            raise _wrong(number, f"has the same source as line {numbers[source]}")
        entries[source], numbers[source] = target, number
        check_entry_count(len(entries))
    if not entries:
        raise BadRequestError(f"Invalid glossary entries provided: entries has none for {pair}.")
    return entries


def to_tsv(entries: Mapping[str, str]) -> str:
    """Return the entries as TSV, with a space for each control character."""
    return "\n".join(
        f"{_CONTROLS.sub(' ', source)}\t{_CONTROLS.sub(' ', target)}" for source, target in entries.items()
    )


def _tsv_lines(text: str) -> Iterator[Line]:
    """Yield lines that are not blank; quotation marks mean nothing."""
    # One after the other: a list of millions of empty lines would need 100 MB.
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if line.strip():
            yield number, line.removesuffix("\n").split("\t")


def _csv_lines(text: str) -> Iterator[Line]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise _wrong(reader.line_num, f"is not CSV: {error}") from None


def _is_for(pair: LanguagePair, number: int, fields: list[str]) -> bool:
    """Return whether a line has no languages, or those of the pair.

    Raises:
        BadRequestError: its third or fourth column is not blank, and no language.
    """
    codes = [field.strip() for field in fields[2:_COLUMNS_WITH_LANGUAGES]]
    if len(codes) < len(pair) or not any(codes):
        return True
    tags: list[str] = []
    for code in codes:
        tag = tag_of(code)
        if tag is None or not is_known(tag):
            raise _wrong(number, "has no language in its third or fourth column; both are for its terms' languages")
        tags.append(tag)
    return all(is_same_language(tag, own) for tag, own in zip(tags, pair, strict=True))


def _checked(number: int, fields: list[str], entries_format: str) -> tuple[str, str]:
    if len(fields) < 2:
        raise _wrong(number, f"has no {'comma' if entries_format == CSV else 'tab'} between source and target")
    if entries_format == TSV and len(fields) > 2:
        raise _wrong(number, f"has {len(fields) - 1} tabs; one is allowed, between source and target")
    source, target = fields[0].strip(), fields[1].strip()
    for side, term in (("source", source), ("target", target)):
        if error := term_error(term):
            raise _wrong(number, f"has a wrong {side}: it {error}")
        if _CONTROLS.search(term):
            raise _wrong(number, f"has a wrong {side}: it contains a control character")
    return source, target


def _wrong(number: int, fault: str) -> BadRequestError:
    return BadRequestError(f"Invalid glossary entries provided: line {number} {fault}.")
