"""How words are written in Markdown, so that none of them becomes markup by accident."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from apiserver.formats.document import WrittenRun
from apiserver.formats.markdown.emphasis import join_emphasis

_NO_RUN: Final[WrittenRun] = ("", None)
_LINE_ENDS: Final = re.compile(r"\s*[\r\n]+\s*")
# What begins a heading, a quotation, an item, a rule, a fence or a definition where a line begins.
_LINE_START: Final = re.compile(r"#{1,6}(?=\s|$)|>|[-+:](?=\s|$)|[-=+]+\s*$|:::|\[[ xX]\](?=\s|$)")
_NUMBER: Final = re.compile(r"[0-9]{1,9}(?=[.)](?:\s|$))")
_CLOSING_HASHES: Final = re.compile(r"(?<!\S)(?=#+\s*$)")

_ALWAYS_UNSAFE: Final = (
    r"(?!(?<=\s)[*~](?=\s))[*~]",  # emphasis, unless white space keeps it from opening and closing
    r"(?!(?<=[^\W_])_(?=[^\W_])|(?<=\s)_(?=\s))_",  # the same; inside a word an underscore is a letter
    r"\\(?=[!-/:-@\[-`{-~]|\Z)",  # a backslash before what it could escape
    r"<(?=[a-zA-Z/!?]|\Z)",
    r"&(?=#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};|[0-9a-zA-Z]{1,40};)",
)
_BRACKETS: Final = {True: r"[\[\]]", False: r"\[(?=\^|\Z)|\](?=[(\[:])"}
_DOLLARS: Final = {True: r"\$", False: r"(?<!\s)\$"}  # without formulas: what could end one
_PIPES: Final = {True: (r"\|",), False: ()}
_UNSAFE: Final = {
    (brackets, math, cell): re.compile("|".join((*_ALWAYS_UNSAFE, _BRACKETS[brackets], _DOLLARS[math], *_PIPES[cell])))
    for brackets, math, cell in product((True, False), repeat=3)
}


@dataclass(frozen=True, slots=True)
class MarkdownWriter:
    """Writes words where a block of Markdown stood; each field says what could become markup there."""

    line_start: bool = False
    heading: bool = False
    cell: bool = False
    brackets: bool = True  # no bracket may stand for itself
    math: bool = False  # the text has formulas: no dollar sign may stand for itself
    no_break_space: str = "\u00a0"

    def escape(self, words: str) -> str:
        """Return the words as Markdown that reads as them inside a line; a line end in them becomes a space."""
        words = _LINE_ENDS.sub(" ", words.strip("\r\n"))
        written = _UNSAFE[self.brackets, self.math, self.cell].sub(r"\\\g<0>", words)
        # A backslash does not keep a backtick from ending code that another one began.
        return written.replace("`", "&#96;").replace("\u00a0", self.no_break_space)

    def join(self, runs: Sequence[WrittenRun]) -> str:
        """Join escaped words and placeholders; escape what becomes markup only at a line's ends or together."""
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


def _is_words(run: WrittenRun) -> bool:
    _, placeholder = run
    return placeholder is None or placeholder.is_text
