"""Translation requests: fields, options, limits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from shared.languages import canonical_tag
from shared.protocol.answers import Translation
from shared.protocol.errors import InvalidRequestError, TooLargeError
from shared.protocol.priority import CONTEXT_CHARS_PER_UNIT, cost_of, is_long

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


AUTO: Final = "auto"
# Names or terms of one request; each is searched in every text.
MAX_PHRASES: Final = 256
MAX_PHRASE_CHARS: Final = 200  # more than the longest product name


class TextFormat(StrEnum):
    """Format of a text: plain, or markup whose tags come back unchanged."""

    TEXT = "text"
    HTML = "html"
    MARKDOWN = "markdown"
    XML = "xml"


# Without ``split_sentences``; in XML as DeepL's default, because line breaks may be content.
_DEFAULT_SPLITTING: Final = {
    TextFormat.TEXT: SentenceSplitting.LINES_AND_SENTENCES,
    TextFormat.HTML: SentenceSplitting.SENTENCES,
    TextFormat.MARKDOWN: SentenceSplitting.SENTENCES,
    TextFormat.XML: SentenceSplitting.LINES_AND_SENTENCES,
}


def _phrase_error(phrase: object) -> str | None:
    if not isinstance(phrase, str):
        return "must be a string"
    if not 0 < len(phrase) <= MAX_PHRASE_CHARS:
        return f"has {len(phrase)} characters; 1 to {MAX_PHRASE_CHARS} are allowed"
    return None if phrase.strip() else "is blank; it must hold more than white space"


def term_error(phrase: object) -> str | None:
    """Return the fault of a term's source or target, or None."""
    error = _phrase_error(phrase)
    if error is None and str(phrase).splitlines() != [phrase]:
        return "contains a line break; it must be on one line"
    return error


def _checked_phrase(value: str) -> str:
    if error := _phrase_error(value):
        raise ValueError(error)
    return value


class RequestSize(NamedTuple):
    """Size of a request, of which both servers compute the same cost.

    ``units`` are for admission, ``charged_chars`` for the quotas of keys. ``is_long``: one of its texts is long.
    """

    chars: int
    texts: int
    units: float
    charged_chars: int
    is_long: bool


def _kind_of_text(value: object) -> str:
    return "list" if isinstance(value, list) else "text"


TextOrTexts = Annotated[
    Annotated[StrictStr, Tag("text")] | Annotated[list[StrictStr], Field(min_length=1), Tag("list")],
    Discriminator(_kind_of_text),
    Field(description="One text, or a list of texts; results have the same order.", examples=["Hello"]),
]


class TranslateRequest(BaseModel):
    """Body of ``POST /translate``."""

    model_config = ConfigDict(extra="forbid")

    text: TextOrTexts
    source_lang: Annotated[
        StrictStr, Field(description='BCP-47 tag, or "auto" (proxy only) to detect the language.', examples=["en"])
    ] = AUTO
    target_lang: Annotated[StrictStr, Field(description="BCP-47 tag.", examples=["de"])]
    format: Annotated[
        TextFormat,
        Field(description="Format of the texts; tags of HTML, Markdown and XML come back unchanged."),
        WithJsonSchema({"type": "string", "enum": list(TextFormat)}),  # inline: OpenAPI does not find our $defs
    ] = TextFormat.TEXT
    do_not_translate: list[Annotated[StrictStr, AfterValidator(_checked_phrase)]] = Field(
        default_factory=list[str],  # pydantic deep-copies any other default for each request
        max_length=MAX_PHRASES,
        description=f"Names and phrases that stay unchanged, each 1 to {MAX_PHRASE_CHARS} characters.",
        examples=[["Pairway"]],
        json_schema_extra={"default": []},
    )
    terms: dict[StrictStr, StrictStr] = Field(
        default_factory=dict[str, str],
        max_length=MAX_PHRASES,
        description=f"Terms and their translations, each 1 to {MAX_PHRASE_CHARS} characters on one line.",
        examples=[{"invoice": "Rechnung"}],
        json_schema_extra={"default": {}},
    )
    pivot: Annotated[
        StrictBool,
        Field(description="Whether the translation may go through a third language if no model serves the pair."),
    ] = True
    alternatives: Annotated[
        StrictInt,
        Field(
            ge=0,
            le=MAX_ALTERNATIVES,
            description="Further translations of each text; each costs as much as the first. Needs `format` text.",
        ),
    ] = 0
    split_sentences: Annotated[
        SentenceSplitting | None,
        Field(description="Where a text may be cut; by default as its format needs it."),
        WithJsonSchema({"type": ["string", "null"], "enum": [*SentenceSplitting, None]}),
    ] = None
    context: Annotated[
        StrictStr,
        Field(
            max_length=MAX_CONTEXT_CHARS,
            description="Text that is not translated, but helps: in the source language. Models that cannot use it "
            "give the warning `context-unused`.",
        ),
    ] = ""
    confidence: Annotated[
        StrictBool,
        Field(description="Whether each result has `confidence`: the probability (0 to 1) that it is good."),
    ] = False
    min_confidence: Annotated[
        float | None,
        Field(
            strict=True,
            ge=0,
            le=1,
            description="Least confidence: a text below it has no translation, and the warning `low-confidence`.",
        ),
        WithJsonSchema({"type": ["number", "null"], "minimum": 0, "maximum": 1}),
    ] = None
    xml: Annotated[
        XmlOptions | None,
        Field(description="Only with `format` xml: tags that split sentences, and tags that are ignored."),
        WithJsonSchema({"anyOf": [XmlOptions.model_json_schema(), {"type": "null"}]}),
    ] = None

    @field_validator("source_lang")
    @classmethod
    def _canonical_source(cls, value: str) -> str:
        return AUTO if value.lower() == AUTO else canonical_tag(value)

    @field_validator("target_lang")
    @classmethod
    def _canonical_target(cls, value: str) -> str:
        return canonical_tag(value)

    @field_validator("terms", mode="before")
    @classmethod
    def _check_terms(cls, value: object) -> object:
        if isinstance(value, dict) and len(terms := cast("dict[object, object]", value)) <= MAX_PHRASES:
            for number, entry in enumerate(terms.items(), 1):
                for side, phrase in zip(("source", "target"), entry, strict=True):
                    if error := term_error(phrase):
                        raise ValueError(f"the {side} of entry {number} {error}")
        return cast("object", value)

    @property
    def texts(self) -> list[str]:
        """The texts as a list."""
        return [self.text] if isinstance(self.text, str) else self.text

    @property
    def chars(self) -> int:
        """Number of characters of all texts."""
        return sum(map(len, self.texts))

    @property
    def size(self) -> RequestSize:
        """The size."""
        lengths = [len(text) for text in self.texts]
        chars, texts, outputs = sum(lengths), len(lengths), 1 + self.alternatives
        units = cost_of(chars, texts, outputs) * (1.0 + len(self.context) / CONTEXT_CHARS_PER_UNIT)
        return RequestSize(chars, texts, units, chars * outputs, is_long=is_long(max(lengths)))

    @property
    def splitting(self) -> SentenceSplitting:
        """Where the texts may be cut."""
        return self.split_sentences or _DEFAULT_SPLITTING[self.format]

    @property
    def wants_confidence(self) -> bool:
        """Whether results have a confidence."""
        return self.confidence or self.min_confidence is not None

    def refuse_stream(self) -> None:
        """Raise InvalidRequestError for options that a stream cannot have."""
        errors: list[tuple[str, str]] = []
        if self.alternatives:
            errors.append(("alternatives", "must be 0 with Accept: text/event-stream"))
        if self.min_confidence is not None:
            message = "must be absent with Accept: text/event-stream, because what was sent cannot be withheld"
            errors.append(("min_confidence", message))
        if errors:
            raise InvalidRequestError(errors)

    def answer(self, results: Sequence[Translation]) -> bytes:
        """Return the JSON answer: one object, or a list for a list."""
        if self.alternatives:
            results = [
                result if result.alternatives is not None else result.model_copy(update={"alternatives": []})
                for result in results
            ]
        if self.wants_confidence:
            results = [result.with_confidence() for result in results]
        each = [result.to_json() for result in results]
        return each[0] if isinstance(self.text, str) else b'{"results":[%s]}' % b",".join(each)


class Limits(BaseModel):
    """Limits of one request."""

    model_config = ConfigDict(frozen=True)

    body_bytes: int
    texts: int
    text_chars: int

    def check(self, text: object) -> None:
        """Raise TooLargeError beyond a limit; values of other types pass."""
        match text:
            case str():
                self._check_length("text", text)
            case list():
                each = cast("list[object]", text)
                if len(each) > self.texts:
                    raise TooLargeError("The list", size=len(each), limit=self.texts, unit="texts")
                for index, item in enumerate(each):
                    self._check_length(f"text[{index}]", item)
            case _:
                pass

    def _check_length(self, where: str, text: object) -> None:
        if isinstance(text, str) and len(text) > self.text_chars:
            raise TooLargeError(where, size=len(text), limit=self.text_chars, unit="characters")
