"""Terms files: CSV and TBX to terms by target language."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

from .failures import UsageError
from .translation.inputs import decoded_text, read_bytes

Terms = Mapping[str, str]
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"


def read_terms(path: Path, source: str | None, targets: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the terms of a file for each target.

    Raises:
        UsageError: it cannot be read, or lacks a language.
    """
    content = read_bytes(path)
    match path.suffix.lower():
        case ".csv":
            entries = _csv_entries(decoded_text(content, path), path, source, targets)
        case ".tbx":
            entries = _tbx_entries(content, path)
        case _:
            raise UsageError(f"{path} has no terms: a terms file is .csv or .tbx.")
    return {target: _terms(entries, path, source, target) for target in targets}


def _csv_entries(text: str, path: Path, source: str | None, targets: Sequence[str]) -> list[dict[str, str]]:
    """Return terms by language of each row.

    Without a first row of languages there are two columns.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    first = [cell.strip() for cell in rows[0]] if rows else []
    if all(map(_TAG.fullmatch, first)) and any(_fits(cell, target) for cell in first[1:] for target in targets):
        return [dict(zip(first, row, strict=False)) for row in rows[1:]]
    if len(targets) > 1:
        raise UsageError(f"{path} needs a first line with its languages for several targets, such as en,de,fr.")
    if wrong := next((row for row in rows if len(row) != 2), None):
        raise UsageError(f"{path}: {','.join(wrong)!r} is not source,target.")
    return [{source or "": row[0], targets[0]: row[1]} for row in rows]


def _tbx_entries(content: bytes, path: Path) -> list[dict[str, str]]:
    """Return each entry's first term by language; TBX 2 and 3."""
    try:
        root = ET.fromstring(content)  # noqa: S314 -- the user's own file; expat bounds what entities become
    except ET.ParseError as error:
        raise UsageError(f"{path} is not XML: {error}.") from None
    entries: list[dict[str, str]] = []
    for entry in (each for each in root.iter() if _name(each) in {"termEntry", "conceptEntry"}):
        terms: dict[str, str] = {}
        for language in (each for each in entry.iter() if _name(each) in {"langSet", "langSec"}):
            term = next((each for each in language.iter() if _name(each) == "term"), None)
            if term is not None:
                terms[language.get(_LANG, "")] = "".join(term.itertext())
        entries.append(terms)
    return entries


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _terms(entries: Sequence[Terms], path: Path, source: str | None, target: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        ours = next((entry[tag].strip() for tag in entry if _is_source(tag, source, target)), "")
        theirs = next((entry[each].strip() for each in entry if _fits(each, target)), "")
        if ours and theirs:
            found[ours] = theirs
    if not found:
        raise UsageError(f"{path} has no terms from {source or 'its first language'} to {target}.")
    return found


def _is_source(tag: str, source: str | None, target: str) -> bool:
    return not _fits(tag, target) if source is None else _fits(tag, source)


def _fits(tag: str, wanted: str) -> bool:
    """Say whether a column is of a language, whatever the region."""
    return tag.lower() in {wanted.lower(), wanted.lower().partition("-")[0]} or tag.lower().startswith(
        f"{wanted.lower()}-"
    )
