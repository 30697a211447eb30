"""Visible text of HTML and Markdown, extracted roughly, for language detection.

The API server parses markup properly. Here words are separated from markup twice: roughly, for the language; and where
that finds no words, strictly: what is not clearly markup counts as words, so that nothing comes back untranslated by
mistake.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from html.entities import html5
from typing import Final

from shared.literals import needs_translation
from shared.protocol.messages import TextFormat

# Ten times what the detector looks at, so that code and numbers ahead of the words do not hide them.
ENOUGH_CHARS: Final = 2000
# The most that is looked at: a page's head of styles and scripts. Words are found at once; where there are none this
# takes up to 45 ms (digits, 0.7 µs each), therefore longer texts than these belong into a thread:
MAX_SEEN_CHARS: Final = 65_536
INLINE_CHARS: Final = 8192

# Elements whose content tells nothing of the language; it is translated only where ``translate`` says so.
_CODE_ELEMENTS: Final = frozenset({"script", "style", "code", "kbd", "samp", "var"})
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_COMMENT_END: Final = re.compile(r"--!?>")
# The attributes that the API server translates (apiserver/formats/html/attributes.py), here on any element.
_VISIBLE_ATTRIBUTES: Final = frozenset(
    "abbr alt aria-description aria-label aria-placeholder aria-roledescription label placeholder title".split()  # noqa: SIM905
)
# What makes the value of a button, and the content of a meta element, words.
_VISIBLE_VALUES: Final = {
    "value": frozenset({"submit", "button", "reset"}),
    "content": frozenset(
        {"description", "og:title", "og:description", "og:image:alt", "twitter:title", "twitter:description"}
    ),
}
_ATTRIBUTE: Final = re.compile(r"""([^\s/>=]++)\s*+=\s*+(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]\S*))""")
_REFERENCE: Final = re.compile(r"&(?:#0*+([0-9]*+);?|#[xX]0*+([0-9A-Fa-f]*+);?|[A-Za-z][A-Za-z0-9]*+;?)")
# Seven digits hold every character there is (U+10FFFF is 1114111).
_MAX_DIGITS: Final = 7
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
# Code spans, and the targets of links.
_MARKDOWN: Final = re.compile(r"`[^`\n]*`|\]\([^()\s]*\)")


def visible_text(text: str, text_format: TextFormat) -> str | None:
    """Return the beginning of what a reader reads of the text, or None where nothing of it needs a translation.

    None is certain: the API server would find no words either. What is not looked at counts as words. Work is linear
    in the text and bounded. Thread-safe.
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
    unescaped = _unescape(" ".join(pieces))
    if size >= ENOUGH_CHARS or len(text) > MAX_SEEN_CHARS or needs_translation(unescaped):
        return unescaped
    rest = _uncertain_markdown_text(seen) if text_format is TextFormat.MARKDOWN else _uncertain_html_text(seen)
    return None if rest is None else " ".join(rest.split())[:ENOUGH_CHARS]


def _unescape(text: str) -> str:
    """Return the text with its character references read, invalid ones as U+FFFD."""
    return _REFERENCE.sub(_unescape_reference, text)


def _unescape_reference(match: re.Match[str]) -> str:
    if match[1] is None and match[2] is None:
        return html.unescape(match[0])
    digits = match[1] or match[2] or "0"
    if len(digits) > _MAX_DIGITS:
        return "\ufffd"
    return html.unescape(f"&#{'x' if match[2] else ''}{digits};") or "\ufffd"


def _visible_attributes(attributes: str) -> Iterator[str]:
    """Yield the values that readers see among the attributes of one tag."""
    values = [(match[1].lower(), match[2] or match[3] or match[4] or "") for match in _ATTRIBUTE.finditer(attributes)]
    kinds = {_unescape(value).strip().lower() for name, value in values if name in {"type", "name", "property"}}
    for name, value in values:
        if name in _VISIBLE_ATTRIBUTES or not kinds.isdisjoint(_VISIBLE_VALUES.get(name, ())):
            yield value


def _outside_tags(text: str) -> Iterator[str]:
    """Yield what stands outside of tags, comments and code, and the attributes that are read."""
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


# What makes a "<" the beginning of a tag.
_AFTER_OPEN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/!?")


def _outside_fences(text: str) -> Iterator[str]:
    """Yield Markdown's lines outside of fenced code; a fence that is never closed is none."""
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


# What is clearly one thing wherever it stands among words: a tag without "<" and ">" in its values, a comment, a doctype.
_CLEAR_TAG: Final = re.compile(
    r"""<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*+)(?P<attributes>(?:[ \t\n\f\r]++[A-Za-z][A-Za-z0-9_:.-]*+"""
    r"""(?:[ \t\n\f\r]*+=[ \t\n\f\r]*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'=<>`]++))?)*+)[ \t\n\f\r]*+(?P<closed>/?)>"""
)
_CLEAR_OTHER: Final = re.compile(r"<!--(?!-?>)(?:(?!--!?>).)*+-->|<![A-Za-z][^<>]*+>", re.DOTALL)
# Elements whose content, up to the end tag, is clearly code: nothing in it may be a tag. In ASCII: U+017F is no s.
_CLEAR_CODE: Final = {
    name: re.compile(
        (rf"(?:(?!</{name}|<!--).)*+</{name}" if name in {"script", "style"} else rf"[^<]*+</{name}")
        + r"[ \t\n\f\r]*+>",
        re.ASCII | re.DOTALL | re.IGNORECASE,
    )
    for name in sorted(_CODE_ELEMENTS)
}
# Elements in which a "<" may be a word's.
_RAW: Final = frozenset(
    {"iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"}
)
_VISIBLE_ATTRIBUTE_VALUE: Final = re.compile(
    rf"(?:{'|'.join(sorted(_VISIBLE_ATTRIBUTES | _VISIBLE_VALUES.keys()))})[\s/]*+=(.*)", re.IGNORECASE | re.DOTALL
)


def _uncertain_html_text(text: str) -> str | None:
    """Return what is not clearly markup or code, or None where nothing of it needs a translation.

    Read as the standard reads it as long as each tag is clear. From the first unclear one on, only what stands between
    a "<" and the next ">" is no words: a browser never ends a tag sooner.
    """
    pieces, at = list[str](), 0
    clear = "translate" not in text.lower()
    while clear and (start := text.find("<", at)) >= 0:
        pieces.append(_unescape(text[at:start]))
        at = start
        if text[start + 1 : start + 2] not in _AFTER_OPEN:
            pieces.append("<")
            at += 1
        elif (end := _clear_end(text, start, pieces)) is not None:
            at = end
        else:
            clear = False
    if clear:
        pieces.append(_unescape(text[at:]))
        rest = "".join(pieces)
        return rest if needs_translation(rest) else None
    return _text_if_letters(" ".join((*pieces, *_between_tags(text, at))))


def _clear_end(text: str, start: int, pieces: list[str]) -> int | None:
    """Return where the markup that begins here ends, and add what is read of it; None where it is unclear."""
    tag = _CLEAR_TAG.match(text, start)
    if tag is None:
        other = _CLEAR_OTHER.match(text, start)
        pieces.append("\n")
        return None if other is None else other.end()
    name, end = tag["name"].lower(), tag.end()
    if not tag["end"] and name in _CLEAR_CODE and not tag["closed"]:
        code = _CLEAR_CODE[name].match(text, end)
        if code is None:
            return None
        end = code.end()
    elif (
        not tag["end"] and name in _RAW and not re.compile(f"[^<]*+</{name}", re.ASCII | re.IGNORECASE).match(text, end)
    ):
        return None
    pieces.append("\n")
    pieces.extend(f"\n{_unescape_strictly(value)}\n" for value in _visible_attributes(tag["attributes"]))
    return end


def _between_tags(text: str, at: int) -> Iterator[str]:
    while (start := text.find("<", at)) >= 0 and (end := text.find(">", start)) >= 0:
        yield text[at:start]
        name = _NAME.match(text, start + 1)
        if text[start + 1] not in _AFTER_OPEN or (name is not None and name[0].lower() in _RAW):
            at = start + 1
            if name is None:
                continue
            break
        attribute = _VISIBLE_ATTRIBUTE_VALUE.search(text, start, end)
        if attribute is not None:
            yield attribute[1]
        at = end + 1
    yield text[at:]


def _text_if_letters(text: str) -> str | None:
    """Return the text, read, if there is any letter in it, as it is written or as it is read."""
    unescaped = _unescape(text)
    return next((each for each in (unescaped, text) if any(map(str.isalpha, each))), None)


_CLOSED_REFERENCE: Final = re.compile(r"&(?!(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});)(?:([A-Za-z][A-Za-z0-9]*+;?))?")


def _unescape_strictly(text: str) -> str:
    """Read references that end with a semicolon alone, as Markdown and attributes (nearly) do."""
    return _unescape(
        _CLOSED_REFERENCE.sub(lambda match: match[0] if match[1] in _NAMED else f"&amp;{match[1] or ''}", text)
    )


_NAMED: Final = frozenset(name for name in html5 if name.endswith(";"))
_CODE_LINE: Final = re.compile(r"(?:[^`]*+`[^`]++`(?!`))*+[^`]*+")
_CODE_SPAN: Final = re.compile(r"`[^`\n]++`")
_FENCE_LINE: Final = re.compile(r"(`{3,}+|~{3,}+)[^`]*+")
_FRONT_MATTER: Final = re.compile(r"^[ \t>]*+(?:---|\+\+\+)", re.MULTILINE)
_AUTOLINK: Final = re.compile(r"""<https?://[^\s<>"'`|]++>""")
_LINK: Final = re.compile(r"""(?<!\])\[([^\[\]!^|\n]*+)\]\([^\s()\[\]<>"'`|]*+\)""")
_SYNTAX: Final = re.compile(r"[*_~|\[\]<>]")


def _uncertain_markdown_text(text: str) -> str | None:
    """Return what is not clearly syntax or code, or None where nothing of it needs a translation.

    Where anything in the text could make something else of the rest, any letter counts.
    """
    rest = _strip_clear_markdown(text.replace("\r\n", "\n").replace("\r", "\n"))
    if rest is None:
        return _text_if_letters(text)
    rest = _unescape_strictly(_SYNTAX.sub("\n", rest))
    return rest if needs_translation(rest) else None


def _strip_clear_markdown(text: str) -> str | None:
    """Return the text without code, tags and targets, or None where it is unclear what these are."""
    rest = "\n".join(_outside_clear_fences(text.split("\n")))
    fenced = rest != text
    if any(each in rest for each in ("```", "~~~", "\\", "$")) or _FRONT_MATTER.search(rest):
        return None
    if "`" in rest:
        if any(each in rest for each in "[<|") or not all(map(_CODE_LINE.fullmatch, rest.split("\n"))):
            return None
        rest = _CODE_SPAN.sub("\n", rest)
    rest = _AUTOLINK.sub("\n", rest)
    if "<" not in rest:
        return _LINK.sub(r"\n\1\n", rest)
    if fenced or "[" in rest or "|" in rest:  # a block of HTML may hold what looks like a fence
        return None
    pieces, at = list[str](), 0
    for tag in _CLEAR_TAG.finditer(rest):
        if tag["name"].lower() in _RAW or "\n" in tag[0]:
            return None
        pieces += [rest[at : tag.start()], *_visible_attributes(tag["attributes"])]
        at = tag.end()
    pieces.append(rest[at:])
    return None if any("<" in piece for piece in pieces) else "\n".join(pieces)


def _outside_clear_fences(lines: list[str]) -> Iterator[str]:
    """Yield the lines outside of fenced code that begins where no list, quotation or paragraph can hold it."""
    fence: str | None = None
    fenced_lines: list[str] = []
    for line in lines:
        if fence is None:
            match = _FENCE_LINE.fullmatch(line)
            if match is None:
                yield line
            else:
                fence, fenced_lines = match[1], [line]
        else:
            fenced_lines.append(line)
            mark = line.rstrip(" \t").removeprefix(" ").removeprefix(" ").removeprefix(" ")
            if len(mark) >= len(fence) and not mark.strip(fence[0]):
                fence, fenced_lines = None, []
                yield ""
    yield from fenced_lines
