"""Endpoints for glossaries: callers create, read, change and delete theirs."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel

from proxy.api import auth
from proxy.context import context
from proxy.glossaries.glossary import (
    GLOSSARY_BODY_BYTES,
    Dictionary,
    Entries,
    GlossaryChanges,
    GlossaryDraft,
    GlossaryInfo,
    parse_body,
    parse_id,
    parse_pair,
)
from proxy.glossaries.owner import GlossaryOwner
from shared.http.body import read_json_body
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import add_log_fields, request_header
from shared.languages import LanguagePair
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline

M = TypeVar("M", bound=BaseModel)

routes = APIRouter(dependencies=[auth.KEY])

PROBLEMS: Final = problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 431, 503, 504))
# Smaller bodies are parsed on the event loop.
INLINE_BYTES: Final = 16_384
_DICTIONARY: Final = "/glossaries/{glossary_id}/dictionaries/{source_lang}/{target_lang}"


class GlossaryList(BaseModel):
    """The caller's glossaries, the oldest first."""

    glossaries: list[GlossaryInfo]


async def _identify(request: Request) -> GlossaryOwner:
    """Authenticate the caller, count the request, and return the owner."""
    base = context(request).settings.time_limits.base
    deadline = Deadline.from_header(request_header(request, TIMEOUT_HEADER), base, time.monotonic)
    authorization = request_header(request, "authorization")
    return auth.glossary_owner(await auth.authenticate(request, deadline, authorization), authorization)


async def _checked_id(
    request: Request, glossary_id: Annotated[str, Path(description="The glossary's id, a UUID.")]
) -> str:
    """Return the id in the path; raise UnknownGlossaryError if it is malformed."""
    checked = parse_id(glossary_id)
    add_log_fields(request, glossary=checked)
    return checked


async def _checked_pair(
    source_lang: Annotated[str, Path(description="BCP-47 tag.")],
    target_lang: Annotated[str, Path(description="BCP-47 tag.")],
) -> LanguagePair:
    """Return the pair in the path; raise InvalidRequestError for impossible tags."""
    return parse_pair(source_lang, target_lang)


Owner = Annotated[GlossaryOwner, Depends(_identify)]
GlossaryId = Annotated[str, Depends(_checked_id)]
Pair = Annotated[LanguagePair, Depends(_checked_pair)]


async def _read(request: Request, model: type[M]) -> M:
    """Read the body as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    parts = context(request)
    limit = min(GLOSSARY_BODY_BYTES, parts.settings.max_bodies_bytes)
    deadline = Deadline.after(parts.settings.time_limits.base, time.monotonic)
    with parts.process.body_budget.reserve() as reservation:
        body = await read_json_body(request, limit, deadline, reservation)
        if len(body) <= INLINE_BYTES:
            return parse_body(body, model)
        return await asyncio.to_thread(parse_body, body, model)


async def _read_dictionary(request: Request, pair: LanguagePair) -> Dictionary:
    entries = (await _read(request, Entries)).entries
    return Dictionary.model_construct(source_lang=pair.source, target_lang=pair.target, entries=entries)


@routes.post("/glossaries", status_code=201, responses=PROBLEMS, openapi_extra=body_documentation(GlossaryDraft))
async def create(request: Request, owner: Owner) -> GlossaryInfo:
    """Create a glossary; its dictionaries may follow later."""
    draft = await _read(request, GlossaryDraft)
    glossary = await context(request).glossaries.store.create(owner, draft)
    add_log_fields(request, glossary=glossary.id)
    return glossary.info


@routes.get("/glossaries", responses=PROBLEMS)
async def list_all(request: Request, owner: Owner) -> GlossaryList:
    """List the caller's glossaries, without entries."""
    return GlossaryList(glossaries=await context(request).glossaries.store.list_all(owner))


@routes.get("/glossaries/{glossary_id}", responses=PROBLEMS)
async def show(request: Request, owner: Owner, glossary_id: GlossaryId) -> GlossaryInfo:
    """Show a glossary, without entries."""
    return await context(request).glossaries.store.info(owner, glossary_id)


@routes.patch("/glossaries/{glossary_id}", responses=PROBLEMS, openapi_extra=body_documentation(GlossaryChanges))
async def rename(request: Request, owner: Owner, glossary_id: GlossaryId) -> GlossaryInfo:
    """Rename a glossary."""
    name = (await _read(request, GlossaryChanges)).name
    changed = await context(request).glossaries.store.update(owner, glossary_id, lambda before: before.renamed(name))
    return changed.info


@routes.delete("/glossaries/{glossary_id}", status_code=204, response_class=Response, responses=PROBLEMS)
async def delete(request: Request, owner: Owner, glossary_id: GlossaryId) -> None:
    """Delete a glossary."""
    await context(request).glossaries.store.delete(owner, glossary_id)


@routes.get(_DICTIONARY, response_model=Dictionary, responses=PROBLEMS)
async def show_dictionary(request: Request, owner: Owner, glossary_id: GlossaryId, pair: Pair) -> Response:
    """Show a dictionary with its entries."""
    dictionary = (await context(request).glossaries.store.read(owner, glossary_id)).dictionary(pair)
    return JsonBytesResponse((await asyncio.to_thread(dictionary.model_dump_json)).encode())


@routes.put(_DICTIONARY, responses=PROBLEMS, openapi_extra=body_documentation(Entries))
async def replace_dictionary(request: Request, owner: Owner, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Write a pair's dictionary, in place of the one before."""
    dictionary = await _read_dictionary(request, pair)
    store = context(request).glossaries.store
    return (await store.update(owner, glossary_id, lambda before: before.with_dictionary(dictionary))).info


@routes.patch(_DICTIONARY, responses=PROBLEMS, openapi_extra=body_documentation(Entries))
async def merge_entries(request: Request, owner: Owner, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Add entries to a pair's dictionary, replacing those of equal sources."""
    dictionary = await _read_dictionary(request, pair)
    store = context(request).glossaries.store
    return (await store.update(owner, glossary_id, lambda before: before.with_entries(dictionary))).info


@routes.delete(_DICTIONARY, responses=PROBLEMS)
async def delete_dictionary(request: Request, owner: Owner, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Delete a pair's dictionary."""
    store = context(request).glossaries.store
    return (await store.update(owner, glossary_id, lambda before: before.without_dictionary(pair))).info
