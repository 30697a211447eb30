"""Attributes with words: each is a block inside its tag."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final

from apiserver.formats.document_builder import PlacedBlock, word_blocks
from apiserver.formats.html.tokens import HtmlToken

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
            escape = partial(_escaped, quotes=_QUOTES[quoting])
            blocks += word_blocks(text, match.start(quoting), match.end(quoting), escape, values[name])
    return tuple(blocks)


def _is_translatable(tag: str, name: str, values: Mapping[str, str]) -> bool:
    if name == "value":
        return tag == "input" and values.get("type", "").lower() in _BUTTONS
    if name == "content":
        return tag == "meta" and values.get("name", values.get("property", "")).lower() in _META_NAMES
    return name in _GLOBAL or (name, tag) in _BY_ELEMENT


def _escaped(words: str, *, quotes: str) -> str:
    """Write words as an attribute's value; ``quotes`` are the characters to escape."""
    escaped = words.replace("&", "&amp;").replace("\r", "&#13;")
    for quote in quotes:
        escaped = escaped.replace(quote, f"&#{ord(quote)};")
    return escaped
