"""Open elements: the HTML elements around a token, and their effect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apiserver.formats.document import PlaceholderKind

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
