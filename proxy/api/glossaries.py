"""Endpoints for glossaries: callers create, read, change and delete theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import BaseModel

from proxy.api.http_exchange import KEY, exchange_of
from proxy.exchange.exchange import RequestExchange
from proxy.exchange.key_places import HEADER
from proxy.glossaries.glossary import (
    GLOSSARY_BODY_BYTES,
    READER,
    Dictionary,
    Entries,
    Glossary,
    GlossaryChanges,
    GlossaryDraft,
    GlossaryInfo,
    parse_id,
    parse_pair,
)
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.problems import JsonBytesResponse
from shared.http.request_context import add_log_fields
from shared.languages import LanguagePair

M = TypeVar("M", bound=BaseModel)

routes = APIRouter(dependencies=[KEY])

PROBLEMS: Final = problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 431, 503, 504))
_DICTIONARY: Final = "/glossaries/{glossary_id}/dictionaries/{source_lang}/{target_lang}"


class GlossaryList(BaseModel):
    """The caller's glossaries, the oldest first."""

    glossaries: list[GlossaryInfo]


async def _enter(request: Request) -> AsyncGenerator[RequestExchange]:
    """Authenticate the caller, who needs an owner's word, and count the request."""
    with exchange_of(request) as exchange:
        await exchange.identify(HEADER.in_head(exchange.peer))
        _ = exchange.glossary_owner
        yield exchange


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


Entered = Annotated[RequestExchange, Depends(_enter)]
GlossaryId = Annotated[str, Depends(_checked_id)]
Pair = Annotated[LanguagePair, Depends(_checked_pair)]


async def _read(exchange: RequestExchange, model: type[M]) -> M:
    """Read the body as a model.

    Raises:
        PairwayError: the body is too large, too slow or not JSON, or a field is wrong.
    """
    return await exchange.read_model(READER, model, min(GLOSSARY_BODY_BYTES, exchange.parts.settings.max_bodies_bytes))


async def _read_dictionary(exchange: RequestExchange, pair: LanguagePair) -> Dictionary:
    entries = (await _read(exchange, Entries)).entries
    return Dictionary.model_construct(source_lang=pair.source, target_lang=pair.target, entries=entries)


async def _update(exchange: RequestExchange, glossary_id: str, change: Callable[[Glossary], Glossary]) -> GlossaryInfo:
    store = exchange.parts.glossaries.store
    return (await exchange.before_deadline(store.update(exchange.glossary_owner, glossary_id, change))).info


@routes.post("/glossaries", status_code=201, responses=PROBLEMS, openapi_extra=body_documentation(GlossaryDraft))
async def create(exchange: Entered) -> GlossaryInfo:
    """Create a glossary; its dictionaries may follow later."""
    draft = await _read(exchange, GlossaryDraft)
    store = exchange.parts.glossaries.store
    glossary = await exchange.before_deadline(store.create(exchange.glossary_owner, draft))
    exchange.peer.add_log_fields(glossary=glossary.id)
    return glossary.info


@routes.get("/glossaries", responses=PROBLEMS)
async def list_all(exchange: Entered) -> GlossaryList:
    """List the caller's glossaries, without entries."""
    store = exchange.parts.glossaries.store
    return GlossaryList(glossaries=await exchange.before_deadline(store.list_all(exchange.glossary_owner)))


@routes.get("/glossaries/{glossary_id}", responses=PROBLEMS)
async def show(exchange: Entered, glossary_id: GlossaryId) -> GlossaryInfo:
    """Show a glossary, without entries."""
    store = exchange.parts.glossaries.store
    return await exchange.before_deadline(store.info(exchange.glossary_owner, glossary_id))


@routes.patch("/glossaries/{glossary_id}", responses=PROBLEMS, openapi_extra=body_documentation(GlossaryChanges))
async def rename(exchange: Entered, glossary_id: GlossaryId) -> GlossaryInfo:
    """Rename a glossary."""
    name = (await _read(exchange, GlossaryChanges)).name
    return await _update(exchange, glossary_id, lambda before: before.renamed(name))


@routes.delete("/glossaries/{glossary_id}", status_code=204, response_class=Response, responses=PROBLEMS)
async def delete(exchange: Entered, glossary_id: GlossaryId) -> None:
    """Delete a glossary."""
    store = exchange.parts.glossaries.store
    await exchange.before_deadline(store.delete(exchange.glossary_owner, glossary_id))


@routes.get(_DICTIONARY, response_model=Dictionary, responses=PROBLEMS)
async def show_dictionary(exchange: Entered, glossary_id: GlossaryId, pair: Pair) -> Response:
    """Show a dictionary with its entries."""
    store = exchange.parts.glossaries.store
    dictionary = (await exchange.before_deadline(store.read(exchange.glossary_owner, glossary_id))).dictionary(pair)
    return JsonBytesResponse((await asyncio.to_thread(dictionary.model_dump_json)).encode())


@routes.put(_DICTIONARY, responses=PROBLEMS, openapi_extra=body_documentation(Entries))
async def replace_dictionary(exchange: Entered, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Write a pair's dictionary, in place of the one before."""
    dictionary = await _read_dictionary(exchange, pair)
    return await _update(exchange, glossary_id, lambda before: before.with_dictionary(dictionary))


@routes.patch(_DICTIONARY, responses=PROBLEMS, openapi_extra=body_documentation(Entries))
async def merge_entries(exchange: Entered, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Add entries to a pair's dictionary, replacing those of equal sources."""
    dictionary = await _read_dictionary(exchange, pair)
    return await _update(exchange, glossary_id, lambda before: before.with_entries(dictionary))


@routes.delete(_DICTIONARY, responses=PROBLEMS)
async def delete_dictionary(exchange: Entered, glossary_id: GlossaryId, pair: Pair) -> GlossaryInfo:
    """Delete a pair's dictionary."""
    return await _update(exchange, glossary_id, lambda before: before.without_dictionary(pair))
