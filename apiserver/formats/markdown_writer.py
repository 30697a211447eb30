"""Markdown writer: words as Markdown that stay words, in whole pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
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


_NO_RUN: Final[WrittenRun] = ("", None)
_LINE_ENDS: Final = re.compile(r"\s*[\r\n]+\s*")
# The beginning of a heading, quotation, item, rule, fence or definition at a line's start.
_LINE_START: Final = re.compile(r"#{1,6}(?=\s|$)|>|[-+:](?=\s|$)|[-=+]+\s*$|:::|\[[ xX]\](?=\s|$)")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?=[.)](?:\s|$))")
_CLOSING_HASHES: Final = re.compile(r"(?<!\S)(?=#+\s*$)")

_ALWAYS_UNSAFE: Final = (
    r"(?!(?<=\s)[*~](?=\s))[*~]",  # emphasis, except between white space, where it cannot open or close
    r"(?!(?<=[^\W_])_(?=[^\W_])|(?<=\s)_(?=\s))_",  # the same; inside a word an underscore is literal
    r"\\(?=[!-/:-@\[-`{-~]|\Z)",  # a backslash before a character that it could escape
    r"<(?=[a-zA-Z/!?]|\Z)",
    r"&(?=#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};|[0-9a-zA-Z]{1,40};)",
)
_BRACKETS: Final = {True: r"[\[\]]", False: r"\[(?=\^|\Z)|\](?=[(\[:])"}
_DOLLARS: Final = {True: r"\$", False: r"(?<!\s)\$"}  # without formulas: only one that could end a formula
_PIPES: Final = {True: (r"\|",), False: ()}
_UNSAFE: Final = {
    (brackets, math, cell): re.compile("|".join((*_ALWAYS_UNSAFE, _BRACKETS[brackets], _DOLLARS[math], *_PIPES[cell])))
    for brackets, math, cell in product((True, False), repeat=3)
}


@dataclass(frozen=True, slots=True)
class MarkdownWriter:
    """Writes a block's words; the fields say what could become markup there."""

    line_start: bool = False
    heading: bool = False
    cell: bool = False
    brackets: bool = True  # escape every bracket
    math: bool = False  # the text has formulas: escape every dollar sign
    no_break_space: str = "\u00a0"

    def escape(self, words: str) -> str:
        """Escape words for the inside of a line; line ends become spaces."""
        words = _LINE_ENDS.sub(" ", words.strip("\r\n"))
        written = _UNSAFE[self.brackets, self.math, self.cell].sub(r"\\\g<0>", words)
        # A backslash does not prevent a backtick from ending code.
        return written.replace("`", "&#96;").replace("\u00a0", self.no_break_space)

    def join(self, runs: Sequence[WrittenRun]) -> str:
        """Join escaped words and placeholders.

        Escapes also markup that arises only at the line's ends or between neighbours.
        """
        row = [
            (text[:-1] + "\\!" if text.endswith("!") and following.startswith("[") else text, placeholder)
            for (text, placeholder), (following, _) in zip(runs, (*runs[1:], _NO_RUN), strict=True)
        ]
        written = join_emphasis(row)
        if self.line_start and _is_words(row[0]):
            if _LINE_START.match(written):
                written = "\\" + written
            elif (number := _NUMBER.match(written)) is not None:
                written = f"{number[0]}\\{written[number.end() :]}"
        if self.heading and _is_words(row[-1]):
            written = _CLOSING_HASHES.sub(r"\\", written)
        return written


@cache  # 64 writers
def writing(
    *, line_start: bool, heading: bool, cell: bool, brackets: bool, math: bool, has_reference: bool
) -> tuple[Callable[[str], str], Callable[[Sequence[WrittenRun]], str]]:
    """Return a writer's methods, made once for all blocks."""
    no_break_space = "&nbsp;" if has_reference else "\u00a0"
    writer = MarkdownWriter(line_start, heading, cell, brackets, math, no_break_space)
    return writer.escape, writer.join


def _is_words(run: WrittenRun) -> bool:
    _, placeholder = run
    return placeholder is None or placeholder.is_text
