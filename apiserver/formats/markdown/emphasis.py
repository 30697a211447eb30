"""Emphasis between words that would not let it be: Markdown looks at the characters on both sides of a ``*``.

``これは**重要です。**次`` holds no bold text for CommonMark (0.31.2, 6.2, "left-flanking" and "right-flanking"): what
closes behind a full stop may not stand before a letter. Languages without spaces get there all the time. Where a pair
would not be read as one, HTML's elements stand for it, which Markdown allows wherever it allows emphasis.
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


def join_emphasis(pieces: Sequence[WrittenRun]) -> str:
    """Put words and marks together so that every pair of delimiters is read as a pair."""
    row = _spaced(pieces)
    texts = [text for text, _ in row]
    opened: list[int] = []
    for place, (text, mark) in enumerate(row):
        if mark is None or mark.partner is None:
            continue
        if mark.kind is PlaceholderKind.OPEN:
            opened.append(place)
        elif opened:
            opening = opened.pop()
            begin, end = _OPENING.match(row[opening][0]), _CLOSING.search(text)
            if begin is None or end is None:
                continue
            if place > opening + 1 and _opens(row, opening, begin[0]) and _closes(row, place, end[0]):
                continue
            tags = [_ELEMENTS[delimiter] for delimiter in _DELIMITER.findall(begin[0])]
            texts[opening] = "".join(f"<{tag}>" for tag in tags) + texts[opening][begin.end() :]
            texts[place] = texts[place][: end.start()] + "".join(f"</{tag}>" for tag in reversed(tags))
    return "".join(texts)


def _spaced(pieces: Sequence[WrittenRun]) -> list[WrittenRun]:
    """Move white space at the ends of emphasis out of it, where it would keep it from being read."""
    row: list[WrittenRun] = []
    space = ""  # to come behind the closing
    for (text, mark), (_, following) in zip(pieces, (*pieces[1:], ("", None)), strict=True):
        if mark is not None:
            row += [(text, mark), (space, None)]
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
    return [piece for piece in row if piece[0]]


def _opens(row: Sequence[WrittenRun], place: int, run: str) -> bool:
    text, _ = row[place]
    before = row[place - 1] if place else ("", None)
    behind = text[len(run) :] or (row[place + 1][0] if place + 1 < len(row) else "")
    if _touches(before[1], PlaceholderKind.CLOSE, before[0][-1:], run):
        return False
    is_left, is_right = _flanks(before[0][-1:], behind[:1])
    return is_left and (run[0] != "_" or not is_right or _is_punctuation(before[0][-1:]))


def _closes(row: Sequence[WrittenRun], place: int, run: str) -> bool:
    text, _ = row[place]
    before = text[: len(text) - len(run)] or row[place - 1][0]
    behind = row[place + 1] if place + 1 < len(row) else ("", None)
    if _touches(behind[1], PlaceholderKind.OPEN, behind[0][:1], run):
        return False
    is_left, is_right = _flanks(before[-1:], behind[0][:1])
    return is_right and (run[-1] != "_" or not is_left or _is_punctuation(behind[0][:1]))


def _touches(mark: Placeholder | None, kind: PlaceholderKind, char: str, run: str) -> bool:
    """Say whether the delimiters of a pair and those of the next one would be read as one run."""
    return mark is not None and mark.kind is kind and char in run


def _flanks(before: str, behind: str) -> tuple[bool, bool]:
    """Say whether a run between two characters is left-flanking, and right-flanking; the ends count as space."""
    is_space_before, is_space_behind = not before.strip(), not behind.strip()
    is_sign_before, is_sign_behind = _is_punctuation(before), _is_punctuation(behind)
    is_left = not is_space_behind and (not is_sign_behind or is_space_before or is_sign_before)
    is_right = not is_space_before and (not is_sign_before or is_space_behind or is_sign_behind)
    return is_left, is_right


def _is_punctuation(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "PS"
