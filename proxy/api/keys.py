"""Endpoints for keys: operators create, list, change and bill them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from proxy.api import operators
from proxy.context import context
from proxy.keys.api_key import ID, ApiKey, Grant, KeyChanges, KeyView, check_end, mint, name_warnings, pair_warnings
from proxy.keys.store import KeyStore
from proxy.keys.usage_report import UsageReport, render_csv, render_json
from proxy.keys.usage_store import DAYS, MONTHS, last_days, last_months
from proxy.storage.connection import StoreUnavailableError
from shared.http.body import OPERATOR_READER
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JSON
from shared.http.request_context import add_log_fields
from shared.protocol.errors import InvalidRequestError, KeysUnavailableError, UnknownKeyError

routes = APIRouter(dependencies=[operators.OPERATOR])
# Included first: its path looks like that of a key.
usage_routes = APIRouter(dependencies=[operators.OBSERVER])

PROBLEMS: Final = problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 431, 503, 504))


class KeyAnswer(KeyView):
    """A created or changed key."""

    warnings: Annotated[list[str], Field(description="Pairs that nothing serves; other keys with this name.")]


class Created(KeyAnswer):
    """A new key."""

    key: Annotated[str, Field(description="The key for its holder; it is shown only once.")]


class KeyList(BaseModel):
    """All keys, the oldest first; revoked and expired ones for 30 days."""

    keys: list[KeyView]


CSV: Final = "text/csv"


class UsageQuery(BaseModel):
    """The periods of a usage report, and its form.

    Without ``days`` and ``months`` it has the present month.
    """

    model_config = ConfigDict(extra="forbid")

    days: Annotated[int, Field(ge=0, le=DAYS, description="Number of UTC days, with the present one.")] = 0
    months: Annotated[int, Field(ge=0, le=MONTHS, description="Number of UTC months, with the present one.")] = 0
    key: Annotated[str | None, Field(pattern=f"^{ID.pattern}$", description="Id of one key; absent: all.")] = None
    format: Annotated[Literal["json", "csv"] | None, Field(description="Absent: as the header Accept says.")] = None


_USAGE: Final[dict[str, Any]] = {
    "openapi_extra": {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in UsageQuery.model_json_schema()["properties"].items()
        ]
    },
    "responses": PROBLEMS | {200: {"model": UsageReport, "content": {CSV: {"schema": {"type": "string"}}}}},
}


async def _checked_id(key_id: Annotated[str, Path(description="12 hexadecimal digits, the middle of the key.")]) -> str:
    """Return the id in the path; raise UnknownKeyError if it is malformed."""
    if not ID.fullmatch(key_id):
        raise UnknownKeyError(None)
    return key_id


KeyId = Annotated[str, Depends(_checked_id)]


def _render(keys: Sequence[ApiKey]) -> bytes:
    """Return the JSON of a KeyList.

    It is written key by key, so that the thread of 10,000 keys does not block the event loop.
    """
    return b'{"keys":[' + b",".join(key.model_dump_json(exclude={"digest"}).encode() for key in keys) + b"]}"


@contextmanager
def _keys(request: Request) -> Generator[KeyStore]:
    """Yield the key store; raise KeysUnavailableError if Redis is away."""
    try:
        yield context(request).keys.store
    except StoreUnavailableError as error:
        raise KeysUnavailableError(f"Keys cannot be read or changed now: {error}.") from None


async def _warnings(request: Request, key: KeyView, chosen: Collection[str]) -> list[str]:
    """Return warnings about the chosen fields."""
    parts = context(request)
    warnings = pair_warnings(key.pairs, parts.fleet.registry.snapshot.ready) if "pairs" in chosen else []
    if "name" in chosen:
        with suppress(StoreUnavailableError):  # the key is written, and this is a hint
            warnings += name_warnings(key, await parts.keys.store.all(), time.time())
    return warnings


@routes.post("/keys", status_code=201, responses=PROBLEMS, openapi_extra=body_documentation(Grant))
async def create(request: Request, exchange: operators.Entered) -> Created:
    """Create a key; only this answer contains it."""
    grant = await operators.read(exchange, Grant)
    key, shown = mint(grant, time.time())
    with _keys(request) as keys:
        await keys.add(key)
    add_log_fields(request, created_key=key.id)
    warnings = await _warnings(request, key.view, grant.model_fields_set)
    return Created(**key.view.model_dump(), warnings=warnings, key=shown)


@routes.get("/keys", response_model=KeyList, responses=PROBLEMS)
async def list_all(request: Request) -> Response:
    """List all keys, without their secrets."""
    with _keys(request) as keys:
        records = await keys.all()
    return Response(await asyncio.to_thread(_render, records), media_type=JSON)


@usage_routes.get("/keys/usage", **_USAGE)
async def usage(request: Request) -> Response:
    """Report what keys used by day and month, as JSON or CSV.

    A period is incomplete if some of its usage was lost. Days are kept for 35 days, months for 13 months.
    """
    if not set(request.query_params) <= UsageQuery.model_fields.keys():  # unnamed: an answer repeats no query
        raise InvalidRequestError([("query", f"has another parameter than {', '.join(UsageQuery.model_fields)}")])
    query = OPERATOR_READER.validated(dict(request.query_params), UsageQuery)
    is_csv = (query.format or ("csv" if CSV in request.headers.get("accept", "") else "json")) == "csv"
    with _keys(request) as keys:
        months = query.months or (0 if query.days else 1)
        periods = [*last_days(keys.clock(), query.days), *last_months(keys.clock(), months)]
        used = await keys.usage.read(periods, query.key)
        names = {key.id: key.name for key in await keys.all()}
    body = await asyncio.to_thread(render_csv if is_csv else render_json, used, names)
    return Response(body, media_type=CSV if is_csv else JSON)


@routes.get("/keys/{key_id}", responses=PROBLEMS)
async def show(request: Request, key_id: KeyId) -> KeyView:
    """Show one key, also a revoked or expired one."""
    with _keys(request) as keys:
        key = await keys.read(key_id)
    if key is None:
        raise UnknownKeyError(key_id)
    return key.view


@routes.patch("/keys/{key_id}", responses=PROBLEMS, openapi_extra=body_documentation(KeyChanges))
async def change(request: Request, exchange: operators.Entered, key_id: KeyId) -> KeyAnswer:
    """Change a key; every proxy applies the change within a second."""
    changes = await operators.read(exchange, KeyChanges)
    check_end(changes.expires_at, time.time())
    with _keys(request) as keys:
        key = (await keys.change(key_id, changes.model_dump(exclude_unset=True))).view
    return KeyAnswer(**key.model_dump(), warnings=await _warnings(request, key, changes.model_fields_set))


@routes.delete("/keys/{key_id}", responses=PROBLEMS)
async def revoke(request: Request, key_id: KeyId) -> KeyView:
    """Revoke a key; it is refused at once, listed for 30 days."""
    with _keys(request) as keys:
        return (await keys.revoke(key_id)).view
