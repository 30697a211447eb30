"""Fields: a request's members, as JSON, a form, or a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, cast

from proxy.exchange.exchange import RequestExchange
from proxy.exchange.key_places import HEADER, KeyPlaces
from shared.parsing.form_body import MULTIPART, URLENCODED, Pairs, parse_multipart, parse_urlencoded
from shared.parsing.json_reader import OTHER_VALUES, JsonReader, NoJsonError, media_type, refuse_repeated_names
from shared.parsing.request_parser import read_members
from shared.protocol.errors import InvalidRequestError
from shared.protocol.translate_request import Limits

T = TypeVar("T")

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


@dataclass(frozen=True, slots=True)
class BodyFormat:
    """The bodies that an endpoint takes, with the names that it knows.

    ``only_json``: bodies declared as JSON; otherwise forms too, and the query in the place of an empty body. ``limit``:
    bytes, 0 as in the settings. ``repair`` mends a body that is no JSON, for clients that are known to send it.
    """

    reader: JsonReader
    only_json: bool = False
    limit: int = 0
    repair: Callable[[bytes], bytes] | None = None


async def receive_fields(exchange: RequestExchange, body_format: BodyFormat, keys: KeyPlaces = HEADER) -> Fields:
    """Identify the caller; return the fields of the body.

    Raises:
        PairwayError: as :meth:`RequestExchange.receive`, or the body is malformed or has too many values.
    """
    body = await exchange.receive(keys, body_format.limit, only_json=body_format.only_json)
    return await parse_fields(exchange, body_format, body)


async def parse_fields(exchange: RequestExchange, body_format: BodyFormat, body: bytes) -> Fields:
    """Return the fields of a body.

    Raises:
        PairwayError: it is malformed, or has too many fields or values.
    """
    parse = partial(json_fields, body, body_format, exchange.parts.settings.max_texts + OTHER_VALUES)
    if body_format.only_json:
        return await exchange.in_turn(body, parse)
    if not body:
        return query_fields(exchange)
    content_type = exchange.peer.headers.get("content-type", "")
    kind = media_type(content_type)
    if kind == MULTIPART:
        pairs = await exchange.in_turn(body, partial(parse_multipart, body, content_type))
        # PHP's curl sends a form without fields beside a query: Nextcloud.
        return Fields(_grouped(pairs), is_json=False) if pairs else query_fields(exchange)
    if kind == URLENCODED and not body.lstrip().startswith(_OBJECT_START):
        pairs = await exchange.in_turn(body, partial(parse_urlencoded, body))
        return Fields(_grouped(pairs), is_json=False)
    return await exchange.in_turn(body, parse)


def query_fields(exchange: RequestExchange) -> Fields:
    """Return the query's fields; raise BadRequestError if it cannot be read."""
    return read_query(exchange.peer.query)


def read_query(query: bytes) -> Fields:
    """Return an encoded query's fields; raise BadRequestError if it cannot be read."""
    return Fields(_grouped(parse_urlencoded(query)), is_json=False, in_url=True)


def parse_unique(body: bytes, limits: Limits, required: str, build: Callable[[dict[str, Any]], T]) -> T:
    """Return what ``build`` makes of a JSON object's members.

    Its texts are within the limits.

    Raises:
        PairwayError: the body is not a JSON object with ``required``, too large, or repeats a name; or as ``build``.
    """
    members, is_plainly_unique = read_members(body, limits, required)
    built = build(members)
    if not is_plainly_unique:  # last: only valid requests are parsed again
        refuse_repeated_names(body)
    return built


def json_fields(body: bytes, body_format: BodyFormat, max_values: int) -> Fields:
    """Return the members of a JSON object.

    Raises:
        BadRequestError: the body is no JSON, or no object.
        TooLargeError: it has more than ``max_values`` names and values.
    """
    try:
        return Fields(body_format.reader.read(body, max_values))
    except NoJsonError:
        if body_format.repair is None or (repaired := body_format.repair(body)) == body:
            raise
        return Fields(body_format.reader.read(repaired, max_values))


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
