"""Parser of translate requests, and of members that other bodies share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, cast

from pydantic import ValidationError

from shared.parsing.json_reader import OTHER_VALUES, JsonReader, limit_unknown, refuse_repeated_names
from shared.protocol.errors import InvalidRequestError
from shared.protocol.translate_request import (
    MAX_ALTERNATIVES,
    MAX_CONTEXT_CHARS,
    MAX_PHRASES,
    Limits,
    SentenceSplitting,
    TextFormat,
    TranslateRequest,
)
from shared.protocol.validation_errors import invalid_request

# Members of ``xml`` that are read; it has fewer fields.
MAX_XML_MEMBERS: Final = 16


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
        TooLargeError: there are too many values or texts, or a text is too long.
    """
    members = _READER.read(body, limits.texts + OTHER_VALUES, required)
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


def _is_plainly_unique(body: bytes, members: Mapping[str, object]) -> bool:
    """Return whether a quick check proves that no name is repeated."""
    if b"\\u00" in body and _ESCAPED_LETTER.search(body):  # a name may be escaped
        return False
    for name in members:
        quoted = _QUOTED.get(name)
        if quoted is None or body.count(quoted) != 1:  # quotes inside a text are escaped
            return False
    return True


_FIELDS: Final = frozenset(TranslateRequest.model_fields)
_READER: Final = JsonReader(_FIELDS | {"glossary"})
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
    **dict.fromkeys(
        (f"min_confidence:{rule}" for rule in ("float_type", "greater_than_equal", "less_than_equal")),
        "must be a number from 0 to 1",
    ),
    "string_too_long": f"has more than {MAX_CONTEXT_CHARS} characters; send the part nearest to the text",
    "bool_type": "must be true or false",
    "model_type": "must be an object",
    "too_short": "must not be an empty list",
    "too_long": f"has more than {MAX_PHRASES} entries",
}
