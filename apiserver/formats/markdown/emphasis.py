"""Emphasis, written so that each pair stays a pair between other words.

CommonMark (0.31.2, 6.2) looks at the characters on both sides of a ``*``. ``これは**重要です。**次`` has no bold text, because
a closing behind a full stop may not precede a letter. Such pairs are written as HTML elements.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from apiserver.formats.document import Placeholder, PlaceholderKind, WrittenRun

_OPENING: Final = re.compile(r"[*_~]+")
_CLOSING: Final = re.compile(r"[*_~]++\Z")
_DELIMITER: Final = re.compile(r"\*\*|__|\*|_|~~|~")
_ELEMENTS: Final = {"**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "del", "~": "del"}


def join_emphasis(runs: Sequence[WrittenRun]) -> str:
    """Join words and placeholders so that every pair of delimiters works."""
    row = _move_spaces_outward(runs)
    texts = [text for text, _ in row]
    openings: list[int] = []
    for index, (text, placeholder) in enumerate(row):
        if placeholder is None or placeholder.partner is None:
            continue
        if placeholder.kind is PlaceholderKind.OPEN:
            openings.append(index)
        elif openings:
            opening = openings.pop()
            begin, end = _OPENING.match(row[opening][0]), _CLOSING.search(text)
            if begin is None or end is None:
                continue
            if index > opening + 1 and _opens(row, opening, begin[0]) and _closes(row, index, end[0]):
                continue
            tags = [_ELEMENTS[delimiter] for delimiter in _DELIMITER.findall(begin[0])]
            texts[opening] = "".join(f"<{tag}>" for tag in tags) + texts[opening][begin.end() :]
            texts[index] = texts[index][: end.start()] + "".join(f"</{tag}>" for tag in reversed(tags))
    return "".join(texts)


def _move_spaces_outward(runs: Sequence[WrittenRun]) -> list[WrittenRun]:
    """Move white space inside the delimiters outside, because it disables them."""
    row: list[WrittenRun] = []
    space = ""  # goes behind the closing
    for (text, placeholder), (_, following) in zip(runs, (*runs[1:], ("", None)), strict=True):
        if placeholder is not None:
            row += [(text, placeholder), (space, None)]
            space = ""
            continue
        words = text
        if following is not None and following.kind is PlaceholderKind.CLOSE:
            words = text.rstrip()
            space = text[len(words) :]
        if len(row) > 1 and (opening := row[-2][1]) is not None and opening.kind is PlaceholderKind.OPEN:
            row.insert(len(row) - 2, (words[: len(words) - len(words.lstrip())], None))
            words = words.lstrip()
        row.append((words, None))
    return [run for run in row if run[0]]


def _opens(row: Sequence[WrittenRun], index: int, delimiters: str) -> bool:
    text, _ = row[index]
    before = row[index - 1] if index else ("", None)
    behind = text[len(delimiters) :] or (row[index + 1][0] if index + 1 < len(row) else "")
    if _would_merge(before[1], PlaceholderKind.CLOSE, before[0][-1:], delimiters):
        return False
    is_left, is_right = _flanking(before[0][-1:], behind[:1])
    return is_left and (delimiters[0] != "_" or not is_right or _is_punctuation(before[0][-1:]))


def _closes(row: Sequence[WrittenRun], index: int, delimiters: str) -> bool:
    text, _ = row[index]
    before = text[: len(text) - len(delimiters)] or row[index - 1][0]
    behind = row[index + 1] if index + 1 < len(row) else ("", None)
    if _would_merge(behind[1], PlaceholderKind.OPEN, behind[0][:1], delimiters):
        return False
    is_left, is_right = _flanking(before[-1:], behind[0][:1])
    return is_right and (delimiters[-1] != "_" or not is_left or _is_punctuation(behind[0][:1]))


def _would_merge(placeholder: Placeholder | None, kind: PlaceholderKind, char: str, delimiters: str) -> bool:
    return placeholder is not None and placeholder.kind is kind and char in delimiters


def _flanking(before: str, behind: str) -> tuple[bool, bool]:
    """Return whether delimiters are left-flanking, and right-flanking; text ends count as space."""
    is_space_before, is_space_behind = not before.strip(), not behind.strip()
    is_sign_before, is_sign_behind = _is_punctuation(before), _is_punctuation(behind)
    is_left = not is_space_behind and (not is_sign_behind or is_space_before or is_sign_before)
    is_right = not is_space_before and (not is_sign_before or is_space_behind or is_sign_behind)
    return is_left, is_right


def _is_punctuation(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "PS"
