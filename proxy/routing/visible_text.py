"""Rough visible text of HTML and Markdown, for language detection."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

from shared.literals import needs_translation
from shared.protocol.translate_request import TextFormat

# Ten times the detector's limit: code and numbers may precede the words.
ENOUGH_CHARS: Final = 2000
# Enough for a page's head; takes up to 45 ms, so texts longer than VISIBLE_INLINE_CHARS are read in a thread.
MAX_SEEN_CHARS: Final = 65_536
VISIBLE_INLINE_CHARS: Final = 8192

# The language of their content says nothing about the text.
_CODE_ELEMENTS: Final = frozenset({"script", "style", "code", "kbd", "samp", "var"})
# Characters after "<" that begin a tag.
_AFTER_OPEN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_COMMENT_END: Final = re.compile(r"--!?>")
# The API server translates these (apiserver/formats/html_reader.py); here of any element.
_VISIBLE_ATTRIBUTES: Final = frozenset(
    "abbr alt aria-description aria-label aria-placeholder aria-roledescription label placeholder title".split()  # noqa: SIM905
)
# Visible only with one of these types, names or properties.
_VISIBLE_VALUES: Final = {
    "value": frozenset({"submit", "button", "reset"}),
    "content": frozenset(
        {"description", "og:title", "og:description", "og:image:alt", "twitter:title", "twitter:description"}
    ),
}
# A name begins once, at its first character: a tag of one long name would cost the square of its length.
_ATTRIBUTE: Final = re.compile(r"""(?<![^\s/>=])([^\s/>=]++)\s*+=\s*+(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]\S*))""")
_REFERENCE: Final = re.compile(r"&(?:#0*+([0-9]*+);?|#[xX]0*+([0-9A-Fa-f]*+);?|[A-Za-z][A-Za-z0-9]*+;?)")
# U+10FFFF, the last character, is 1114111.
_MAX_DIGITS: Final = 7
# Never words: spaces, and tags whose elements cannot contain a literal "<".
_PLAIN: Final = re.compile(
    r"</?(?:p|br|hr|div|span|b|i|u|em|strong|li|ul|ol|table|tr|td|th|h[1-6]) *+/?>|&nbsp;", re.IGNORECASE
)
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
# Code spans, and the targets of links.
_MARKDOWN: Final = re.compile(r"`[^`\n]*`|\]\([^()\s]*\)")


def visible_text(text: str, text_format: TextFormat) -> str | None:
    """Return the beginning of the visible text, or None without translatable words.

    None is certain: if words may be in code or comments, the result is empty; text beyond ``MAX_SEEN_CHARS`` counts as
    words. Linear, bounded, thread-safe.
    """
    seen = text[:MAX_SEEN_CHARS]
    if text_format is TextFormat.TEXT:
        return seen if len(text) > MAX_SEEN_CHARS or needs_translation(seen) else None
    plain = _MARKDOWN.sub(" ", "".join(_outside_fences(seen))) if text_format is TextFormat.MARKDOWN else seen
    pieces, size = list[str](), 0
    for piece in _outside_tags(plain):
        if piece and not piece.isspace():
            pieces.append(piece)
            size += len(piece)
        if size >= ENOUGH_CHARS:
            break
    unescaped = unescape(" ".join(pieces))
    if size >= ENOUGH_CHARS or len(text) > MAX_SEEN_CHARS or needs_translation(unescaped):
        return unescaped
    rest = _PLAIN.sub(" ", seen)
    return "" if any(map(str.isalpha, rest + unescape(rest))) else None


def unescape(text: str) -> str:
    """Return the text with its character references resolved, in linear time."""
    return _REFERENCE.sub(_unescape_reference, text)


def _unescape_reference(match: re.Match[str]) -> str:
    if match[1] is None and match[2] is None:
        return html.unescape(match[0])
    digits = match[1] or match[2] or "0"
    if len(digits) > _MAX_DIGITS:
        return "\ufffd"
    return html.unescape(f"&#{'x' if match[2] else ''}{digits};") or "\ufffd"


def _visible_attributes(attributes: str) -> Iterator[str]:
    values = [(match[1].lower(), match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(attributes)]
    kinds = {unescape(value).strip().lower() for name, value in values if name in {"type", "name", "property"}}
    for name, value in values:
        if name in _VISIBLE_ATTRIBUTES or not kinds.isdisjoint(_VISIBLE_VALUES.get(name, ())):
            yield value


def _outside_tags(text: str) -> Iterator[str]:
    at = 0
    unclosed: set[str] = set()
    while (start := text.find("<", at)) >= 0:
        if text[start + 1 : start + 2] not in _AFTER_OPEN:
            yield text[at : start + 1]
            at = start + 1
            continue
        if text.startswith("<!--", start):
            comment = _COMMENT_END.search(text, start + 2)
            if comment is None:
                break
            yield text[at:start]
            at = comment.end()
            continue
        end = text.find(">", start)
        if end < 0:
            break
        yield text[at:start]
        at = end + 1
        tag = text[start + 1 : end]
        yield from _visible_attributes(tag)
        name = _NAME.match(tag)
        if (
            name is not None
            and (code_element := name[0].lower()) in _CODE_ELEMENTS - unclosed
            and not tag.endswith("/")
        ):
            close = re.compile(f"</{code_element}", re.IGNORECASE).search(text, at)
            if close is None:
                unclosed.add(code_element)
            else:
                at = close.start()
    yield text[at:]


def _outside_fences(text: str) -> Iterator[str]:
    # An unclosed fence is text.
    fenced_lines: list[str] = []
    fence: str | None = None
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence is None and mark is None:
            yield line
        elif fence is None and mark is not None:
            fence = mark[1]
            fenced_lines = [line]
        elif mark is not None and mark[1] == fence:
            fence, fenced_lines = None, []
        else:
            fenced_lines.append(line)
    yield from fenced_lines
