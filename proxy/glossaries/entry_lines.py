"""Entry lines: dictionaries as DeepL writes them, TSV or CSV. Pure."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Final

from proxy.glossaries.glossary import check_entry_count
from shared.languages import LanguagePair, is_registered, language_and_script
from shared.protocol.errors import BadRequestError, TooLargeError
from shared.protocol.translate_request import term_error
from shared.runtime.turns import Steps

TSV: Final = "tsv"
CSV: Final = "csv"
FORMATS: Final = (TSV, CSV)
# DeepL's clients refuse them in terms that they send and in those that they get.
_CONTROLS: Final = re.compile("[\x00-\x1f\x80-\x9f\u2028\u2029]")
_BYTE_ORDER_MARK: Final = "\ufeff"
# Of a request, ten times the entries: some are blank, or for other pairs.
MAX_LINES: Final = 100_000
# Ten times two terms: a list of all commas of a body would need eight times its bytes.
MAX_LINE_CHARS: Final = 4096
# A longer line is cut one character behind the limit: to find the end of 4 MiB takes 57 ms.
_LINE: Final = re.compile(rf"(?=.)[^\r\n]{{0,{MAX_LINE_CHARS + 1}}}+(?:\r\n?|\n)?+", re.DOTALL)
# After source and target, files from DeepL's website have the two languages.
_COLUMNS_WITH_LANGUAGES: Final = 4
# Codes of a request, more than DeepL has; each takes up to 0.2 ms, and a place in the caches of tags.
MAX_FILE_LANGUAGES: Final = 256
# Fields of a step: a thousand entries take 10 ms.
STEP_FIELDS: Final = 2000

# Number of a line, from 1, and its fields.
Line = tuple[int, list[str]]
# Finds the canonical tag of a language code, None without one.
FindTag = Callable[[str], str | None]


class EntryReader:
    """Reads the dictionaries of one request, which share its limits.

    CSV's lines for another pair are left out, but counted; ``find_tag`` reads their codes.
    """

    def __init__(self, find_tag: FindTag) -> None:
        self._find_tag = find_tag
        self._lines = count(1)
        self._entries = self._step_fields = 0
        # Language and script of the codes so far; None for what is no language.
        self._languages: dict[str, tuple[str, str] | None] = {}

    def read(self, text: str, entries_format: str, pair: LanguagePair) -> Steps[dict[str, str]]:
        """Return a dictionary's entries, in steps.

        Raises:
            BadRequestError: a line is wrong or repeats a source, or there are no entries.
            TooLargeError: there are too many lines or entries.
        """
        entries: dict[str, str] = {}
        numbers: dict[str, int] = {}
        filled = 0
        for number, fields in self._rows(text.removeprefix(_BYTE_ORDER_MARK), entries_format):
            self._step_fields += len(fields) or 1
            if self._step_fields > STEP_FIELDS:
                self._step_fields = 0
                yield
            if not any(field.strip() for field in fields):
                continue
            filled += 1
            check_entry_count(filled)
            if entries_format == CSV and not self._is_for(pair, number, fields):
                continue
            source, target = _checked(number, fields, entries_format)
            if source in entries:
                raise _wrong(number, f"has the same source as line {numbers[source]}")
            self._entries += 1
            check_entry_count(self._entries)
            entries[source], numbers[source] = target, number
        if not entries:
            raise BadRequestError(f"Invalid glossary entries provided: entries has none for {pair}.")
        return entries

    def _rows(self, text: str, entries_format: str) -> Iterator[Line]:
        return _csv_rows(self._split(text)) if entries_format == CSV else _tsv_rows(self._split(text))

    def _split(self, text: str) -> Iterator[str]:
        """Yield lines with their ends.

        A list of them all would need 100 MB.

        Raises:
            BadRequestError: a line is too long.
            TooLargeError: there are too many.
        """
        for number, match in enumerate(_LINE.finditer(text), 1):
            if next(self._lines) > MAX_LINES:
                raise TooLargeError("entries", size=None, limit=MAX_LINES, unit="lines")
            if match.end() - match.start() > MAX_LINE_CHARS:
                raise _wrong(number, f"has more than {MAX_LINE_CHARS} characters")
            yield match[0]

    def _is_for(self, pair: LanguagePair, number: int, fields: list[str]) -> bool:
        """Return whether a line has no languages, or those of the pair.

        Raises:
            BadRequestError: its third or fourth column is not blank, and no language; or there are too many languages.
        """
        codes = [field.strip() for field in fields[2:_COLUMNS_WITH_LANGUAGES]]
        if len(codes) < len(pair) or not any(codes):
            return True
        languages = [self._language(number, code) for code in codes]
        return languages == [language_and_script(tag) for tag in pair]

    def _language(self, number: int, code: str) -> tuple[str, str]:
        if code not in self._languages:
            if len(self._languages) == MAX_FILE_LANGUAGES:
                raise _wrong(number, f"has another language than the {MAX_FILE_LANGUAGES} before it; that is too many")
            tag = self._find_tag(code)
            self._languages[code] = language_and_script(tag) if tag is not None and is_registered(tag) else None
        language = self._languages[code]
        if language is None:
            raise _wrong(number, "has no language in its third or fourth column; both are for its terms' languages")
        return language


def to_tsv(entries: Mapping[str, str]) -> str:
    """Return the entries as TSV, with a space for each control character."""
    return "\n".join(
        f"{_CONTROLS.sub(' ', source)}\t{_CONTROLS.sub(' ', target)}" for source, target in entries.items()
    )


def _tsv_rows(lines: Iterator[str]) -> Iterator[Line]:
    """Yield lines; quotation marks mean nothing."""
    for number, line in enumerate(lines, 1):
        yield number, line.rstrip("\r\n").split("\t")


def _csv_rows(lines: Iterator[str]) -> Iterator[Line]:
    reader = csv.reader(lines, strict=True)
    try:
        for fields in reader:
            yield reader.line_num, fields
    except csv.Error as error:
        raise _wrong(reader.line_num, f"is not CSV: {error}") from None


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
