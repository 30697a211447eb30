"""Options of a translation request: alternatives, splitting, XML tags."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

MAX_ALTERNATIVES: Final = 3
# About 40 sentences; every engine request of the text repeats them.
MAX_CONTEXT_CHARS: Final = 4000
# Tag names of one list: more than any document type has.
MAX_TAGS: Final = 256
MAX_TAG_CHARS: Final = 200
# Letters of names in XML 1.0 (fifth edition), 2.3.
_NAME_START: Final = (
    ":A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
XML_NAME: Final = rf"[{_NAME_START}][{_NAME_START}0-9.\u00b7\u0300-\u036f\u203f\u2040-]*+"
_TAG: Final = re.compile(XML_NAME)


class SentenceSplitting(StrEnum):
    """The places at which a text may be cut into segments."""

    LINES_AND_SENTENCES = "lines_and_sentences"
    SENTENCES = "sentences"  # a line break inside a paragraph is a space
    NONE = "none"  # one segment, if the model's budget allows


def _checked_tag(value: str) -> str:
    if len(value) > MAX_TAG_CHARS:
        raise ValueError(f"has {len(value)} characters; at most {MAX_TAG_CHARS} are allowed")
    if not _TAG.fullmatch(value):
        raise ValueError("is not the name of a tag, such as par or xliff:g")
    return value


_Tags = Annotated[list[Annotated[StrictStr, AfterValidator(_checked_tag)]], Field(max_length=MAX_TAGS)]


class XmlOptions(BaseModel):
    """Tags of an XML text that split sentences, or are ignored."""

    model_config = ConfigDict(extra="forbid", title="xml")

    splitting_tags: _Tags = Field(
        default_factory=list[str],
        description="Tags that always separate sentences.",
        examples=[["par", "title"]],
        json_schema_extra={"default": []},
    )
    non_splitting_tags: _Tags = Field(
        default_factory=list[str],
        description="Tags that never separate sentences, unless one that splits is inside.",
        json_schema_extra={"default": []},
    )
    ignore_tags: _Tags = Field(
        default_factory=list[str],
        description="Tags whose content stays unchanged.",
        json_schema_extra={"default": []},
    )
    outline_detection: Annotated[
        StrictBool,
        Field(description="Whether elements without text beside them also separate sentences."),
    ] = True

    @model_validator(mode="after")
    def _no_contradiction(self) -> XmlOptions:
        if not set(self.splitting_tags).isdisjoint(self.non_splitting_tags):
            raise ValueError("has a tag both in splitting_tags and in non_splitting_tags")
        return self
