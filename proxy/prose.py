"""What of a text a reader reads: markup stripped roughly, enough to tell its language by. Pure.

The API server parses markup properly; here it only must not pass for words, nor words for markup: what is unclear
counts as words.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from shared.identity import needs_translation
from shared.wire import TextFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ten times what the detector looks at, so that code and numbers ahead of the words do not hide them.
ENOUGH_CHARS: Final = 2000
# The most that is looked at: a page's head of styles and scripts. Words are found at once; where there are none this
# takes up to 45 ms (digits, 0.7 µs each), therefore longer texts than these belong into a thread:
MAX_SEEN_CHARS: Final = 65_536
INLINE_CHARS: Final = 8192

# Elements whose content is never translated.
_SILENT: Final = frozenset({"script", "style", "code", "pre", "kbd", "samp", "var"})
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
# The attributes that readers see.
_SPOKEN: Final = re.compile(r"""\b(?:alt|title|placeholder)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
# Code spans, and the targets of links.
_MARKDOWN: Final = re.compile(r"`[^`\n]*`|\]\([^()\s]*\)")


def words(text: str, text_format: TextFormat) -> str | None:
    """Return the beginning of what a reader reads of the text, or None where nothing of it needs a translation.

    Work is linear in the text and bounded; what is not looked at counts as words. Thread-safe.
    """
    seen = text[:MAX_SEEN_CHARS]
    if text_format is TextFormat.TEXT:
        return seen if len(text) > MAX_SEEN_CHARS or needs_translation(seen) else None
    if text_format is TextFormat.MARKDOWN:
        seen = _MARKDOWN.sub(" ", "".join(_outside_fences(seen)))
    found: list[str] = []
    size = 0
    for piece in _outside_tags(seen):
        if piece and not piece.isspace():
            found.append(piece)
            size += len(piece)
        if size >= ENOUGH_CHARS:
            break
    read = html.unescape(" ".join(found))
    return read if size >= ENOUGH_CHARS or len(text) > MAX_SEEN_CHARS or needs_translation(read) else None


def _outside_tags(text: str) -> Iterator[str]:
    """Yield what stands outside of tags, comments and code, and the attributes that are read."""
    at = 0
    unclosed: set[str] = set()
    while (start := text.find("<", at)) >= 0:
        comment = text.startswith("<!--", start)
        if not comment and text[start + 1 : start + 2] not in _AFTER_OPEN:
            yield text[at : start + 1]
            at = start + 1
            continue
        end = text.find("-->" if comment else ">", start)
        if end < 0:
            break
        yield text[at:start]
        at = end + (3 if comment else 1)
        if comment:
            continue
        tag = text[start + 1 : end]
        for match in _SPOKEN.finditer(tag):
            yield match[1] or match[2] or ""
        name = _NAME.match(tag)
        if name is not None and (silent := name[0].lower()) in _SILENT - unclosed and not tag.endswith("/"):
            close = re.compile(f"</{silent}", re.IGNORECASE).search(text, at)
            if close is None:
                unclosed.add(silent)
            else:
                at = close.start()
    yield text[at:]


# What makes a "<" the beginning of a tag.
_AFTER_OPEN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")


def _outside_fences(text: str) -> Iterator[str]:
    """Yield Markdown's lines outside of fenced code; a fence that is never closed is none."""
    lines = text.splitlines(keepends=True)
    held: list[str] = []
    fence: str | None = None
    for line in lines:
        mark = _FENCE.match(line)
        if fence is None and mark is None:
            yield line
        elif fence is None and mark is not None:
            fence = mark[1]
            held = [line]
        elif mark is not None and mark[1] == fence:
            fence, held = None, []
        else:
            held.append(line)
    yield from held
