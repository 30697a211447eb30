"""Entry lines: dictionaries as DeepL writes them, TSV or CSV. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from proxy.glossaries.glossary import check_entry_count
from shared.languages import LanguagePair, is_registered, language_and_script
from shared.protocol.errors import BadRequestError, TooLargeError
from shared.protocol.translate_request import term_error

TSV: Final = "tsv"
CSV: Final = "csv"
FORMATS: Final = (TSV, CSV)
# DeepL's clients refuse them in terms that they send and in those that they get.
_CONTROLS: Final = re.compile("[\x00-\x1f\x80-\x9f\u2028\u2029]")
_BYTE_ORDER_MARK: Final = "\ufeff"
# Ten times the entries: some are blank, or for other pairs.
MAX_LINES: Final = 100_000
# Ten times two terms: a list of all commas of a body would need eight times its bytes.
MAX_LINE_CHARS: Final = 4096
# A longer line is cut one character behind the limit: to find the end of 4 MiB takes 57 ms.
_LINE: Final = re.compile(rf"(?=.)[^\r\n]{{0,{MAX_LINE_CHARS + 1}}}+(?:\r\n?|\n)?+", re.DOTALL)
# After source and target, files from DeepL's website have the two languages.
_COLUMNS_WITH_LANGUAGES: Final = 4
# More than DeepL has; each takes 0.2 ms, and a place in the caches of tags.
MAX_FILE_PAIRS: Final = 1000

# Number of a line, from 1, and its fields.
Line = tuple[int, list[str]]
# Finds the canonical tag of a language code, None without one.
FindTag = Callable[[str], str | None]


def parse_entries(text: str, entries_format: str, pair: LanguagePair, find_tag: FindTag) -> dict[str, str]:
    """Return a dictionary's entries; 10,000 lines take 20 ms.

    CSV's lines for another pair are left out, but counted; ``find_tag`` reads their codes.

    Raises:
        BadRequestError: a line is wrong or repeats a source, or there are no entries.
        TooLargeError: there are too many lines.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    entries: dict[str, str] = {}
    numbers: dict[str, int] = {}
    lines = _csv_lines(text) if entries_format == CSV else _tsv_lines(text)
    filed: dict[tuple[str, ...], bool] = {}
    for count, (number, fields) in enumerate(lines, 1):
        check_entry_count(count)
        if entries_format == CSV and not _is_for(pair, number, fields, filed, find_tag):
            continue
        source, target = _checked(number, fields, entries_format)
        if source in entries:
            raise _wrong(number, f"has the same source as line {numbers[source]}")
        entries[source], numbers[source] = target, number
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
    for number, line in enumerate(_lines(text), 1):
        if line.strip():
            yield number, line.rstrip("\r\n").split("\t")


def _lines(text: str) -> Iterator[str]:
    """Yield lines with their ends.

    A list of them all would need 100 MB.

    Raises:
        BadRequestError: a line is too long.
        TooLargeError: there are too many.
    """
    for number, match in enumerate(_LINE.finditer(text), 1):
        if number > MAX_LINES:
            raise TooLargeError("entries", size=None, limit=MAX_LINES, unit="lines")
        if match.end() - match.start() > MAX_LINE_CHARS:
            raise _wrong(number, f"has more than {MAX_LINE_CHARS} characters")
        yield match[0]


def _csv_lines(text: str) -> Iterator[Line]:
    reader = csv.reader(_lines(text), strict=True)
    try:
        for fields in reader:
            if any(field.strip() for field in fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise _wrong(reader.line_num, f"is not CSV: {error}") from None


def _is_for(
    pair: LanguagePair, number: int, fields: list[str], filed: dict[tuple[str, ...], bool], find_tag: FindTag
) -> bool:
    """Return whether a line has no languages, or those of the pair.

    ``filed`` has the answers for the codes of earlier lines.

    Raises:
        BadRequestError: its third or fourth column is not blank, and no language; or there are too many languages.
    """
    codes = tuple(field.strip() for field in fields[2:_COLUMNS_WITH_LANGUAGES])
    if len(codes) < len(pair) or not any(codes):
        return True
    if codes not in filed:
        if len(filed) == MAX_FILE_PAIRS:
            raise _wrong(number, f"has other languages than the {MAX_FILE_PAIRS} pairs before it; that is too many")
        filed[codes] = _has_languages(pair, number, codes, find_tag)
    return filed[codes]


def _has_languages(pair: LanguagePair, number: int, codes: tuple[str, ...], find_tag: FindTag) -> bool:
    tags: list[str] = []
    for code in codes:
        tag = find_tag(code)
        if tag is None or not is_registered(tag):
            raise _wrong(number, "has no language in its third or fourth column; both are for its terms' languages")
        tags.append(tag)
    return all(language_and_script(tag) == language_and_script(own) for tag, own in zip(tags, pair, strict=True))


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
