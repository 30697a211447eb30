"""How words are written in Markdown, so that none of them becomes markup by accident."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import Final

_LINE_ENDS: Final = re.compile(r"\s*[\r\n]+\s*")
# What begins a heading, a quotation, an item, a rule, a fence or a definition where a line begins.
_LINE_START: Final = re.compile(r"#{1,6}(?=\s|$)|>|[-+:](?=\s|$)|[-=+]+\s*$|:::")
_NUMBER: Final = re.compile(r"([0-9]{1,9})(?=[.)](?:\s|$))")
_TASK: Final = re.compile(r"\[[ xX]\](?=\s|$)")
_CLOSING_HASHES: Final = re.compile(r"(?<!\S)(?=#+\s*$)")

_ALWAYS: Final = (
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
    (brackets, math, cell): re.compile("|".join((*_ALWAYS, _BRACKETS[brackets], _DOLLARS[math], *_PIPES[cell])))
    for brackets, math, cell in product((True, False), repeat=3)
}


@dataclass(frozen=True, slots=True)
class MarkdownWriter:
    """Writes words where a block of Markdown stood; each field says what could become markup there.

    A stretch of words is not told what stands around it, so its ends are taken for the worst that the place allows.
    """

    line_start: bool = False
    heading: bool = False
    cell: bool = False
    brackets: bool = True  # no bracket may stand for itself
    links: bool = False  # a link may follow, which an exclamation mark would make an image
    math: bool = False  # formulas are about: no dollar sign may stand for itself
    no_break_space: str = "\u00a0"

    def write(self, words: str) -> str:
        """Return the words as Markdown that reads as them; a line end in them becomes a space."""
        words = _LINE_ENDS.sub(" ", words.strip("\r\n"))
        written = _UNSAFE[self.brackets, self.math, self.cell].sub(r"\\\g<0>", words)
        if self.line_start and (_LINE_START.match(written) or _TASK.match(written)):
            written = "\\" + written
        elif self.line_start:
            written = _NUMBER.sub(r"\1\\", written, count=1) if _NUMBER.match(written) else written
        if self.links and written.endswith("!"):
            written = written[:-1] + "\\!"
        if self.heading:
            written = _CLOSING_HASHES.sub(r"\\", written)
        # A backslash does not keep a backtick from ending code that another one began.
        return written.replace("`", "&#96;").replace("\u00a0", self.no_break_space)
