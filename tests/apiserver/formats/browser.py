"""What a browser shows of Markdown."""

from __future__ import annotations

import re

import pyromark
import turbohtml
from pyromark import Options

RENDERED = pyromark.Markdown(
    options=Options.ENABLE_TABLES | Options.ENABLE_FOOTNOTES | Options.ENABLE_STRIKETHROUGH | Options.ENABLE_TASKLISTS
    | Options.ENABLE_MATH | Options.ENABLE_GFM | Options.ENABLE_DEFINITION_LIST
    | Options.ENABLE_YAML_STYLE_METADATA_BLOCKS | Options.ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
)  # fmt: skip


def as_shown(text: str) -> str:
    """What a browser shows of it, white space apart."""
    return re.sub(r"\s+", "", turbohtml.parse(RENDERED.html(text)).html)
