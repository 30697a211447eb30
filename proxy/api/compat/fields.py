"""Fields: the members of a compatible request, wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, NamedTuple, cast

from fastapi import Request

from proxy.api.exchange import parse_in_turn
from proxy.context import context
from shared.http.problems import JSON
from shared.http.request_context import request_header
from shared.parsing.form_body import MULTIPART, URLENCODED, Pairs, parse_multipart, parse_urlencoded
from shared.parsing.json_reader import OTHER_VALUES, JsonReader, NoJsonError
from shared.protocol.errors import InvalidRequestError

# Without a type, as some clients send it, the first byte tells JSON from a form.
_OBJECT_START: Final = b"{"


class Fields(NamedTuple):
    """Members of a request.

    A repeated name of a form or query has a list of values. ``is_json``: they have JSON's types; otherwise all are strings. ``in_url``: they came in the query.
    """

    members: Mapping[str, object]
    is_json: bool = True
    in_url: bool = False

    def text(self, name: str) -> str:
        """Return a string member; "" for a missing one or another type."""
        value = self.members.get(name)
        return value if isinstance(value, str) else ""

    def optional_string(self, name: str) -> str:
        """Return a string member; "" for a missing one or null.

        Raises:
            InvalidRequestError: it has another type.
        """
        value = self.members.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidRequestError([(name, "must be a string")])
        return value or ""

    def strings(self, name: str) -> list[str]:
        """Return a member that is a list of strings.

        A form's single string is such a list.

        Raises:
            InvalidRequestError: it is missing, or anything else.
        """
        value = self.members.get(name)
        if isinstance(value, str) and not self.is_json:
            return [value]
        if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
            raise InvalidRequestError([(name, "must be a list of strings")])
        return cast("list[str]", value)


def header_key(request: Request, *schemes: str) -> str:
    """Return the key of the header Authorization; "" without one.

    A key without a scheme is one too; that of another scheme is none.
    """
    scheme, _, key = (request_header(request, "authorization") or "").strip().partition(" ")
    is_known = scheme.lower() in {each.lower() for each in schemes}
    if key:
        return key.strip() if is_known else ""
    return "" if is_known else scheme


def query_fields(request: Request) -> Fields:
    """Return the query's fields; raise BadRequestError if it cannot be read."""
    return Fields(_grouped(parse_urlencoded(request.scope["query_string"])), is_json=False, in_url=True)


async def fields_of(
    request: Request, body: bytes, reader: JsonReader, repair: Callable[[bytes], bytes] | None = None
) -> Fields:
    """Return the fields of a body, or else of the query.

    ``repair`` mends a body that is no JSON, for clients that are known to send it.

    Raises:
        BadRequestError: it is malformed.
    """
    return await parse_fields(request, body, reader, repair) if body else query_fields(request)


async def json_fields_of(
    request: Request, body: bytes, reader: JsonReader, repair: Callable[[bytes], bytes] | None = None
) -> Fields:
    """Return the fields of a body that is declared as JSON.

    Raises:
        PairwayError: it is malformed, or has too many values.
    """
    return await parse_in_turn(request, body, partial(json_fields, body, reader, max_values(request), repair))


async def parse_fields(
    request: Request, body: bytes, reader: JsonReader, repair: Callable[[bytes], bytes] | None = None
) -> Fields:
    """Return the fields of a body.

    Raises:
        PairwayError: it is malformed, or has too many fields or values.
    """
    content_type = request_header(request, "content-type") or ""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == MULTIPART:
        pairs = await parse_in_turn(request, body, partial(parse_multipart, body, content_type))
        # PHP's curl sends a form without fields beside a query: Nextcloud.
        return Fields(_grouped(pairs), is_json=False) if pairs else query_fields(request)
    if kind == URLENCODED and not body.lstrip().startswith(_OBJECT_START):
        pairs = await parse_in_turn(request, body, partial(parse_urlencoded, body))
        return Fields(_grouped(pairs), is_json=False)
    return await parse_in_turn(request, body, partial(json_fields, body, reader, max_values(request), repair))


def max_values(request: Request) -> int:
    """Return how many names and values a request's JSON may have."""
    return context(request).settings.max_texts + OTHER_VALUES


def json_fields(body: bytes, reader: JsonReader, most: int, repair: Callable[[bytes], bytes] | None = None) -> Fields:
    """Return the members of a JSON object.

    Raises:
        BadRequestError: the body is no JSON, or no object.
        TooLargeError: it has more than ``most`` names and values.
    """
    try:
        return Fields(reader.read(body, most))
    except NoJsonError:
        if repair is not None and (repaired := repair(body)) != body:
            return json_fields(repaired, reader, most)
        raise


def is_json(request: Request) -> bool:
    """Return whether the body is declared as JSON."""
    return (request_header(request, "content-type") or "").partition(";")[0].strip().lower() == JSON


def _grouped(pairs: Pairs) -> dict[str, object]:
    grouped: dict[str, object] = {}
    for name, value in pairs:
        present = grouped.get(name)
        if present is None:
            grouped[name] = value
        elif isinstance(present, list):
            cast("list[str]", present).append(value)
        else:
            grouped[name] = [present, value]
    return grouped
