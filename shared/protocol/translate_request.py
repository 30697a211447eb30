"""Translate request and its parsing, the same in both servers."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from enum import StrEnum
from itertools import islice
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
    ValidationError,
    WithJsonSchema,
    field_validator,
)
from pydantic_core import from_json

from shared.languages import canonical_tag
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, InvalidRequestError, TooLargeError
from shared.protocol.options import (
    MAX_ALTERNATIVES,
    MAX_CONTEXT_CHARS,
    SentenceSplitting,
    XmlOptions,
)
from shared.protocol.priority import cost_of, is_long
from shared.protocol.validation_errors import MAX_FIELDS_NAMED, invalid_request

AUTO: Final = "auto"
# Names or terms of one request; each is searched in every text.
MAX_PHRASES: Final = 256
MAX_PHRASE_CHARS: Final = 200  # more than the longest product name
# Members of ``xml`` that are read; it has fewer fields.
MAX_XML_MEMBERS: Final = 16


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
        units = cost_of(chars + len(self.context), texts, outputs)
        return RequestSize(chars, texts, units, chars * outputs, is_long=is_long(max(lengths)))

    @property
    def splitting(self) -> SentenceSplitting:
        """Where the texts may be cut."""
        return self.split_sentences or _DEFAULT_SPLITTING[self.format]

    def refuse_stream(self) -> None:
        """Raise InvalidRequestError for an option that a stream cannot have."""
        if self.alternatives:
            raise InvalidRequestError([("alternatives", "must be 0 with Accept: text/event-stream")])

    def answer(self, results: Sequence[Translation]) -> bytes:
        """Return the JSON answer: one object, or a list for a list."""
        if self.alternatives:
            results = [
                result if result.alternatives is not None else result.model_copy(update={"alternatives": []})
                for result in results
            ]
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


def parse_translate_request(body: bytes, limits: Limits) -> TranslateRequest:
    """Parse and check a request in this order: JSON, object, sizes, fields.

    Raises:
        BadRequestError: the body is not a JSON object, or an object repeats a name.
        TooLargeError: there are too many texts, or one is too long.
        InvalidRequestError: fields are missing, unknown or wrong.
    """
    members, is_plainly_unique = read_members(body, limits)
    request = validate_members(members)
    if not is_plainly_unique:  # last: only valid requests are parsed again
        refuse_repeated_names(body)
    return request


def read_members(body: bytes, limits: Limits, required: str = "text and target_lang") -> tuple[dict[str, object], bool]:
    """Return the body's members, and whether their names are surely unique.

    Sizes are checked, unknown names are not; ``required`` members are named in the error.

    Raises:
        BadRequestError: the body is not a JSON object.
        TooLargeError: there are too many texts, or one is too long.
    """
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequestError(f"The body is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadRequestError(f"The body is JSON, but not an object with {required}.")
    members = cast("dict[str, object]", value)
    is_plainly_unique = _is_plainly_unique(body, members)
    limits.check(members.get("text"))
    return members, is_plainly_unique


def validate_members(members: dict[str, object]) -> TranslateRequest:
    """Return the request with these members; removes unknown ones from them.

    Raises:
        InvalidRequestError: fields are missing, unknown, wrong, or exclude each other.
    """
    limit_unknown(members, _FIELDS)
    if isinstance(xml := members.get("xml"), dict):
        members["xml"] = dict(islice(cast("dict[str, object]", xml).items(), MAX_XML_MEMBERS))
    try:
        request = TranslateRequest.model_validate(members)
    except ValidationError as error:
        raise invalid_request(error, CLIENT_SENTENCES) from None
    if not members.keys() <= _FREE_FIELDS:
        _refuse_combinations(request)
    return request


def limit_unknown(members: dict[str, object], fields: Container[str]) -> None:
    """Remove unknown members beyond those that an error names."""
    unknown = [name for name in members if name not in fields]
    for name in unknown[MAX_FIELDS_NAMED:]:
        del members[name]


def _refuse_combinations(request: TranslateRequest) -> None:
    """Raise InvalidRequestError for options that exclude each other."""
    errors: list[tuple[str, str]] = []
    if request.alternatives and request.format is not TextFormat.TEXT:
        errors.append(("alternatives", f"must be 0 with format {request.format}; only text has alternatives"))
    if request.xml is not None and request.format is not TextFormat.XML:
        errors.append(("xml", f"needs format xml; the format is {request.format}"))
    if request.format is TextFormat.MARKDOWN and request.splitting is SentenceSplitting.LINES_AND_SENTENCES:
        errors.append(("split_sentences", "must be sentences or none with format markdown"))
    if errors:
        raise InvalidRequestError(errors)


def refuse_repeated_names(body: bytes) -> None:
    """Raise BadRequestError for a repeated name; JSON parsers differ on those."""
    # Numbers stay text: Python refuses very long ones.
    json.loads(body, object_pairs_hook=_check_unique, parse_int=str, parse_float=str)


def _is_plainly_unique(body: bytes, members: Mapping[str, object]) -> bool:
    """Return whether a quick check proves that no name is repeated."""
    if b"\\u00" in body and _ESCAPED_LETTER.search(body):  # a name may be escaped
        return False
    for name in members:
        quoted = _QUOTED.get(name)
        if quoted is None or body.count(quoted) != 1:  # quotes inside a text are escaped
            return False
    return True


def _check_unique(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise BadRequestError("The body is JSON, but a name occurs twice in one of its objects.")


_FIELDS: Final = frozenset(TranslateRequest.model_fields)
# They go with all others.
_FREE_FIELDS: Final = _FIELDS - {"alternatives", "xml", "split_sentences"}
# As in JSON, also the proxy's own; the values of ``terms`` and ``xml`` may repeat them.
_QUOTED: Final = {name: f'"{name}"'.encode() for name in (_FIELDS | {"glossary"}) - {"terms", "xml"}}
# Escapes of U+0050 to U+007F, which include the letters of fields' names.
_ESCAPED_LETTER: Final = re.compile(rb"\\u00[567]")

# Instead of pydantic's messages, which are for programmers.
CLIENT_SENTENCES: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be a string",
    "target_lang:string_type": "must be a string; a list of targets is for the proxy",
    "list_type": "must be a list of strings",
    "dict_type": "must be an object of strings",
    "enum": f"must be one of {', '.join(TextFormat)}",
    "split_sentences:enum": f"must be one of {', '.join(SentenceSplitting)}",
    **dict.fromkeys(("int_type", "greater_than_equal", "less_than_equal"), f"must be 0 to {MAX_ALTERNATIVES}"),
    "string_too_long": f"has more than {MAX_CONTEXT_CHARS} characters; send the part nearest to the text",
    "model_type": "must be an object",
    "too_short": "must not be an empty list",
    "too_long": f"has more than {MAX_PHRASES} entries",
}
