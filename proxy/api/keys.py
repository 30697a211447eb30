"""Endpoints for keys: operators create, list, change and revoke them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel, Field

from proxy.api import operators
from proxy.context import context
from proxy.keys.api_key import ID, ApiKey, Grant, KeyChanges, KeyView, check_end, mint, name_warnings, pair_warnings
from proxy.keys.store import KeyStore
from proxy.storage.connection import StoreUnavailableError
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JSON
from shared.http.request_context import add_log_fields
from shared.protocol.errors import KeysUnavailableError, UnknownKeyError

routes = APIRouter(dependencies=[operators.OPERATOR])

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
