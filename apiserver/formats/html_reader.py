"""HTML reader: text between block-level tags becomes blocks, inline elements become placeholders."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from apiserver.formats.document import (
    PLAIN_SPACES,
    Block,
    Document,
    DocumentBuilder,
    PlacedBlock,
    PlaceholderKind,
    TextRun,
    word_blocks,
)
from apiserver.formats.html_tokens import HtmlToken, TokenKind, html_tokens
from apiserver.formats.tag_nesting import BlockBuilder

# "Translatable attributes" of the HTML standard (3.2.6.2) without download, srcdoc, style and lang, which are not words
# for a reader; with WAI-ARIA 1.3's attributes for readers, and the values of all buttons.
_GLOBAL: Final = frozenset({"title", "aria-label", "aria-description", "aria-placeholder", "aria-roledescription"})
_BY_ELEMENT: Final = frozenset(
    {
        ("alt", "area"),
        ("alt", "img"),
        ("alt", "input"),
        ("placeholder", "input"),
        ("placeholder", "textarea"),
        ("label", "optgroup"),
        ("label", "option"),
        ("label", "track"),
        ("abbr", "th"),
    }
)
_BUTTONS: Final = frozenset({"submit", "button", "reset"})
_META_NAMES: Final = frozenset(
    {"description", "og:title", "og:description", "og:image:alt", "twitter:title", "twitter:description"}
)
# HTML standard, 13.2.5.32 ff.: a name, then optionally "=" and a value. Possessive, so linear.
_ATTRIBUTE: Final = re.compile(
    r"""[\s/]*+(?P<name>[^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)'|(?P<bare>[^\s>"']"""
    r"[^\s>]*+)?))?",
    re.ASCII,
)
_QUOTES: Final = {"double": '"', "single": "'", "bare": "\t\n\f\r \"'=<>`"}


def attribute_blocks(text: str, token: HtmlToken) -> tuple[PlacedBlock, ...]:
    """Return the blocks of a start tag's attributes, in order."""
    values = dict(token.attributes)
    names = {name for name in values if _is_translatable(token.tag, name, values)}
    if not names:
        return ()
    blocks: list[PlacedBlock] = []
    begin = token.start + 1 + len(token.tag)
    for match in _ATTRIBUTE.finditer(text, begin, token.end - 1):
        name, quoting = match["name"].lower(), match.lastgroup
        if name in names and quoting is not None and quoting in _QUOTES:
            names.discard(name)
            escape = partial(_escaped_value, quotes=_QUOTES[quoting])
            blocks += word_blocks(text, match.start(quoting), match.end(quoting), escape, values[name])
    return tuple(blocks)


def _is_translatable(tag: str, name: str, values: Mapping[str, str]) -> bool:
    if name == "value":
        return tag == "input" and values.get("type", "").lower() in _BUTTONS
    if name == "content":
        return tag == "meta" and values.get("name", values.get("property", "")).lower() in _META_NAMES
    return name in _GLOBAL or (name, tag) in _BY_ELEMENT


def _escaped_value(words: str, *, quotes: str) -> str:
    """Write words as an attribute's value; ``quotes`` are the characters to escape."""
    escaped = words.replace("&", "&amp;").replace("\r", "&#13;")
    for quote in quotes:
        escaped = escaped.replace(quote, f"&#{ord(quote)};")
    return escaped


# HTML standard, 15.3 "Flow content": no sentence crosses their tags. <br> is included, because a line break must keep
# its place. Unknown elements are inline, as in a browser.
BLOCK_LEVEL: Final = frozenset(
    """
    address applet article aside audio blockquote body br button canvas caption center col colgroup datalist dd details
    dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
    html iframe legend li listing main marquee menu nav noembed noframes noscript object ol optgroup option p plaintext
    pre search section select summary table tbody td template textarea tfoot th thead title tr ul video xmp
    """.split()  # noqa: SIM905  # a word list, not a page
)
# Elements without end tag, obsolete ones included.
VOID: Final = frozenset(
    """
    area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr
    """.split()  # noqa: SIM905  # a word list, not a page
)
_UNREAD: Final = "iframe listing noembed noframes noscript plaintext script style svg textarea xmp".split()  # noqa: SIM905
# Code is a name in its sentence; the others do not belong to it.
_KEPT: Final = {
    **dict.fromkeys(("code", "kbd", "samp", "var", "tt", "math"), PlaceholderKind.NAME),
    **dict.fromkeys(_UNREAD, PlaceholderKind.ALONE),
}
_SPACE_KEPT: Final = frozenset({"pre", "listing"})
_FOREIGN: Final = ("svg", "math")

# A tag inside one of these closes no element outside of it (13.2.4.2 "has an element in scope").
_END_SCOPE: Final = ("table", "td", "th", "caption", "template", "object", "marquee", "applet", "button", "html")
_SCOPE: Final = (*_END_SCOPE, *_FOREIGN)
# Elements with an optional end tag: the elements that a start tag ends, and the elements that bound its search.
_TABLE_SCOPE: Final = ("table", "template", *_FOREIGN)
_IMPLIED_ENDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "li": (("li",), ("ul", "ol", "menu", "dir", *_SCOPE)),
    "dt": (("dt", "dd"), ("dl", *_SCOPE)),
    "dd": (("dt", "dd"), ("dl", *_SCOPE)),
    "option": (("option",), ("select", "datalist", *_SCOPE)),
    "optgroup": (("optgroup", "option"), ("select", "datalist", *_SCOPE)),
    "td": (("td", "th"), ("tr", *_TABLE_SCOPE)),
    "th": (("td", "th"), ("tr", *_TABLE_SCOPE)),
    "tr": (("tr", "td", "th", "caption", "colgroup"), ("tbody", "thead", "tfoot", *_TABLE_SCOPE)),
    **dict.fromkeys(
        ("tbody", "thead", "tfoot", "colgroup", "caption"),
        (("tbody", "thead", "tfoot", "tr", "td", "th", "caption", "colgroup"), _TABLE_SCOPE),
    ),
}
_TABLE_PARTS: Final = frozenset({"table", "caption", "colgroup", "tbody", "thead", "tfoot", "tr", "td", "th"})
# Block-level elements whose start tag does not end a paragraph.
_IN_A_PARAGRAPH: Final = frozenset(
    """
    applet audio br button canvas datalist iframe marquee noembed noframes noscript object optgroup option select
    template textarea title video
    """.split()  # noqa: SIM905  # a word list, not a page
)


@dataclass(slots=True)
class Element:
    """An open element; ``kept_as`` is None if its words are translated."""

    tag: str
    kept_as: PlaceholderKind | None = None
    keeps_whitespace: bool = False


_ROOT: Final = Element("")


class OpenElements:
    """The open elements; end tags may be missing, stray or crossed."""

    def __init__(self) -> None:
        self._open: list[Element] = []
        self._positions: dict[str, list[int]] = {}  # of each tag, in _open
        self._block_positions: list[int] = []  # of block-level elements, in _open

    def __len__(self) -> int:
        return len(self._open)

    @property
    def current(self) -> Element:
        """The innermost open element."""
        return self._open[-1] if self._open else _ROOT

    def start(self, tag: str, attributes: Mapping[str, str], *, is_closed: bool) -> Element:
        """Return a start tag's element; open it unless void or self-closed."""
        closes, scope = _IMPLIED_ENDS.get(tag, ((), ()))
        if closes:
            self._close_outermost(closes, self._nearest(scope))
        if tag in BLOCK_LEVEL and tag not in _IN_A_PARAGRAPH:
            self._close_outermost(("p",), self._nearest(_SCOPE))
        outer = self.current
        element = Element(
            tag,
            _kept_as(tag, attributes, outer.kept_as),
            (outer.keeps_whitespace or tag in _SPACE_KEPT) and tag != "table",
        )
        if tag not in VOID and not (is_closed and self._nearest(_FOREIGN) >= 0):
            self._positions.setdefault(tag, []).append(len(self._open))
            if tag in BLOCK_LEVEL:
                self._block_positions.append(len(self._open))
            self._open.append(element)
        return element

    def end(self, tag: str) -> Element:
        """Return the element that the tag ended, else the innermost open one."""
        position = self._nearest((tag,))
        if tag in _TABLE_PARTS:
            boundary = self._nearest(_TABLE_SCOPE) if tag != "table" else -1
        elif tag in BLOCK_LEVEL:
            boundary = self._nearest(tuple(name for name in _END_SCOPE if name != tag))
        else:
            boundary = self._block_positions[-1] if self._block_positions else -1
        if position <= boundary:
            return self.current
        ended = self._open[position]
        self.truncate(position)
        return ended

    def truncate(self, length: int) -> None:
        """Close the innermost elements until ``length`` are open."""
        while len(self._open) > length:
            element = self._open.pop()
            self._positions[element.tag].pop()
            if element.tag in BLOCK_LEVEL:
                self._block_positions.pop()

    def _nearest(self, tags: tuple[str, ...]) -> int:
        """Return the innermost position, or -1."""
        return max((positions[-1] for tag in tags if (positions := self._positions.get(tag))), default=-1)

    def _close_outermost(self, tags: tuple[str, ...], boundary: int) -> None:
        """Close the outermost of the tags' innermost elements inside the boundary."""
        inside = [position for tag in tags if (position := self._nearest((tag,))) > boundary]
        if inside:
            self.truncate(min(inside))


def _kept_as(tag: str, attributes: Mapping[str, str], outer: PlaceholderKind | None) -> PlaceholderKind | None:
    translate = attributes.get("translate")
    if translate is not None and translate.lower() in {"", "yes"}:
        return None
    if (translate is not None and translate.lower() == "no") or "notranslate" in attributes.get("class", "").split():
        return PlaceholderKind.NAME
    return _KEPT.get(tag, outer)


_NO_BREAK_SPACES: Final = ("&nbsp;", "&#160;", "&#xa0;")


def html_document(text: str, *, keep_space: bool = False) -> Document:
    """Parse a document or a fragment.

    ``keep_space``: line breaks stay outside of ``pre`` too.
    """
    document = DocumentBuilder(text, 0, len(text))
    builder = BlockBuilder(text, document, _finish_block)
    reader = HtmlReader(text, document, keep_space=keep_space)
    for token in html_tokens(text, 0, len(text)):
        reader.read(token, builder)
    reader.end_block(builder)
    return Document(document.parts())


def _finish_block(_start: int, block: Block) -> Block:
    block.escape = html_escape(block.source)
    return block


def html_escape(source: str) -> Callable[[str], str]:
    """Return an escape that writes no-break spaces as ``source`` does."""
    if "&" in source:
        lowered = source.lower()
        for spelling, escape in _SPELLED_ESCAPES.items():
            if spelling in lowered:
                return escape
    return _ESCAPE


def _escaped(words: str, *, no_break_space: str) -> str:
    escaped = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\u00a0", no_break_space)


# Made once, because a text may have 50,000 blocks.
_ESCAPE: Final = partial(_escaped, no_break_space="\u00a0")
_SPELLED_ESCAPES: Final = {spelling: partial(_escaped, no_break_space=spelling) for spelling in _NO_BREAK_SPACES}


class HtmlReader:
    """Reads tokens into runs, and keeps the open elements."""

    def __init__(self, text: str, document: DocumentBuilder, *, keep_space: bool = False) -> None:
        self._text = text
        self._document = document
        self._keep_space = keep_space
        self.elements = OpenElements()

    def read(self, token: HtmlToken, builder: BlockBuilder) -> None:
        """Read the next token; a block-level tag ends the block."""
        match token.kind:
            case TokenKind.WORDS | TokenKind.REFERENCE:
                builder.add(self._words(token))
            case TokenKind.START:
                self._start(token, builder)
            case TokenKind.END:
                self._end(token, builder)
            case TokenKind.OTHER:
                builder.add(TextRun(token.start, token.end, self.elements.current.kept_as or PlaceholderKind.ALONE))

    def end_block(self, builder: BlockBuilder) -> None:
        """End the block behind the last token."""
        builder.end_block(keep_space=self._keep_space or self.elements.current.keeps_whitespace)

    def _words(self, token: HtmlToken) -> TextRun:
        kept_as = self.elements.current.kept_as
        if kept_as is not None:
            return TextRun(token.start, token.end, kept_as)
        if token.kind is TokenKind.WORDS:
            return TextRun(token.start, token.end, words=self._text[token.start : token.end])
        if token.words.isspace() and token.words not in PLAIN_SPACES:
            return TextRun(token.start, token.end, PlaceholderKind.ALONE)
        return TextRun(token.start, token.end, words=token.words)

    def _start(self, token: HtmlToken, builder: BlockBuilder) -> None:
        outer = self.elements.current
        is_closed = self._text[token.end - 2] == "/"
        element = self.elements.start(token.tag, dict(token.attributes), is_closed=is_closed)
        blocks = attribute_blocks(self._text, token) if element.kept_as is None else ()
        if _is_block_border(token.tag, outer, element):
            builder.end_block(keep_space=self._keep_space or outer.keeps_whitespace)
            for block in blocks:
                self._document.place(block)
            return
        kind = element.kept_as or (PlaceholderKind.ALONE if token.tag in VOID else PlaceholderKind.OPEN)
        builder.add(TextRun(token.start, token.end, kind, name=token.tag, inner_blocks=blocks))

    def _end(self, token: HtmlToken, builder: BlockBuilder) -> None:
        inner = self.elements.current
        ended = self.elements.end(token.tag)
        if _is_block_border(token.tag, ended, self.elements.current):
            builder.end_block(keep_space=self._keep_space or inner.keeps_whitespace)
        else:
            builder.add(TextRun(token.start, token.end, ended.kept_as or PlaceholderKind.CLOSE, name=token.tag))


def _is_block_border(tag: str, left: Element, entered: Element) -> bool:
    """Return whether a tag separates blocks; inside verbatim content (svg) none does."""
    return tag in BLOCK_LEVEL and (left.kept_as is None or entered.kept_as is None)
