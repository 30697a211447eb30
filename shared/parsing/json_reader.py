"""JSON reader: the members of an object, in bounded work and memory."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Container
from typing import Final, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, core_schema

from shared.protocol.errors import BadRequestError, InvalidRequestError, TooLargeError, UnsupportedMediaError
from shared.protocol.validation_errors import MAX_FIELDS_NAMED

M = TypeVar("M", bound=BaseModel)

JSON_TYPE: Final = "application/json"
# Names and values of a request beside its texts: 256 terms and phrases, 768 tags and ten targets are 1,600. Lists that
# are somewhat too long get an error of their own.
OTHER_VALUES: Final = 4096
# Each begins a name or a value, except for the body's own.
_SIGNS: Final = b"[{,:"
_ANY: Final = core_schema.any_schema()
# Of unknown members only null and "" are built.
_UNKNOWN: Final = core_schema.with_default_schema(
    core_schema.nullable_schema(core_schema.literal_schema([""])), default=True, on_error="default"
)


class NoJsonError(BadRequestError, status=400, code="bad-request", title="The request cannot be read"):
    """The body is not JSON."""


class NoObjectError(BadRequestError, status=400, code="bad-request", title="The request cannot be read"):
    """The body is JSON, but not an object."""


class JsonReader:
    """Reader of objects, all of whose members are ``known``, or some."""

    def __init__(self, known: Collection[str] | None = None) -> None:
        field = core_schema.typed_dict_field(_ANY, required=False)
        self._validator = SchemaValidator(
            core_schema.typed_dict_schema(
                dict.fromkeys(known or (), field),
                extra_behavior="allow",
                extras_schema=_ANY if known is None else _UNKNOWN,
            ),
            core_schema.CoreConfig(cache_strings="none"),  # jiter would keep words of texts
        )

    def read(self, body: bytes, max_values: int, required: str = "") -> dict[str, object]:
        """Return the members; ``required`` is for the error of other JSON.

        Of a repeated name the last counts. An unknown member that is neither null nor "" is True.

        Raises:
            BadRequestError: the body is no JSON, no object, or has an infinite number.
            TooLargeError: it has more than ``max_values`` names and values.
        """
        check_values(body, max_values)
        try:
            members = cast("dict[str, object]", self._validator.validate_json(body))
        except ValidationError as error:
            raise _refusal(error, required) from None
        for value in members.values():
            if type(value) is float and not math.isfinite(value):
                raise BadRequestError("The body is not JSON that can be read: a number is infinite or NaN.")
        return members


class ModelReader:
    """Reader of objects as models, within ``max_values`` names and values.

    ``known`` as for JsonReader; ``refuse`` maps pydantic's errors of a model to ours.
    """

    def __init__(
        self,
        known: Collection[str] | None,
        max_values: int,
        refuse: Callable[[ValidationError, type[BaseModel]], InvalidRequestError],
    ) -> None:
        self._reader = JsonReader(known)
        self._max_values = max_values
        self._refuse = refuse

    def read(self, body: bytes, model: type[M]) -> M:
        """Return the body as a model; 10,000 entries take 20 ms.

        Raises:
            BadRequestError: the body is no JSON, no object, or repeats a name.
            TooLargeError: there are too many names and values.
            InvalidRequestError: fields are missing, unknown or wrong.
        """
        members = self._reader.read(body, self._max_values)
        if not model.__pydantic_root_model__:
            limit_unknown(members, model.model_fields)
        refuse_repeated_names(body)
        return self.validated(members, model)

    def validated(self, members: dict[str, object], model: type[M]) -> M:
        """Return the model with these members; raise InvalidRequestError for wrong ones."""
        try:
            return model.model_validate(members)
        except ValidationError as error:
            raise self._refuse(error, model) from None


def limit_unknown(members: dict[str, object], fields: Container[str]) -> None:
    """Remove unknown members beyond those that an error names."""
    unknown = [name for name in members if name not in fields]
    for name in unknown[MAX_FIELDS_NAMED:]:
        del members[name]


def media_type(content_type: str | None) -> str:
    """Return the type of the header Content-Type in lower case, "" without one."""
    return (content_type or "").partition(";")[0].strip().lower()


def require_json(content_type: str | None) -> None:
    """Raise UnsupportedMediaError unless the body is declared as JSON."""
    if media_type(content_type) != JSON_TYPE:
        raise UnsupportedMediaError(f"The body must come with the header Content-Type: {JSON_TYPE}.")


def check_values(body: bytes, max_values: int) -> None:
    """Raise TooLargeError for more names and values than ``max_values``.

    An object of Python's takes 40 bytes and more for one byte of JSON.
    """
    if (
        len(body) > max_values
        and _count_signs(body) > max_values
        and _count_outside_strings(body, max_values) > max_values
    ):
        raise TooLargeError("The body", size=None, limit=max_values, unit="JSON names and values")


def refuse_repeated_names(body: bytes) -> None:
    """Raise BadRequestError for a repeated name; JSON parsers differ on those.

    It is for bodies that :func:`check_values` accepts: it builds all values.
    """
    # Numbers stay text: Python refuses very long ones.
    json.loads(body, object_pairs_hook=_check_unique, parse_int=str, parse_float=str)


def _check_unique(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise BadRequestError("The body is JSON, but a name occurs twice in one of its objects.")


def _count_signs(part: bytes) -> int:
    return len(part) - len(part.translate(None, _SIGNS))


def _count_outside_strings(body: bytes, max_values: int) -> int:
    """Return the signs outside of strings, up to JSON's first fault.

    If there are too many strings, it is more than ``max_values``.
    """
    unescaped = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    if unescaped.count(b'"') > 2 * (max_values + 1):
        return max_values + 1
    return sum(map(_count_signs, unescaped.split(b'"')[::2]))


def _refusal(error: ValidationError, required: str) -> BadRequestError:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return NoJsonError(f"The body is not JSON: {first.get('ctx', {}).get('error')}.")
    return NoObjectError(f"The body is JSON, but not an object{required and f' with {required}'}.")
