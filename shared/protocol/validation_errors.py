"""pydantic's validation errors, reworded for clients and operators."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sized
from itertools import islice
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shared.protocol.errors import InvalidRequestError
from shared.protocol.headers import mask_secrets

# A megabyte holds 100,000 unknown fields.
MAX_FIELDS_NAMED: Final = 10
MAX_NAME_CHARS: Final = 64
MAX_VALUE_CHARS: Final = 80
# Messages instead of pydantic's; in braces the value and the parameters of pydantic's rule.
_OPERATOR_SENTENCES: Final = {
    "missing": "is required",
    "string_type": "{value} is not a text",
    "string_too_long": "{length} characters are too many; the maximum is {max_length}",
    "int_type": "{value} is not a whole number",
    "int_from_float": "{value} is not a whole number",
    "float_type": "{value} is not a number",
    "float_parsing": "{value} is not a number",
    "finite_number": "{value} is not a number",
    "bool_type": "{value} is neither true nor false",
    "tuple_type": "{value} is not a list",
    "enum": "{value} is not one of {expected}",
    "greater_than": "{value} is too small; it must be more than {gt}",
    "greater_than_equal": "{value} is too small; the minimum is {ge}",
    "less_than_equal": "{value} is too large; the maximum is {le}",
    "too_short": "is empty; name one or more",
    "too_long": "{length} are too many; the maximum is {max_length}",
}


def operator_refusal(error: ValidationError, model: type[BaseModel]) -> InvalidRequestError:
    """Map pydantic's errors to an operator's request."""
    return InvalidRequestError(operator_errors(error, model))


def operator_errors(error: ValidationError, model: type[BaseModel]) -> list[tuple[str, str]]:
    """Return the first ten wrong fields with messages; API keys are masked."""
    # pydantic also calls a list too short if it accepted none of its parts.
    items = [item for item in error.errors(include_url=False) if item["type"] != "too_short" or not item["input"]]
    return [
        (mask_secrets(str(item["loc"][0])[:MAX_NAME_CHARS]), mask_secrets(_operator_sentence(item, model)))
        for item in items[:MAX_FIELDS_NAMED]
    ]


def _operator_sentence(item: ErrorDetails, model: type[BaseModel]) -> str:
    if item["type"] == "extra_forbidden":
        return _unknown_field(str(item["loc"][0]), model)
    value: object = item["input"]
    sentence = sentence_of(item, _OPERATOR_SENTENCES)
    if item["type"] not in _OPERATOR_SENTENCES:
        return sentence if item["type"] == "value_error" else f"{_as_json(value)}: {sentence}"
    rules = {name: _as_json(rule) if isinstance(rule, float) else rule for name, rule in item.get("ctx", {}).items()}
    length = len(value) if isinstance(value, Sized) else 0
    return sentence.format(**rules | {"value": _as_json(value), "length": length})


def _unknown_field(name: str, model: type[BaseModel]) -> str:
    close = difflib.get_close_matches(name[:MAX_NAME_CHARS], model.model_fields, n=1)
    return (
        f"is not a field; did you mean {close[0]}?"
        if close
        else f"is not a field; the fields are {', '.join(model.model_fields)}"
    )


def _as_json(value: object) -> str:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    text = json.dumps(whole, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE_CHARS else f"{text[:MAX_VALUE_CHARS]}…"


def invalid_request(error: ValidationError, sentences: Mapping[str, str]) -> InvalidRequestError:
    """Map pydantic's errors to ours, without the client's text.

    ``sentences`` has messages by type of error, or by field and type.
    """
    items = islice(error.errors(include_url=False, include_input=False), MAX_FIELDS_NAMED)
    return InvalidRequestError([(_field_name(item["loc"]), sentence_of(item, sentences)) for item in items])


def _field_name(location: tuple[int | str, ...]) -> str:
    """Return ``text[3]`` for ``("text", "list", 3)``, without the union's tag.

    Other names are members: ``xml.ignore_tags[3]``.
    """
    first, *rest = location
    inner = [f"[{part}]" if isinstance(part, int) else f".{part[:MAX_NAME_CHARS]}" for part in rest]
    if first == "text":
        inner = inner[1:]
    return str(first)[:MAX_NAME_CHARS] + "".join(inner)


def sentence_of(item: ErrorDetails, sentences: Mapping[str, str]) -> str:
    """Return an error's message: the validator's, one of ``sentences``, or pydantic's."""
    kind = item["type"]
    if kind == "value_error":
        return str(item["ctx"]["error"]) if "ctx" in item else item["msg"]
    of_field = f"{item['loc'][0]}:{kind}" if item["loc"] else kind
    return sentences.get(of_field) or sentences.get(kind, item["msg"])
