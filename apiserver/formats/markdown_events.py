"""Markdown's events with their places in the text.

The only file that imports pyromark, which reads CommonMark and GitHub's additions.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate
from typing import Final, cast

from pyromark import Markdown, Options

_MARKDOWN: Final = Markdown(
    options=Options.ENABLE_TABLES
    | Options.ENABLE_FOOTNOTES
    | Options.ENABLE_STRIKETHROUGH
    | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH
    | Options.ENABLE_GFM
    | Options.ENABLE_DEFINITION_LIST
    | Options.ENABLE_YAML_STYLE_METADATA_BLOCKS
    | Options.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
)
# UTF-8 has no lone surrogates; the parser gets U+FFFD instead.
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class EventKind(Enum):
    """The kind of an event."""

    WORDS = auto()
    NAME = auto()  # code, a formula, a footnote's number: verbatim among words
    HTML = auto()  # HTML among words
    HTML_LINE = auto()  # a line of a block of HTML
    SOFT_BREAK = auto()  # the end of a line inside a paragraph
    HARD_BREAK = auto()  # a line break that a reader sees
    START = auto()
    END = auto()
    OTHER = auto()  # separates blocks: a rule, a task's checkbox


@dataclass(slots=True)
class MarkdownEvent:
    """An event at its place.

    ``tag``: the parser's name of the element. ``detail``: the kind of a link, or the words.
    """

    kind: EventKind
    start: int
    end: int
    tag: str = ""
    detail: str = ""


# The parser's names of links that display their address.
AUTOLINKS: Final = frozenset({"Autolink", "Email"})
_BREAKS: Final = {"SoftBreak": EventKind.SOFT_BREAK, "HardBreak": EventKind.HARD_BREAK}
_LEAVES: Final = {
    "Text": EventKind.WORDS,
    "Code": EventKind.NAME,
    "InlineMath": EventKind.NAME,
    "DisplayMath": EventKind.NAME,
    "FootnoteReference": EventKind.NAME,
    "InlineHtml": EventKind.HTML,
    "Html": EventKind.HTML_LINE,
}


def defines_references(text: str) -> bool:
    """Return whether link definitions may turn the text's brackets into links."""
    return bool(_MARKDOWN.reference_definitions(_SURROGATE.sub("\ufffd", text)))


def markdown_events(text: str) -> Iterator[MarkdownEvent]:
    """Yield a text's events; offsets count characters."""
    source = _SURROGATE.sub("\ufffd", text)
    offsets = _char_offsets(source)
    for event, span in _MARKDOWN.events_with_range(source):
        start, end = offsets[span["start"]], offsets[span["end"]]
        if isinstance(event, str):
            yield MarkdownEvent(_BREAKS.get(event, EventKind.OTHER), start, end)
        elif "Start" in event:
            tag, data = _tag_and_data(event["Start"])
            yield MarkdownEvent(EventKind.START, start, end, tag, _link_type(data))
        elif "End" in event:
            yield MarkdownEvent(EventKind.END, start, end, _tag_and_data(event["End"])[0])
        else:
            tag, data = _tag_and_data(event)
            yield MarkdownEvent(_LEAVES.get(tag, EventKind.OTHER), start, end, tag, str(data))


def _tag_and_data(value: str | Mapping[str, object]) -> tuple[str, object]:
    """Split the parser's "Name" or {"Name": data}."""
    return (value, None) if isinstance(value, str) else next(iter(value.items()))


def _link_type(data: object) -> str:
    return str(cast("Mapping[str, object]", data).get("link_type", "")) if isinstance(data, Mapping) else ""


def _char_offsets(text: str) -> range | array[int]:
    """Map UTF-8 offsets to character offsets, at characters' borders only."""
    if text.isascii():
        return range(len(text) + 1)
    sizes = [1 if char < "\x80" else 2 if char < "\u0800" else 3 if char < "\U00010000" else 4 for char in text]
    offsets = array("I", bytes(array("I").itemsize * (sum(sizes) + 1)))
    for index, offset in enumerate(accumulate(sizes, initial=0)):
        offsets[offset] = index
    return offsets
