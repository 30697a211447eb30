"""Escaping: writes words in Markdown so that none becomes markup."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

from apiserver.formats.document import WrittenRun
from apiserver.formats.markdown.emphasis import join_emphasis

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
