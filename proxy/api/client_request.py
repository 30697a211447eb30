"""Client request: the body of the proxy's ``POST /translate``."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

from shared.languages import InvalidTagError, canonical_tag
from shared.protocol.errors import InvalidRequestError
from shared.protocol.translate_request import (
    Limits,
    TranslateRequest,
    read_members,
    refuse_repeated_names,
    validate_members,
)
from shared.protocol.validation_errors import MAX_FIELDS_NAMED

# Further targets of one request; each costs as much as the first.
MAX_TARGETS: Final = 10
# Validates the other members where no target is valid.
_ANY_TARGET: Final = "en"


class ClientRequest(NamedTuple):
    """A request for one target, or, if ``targets`` has any, for each of these."""

    request: TranslateRequest
    targets: tuple[str, ...] = ()


def parse_client_request(body: bytes, limits: Limits) -> ClientRequest:
    """Parse and check a request whose ``target_lang`` may be a list.

    Raises:
        PairwayError: as ``parse_translate_request``.
    """
    members, is_plainly_unique = read_members(body, limits)
    target = members.get("target_lang")
    if isinstance(target, list):
        parsed = _with_targets(members, cast("list[object]", target))
    else:
        parsed = ClientRequest(validate_members(members))
    if not is_plainly_unique:  # last: only valid requests are parsed again
        refuse_repeated_names(body)
    return parsed


def _with_targets(members: dict[str, object], values: list[object]) -> ClientRequest:
    targets, errors = _checked_targets(values)
    members["target_lang"] = targets[0] if targets else _ANY_TARGET
    try:
        request = validate_members(members)
    except InvalidRequestError as error:
        errors = [*((each["field"], each["message"]) for each in error.facts["errors"]), *errors]
        raise InvalidRequestError(errors[:MAX_FIELDS_NAMED]) from None
    if errors:
        raise InvalidRequestError(errors)
    return ClientRequest(request, tuple(targets))


def _checked_targets(values: list[object]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the valid targets in their canonical form, and the errors of the others."""
    if not 0 < len(values) <= MAX_TARGETS:
        return [], [("target_lang", f"a list must have 1 to {MAX_TARGETS} languages, not {len(values)}")]
    first: dict[str, int] = {}
    errors: list[tuple[str, str]] = []
    for index, value in enumerate(values):
        where = f"target_lang[{index}]"
        if not isinstance(value, str):
            errors.append((where, "must be a string"))
            continue
        try:
            target = canonical_tag(value)
        except InvalidTagError as error:
            errors.append((where, str(error)))
            continue
        if target in first:
            errors.append((where, f"is {target}, as target_lang[{first[target]}] is; name each language once"))
        first.setdefault(target, index)
    return list(first), errors


def refuse_stream_of(targets: tuple[str, ...]) -> None:
    """Raise InvalidRequestError if there are targets: a stream has one."""
    if targets:
        raise InvalidRequestError([("target_lang", "must be one language with Accept: text/event-stream")])


def client_request_schema() -> dict[str, Any]:
    """Return the JSON schema of the body, for OpenAPI."""
    schema = TranslateRequest.model_json_schema()
    target = schema["properties"]["target_lang"]
    one = {key: value for key, value in target.items() if key not in {"title", "description", "examples"}}
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": MAX_TARGETS, "uniqueItems": True}
    description = f"BCP-47 tag, or a list of up to {MAX_TARGETS}; the answer to a list is `targets`, in its order."
    schema["properties"]["target_lang"] = target | {"anyOf": [one, several], "description": description}
    del schema["properties"]["target_lang"]["type"]
    return schema
