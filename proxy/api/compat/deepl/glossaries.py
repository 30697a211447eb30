"""DeepL's glossaries, versions 2 and 3, over ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeVar

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatRoute, Handler
from proxy.api.compat.deepl.callers import header_authorization, note_ignored
from proxy.api.compat.deepl.entry_lines import TSV, to_tsv
from proxy.api.compat.deepl.errors import json_answer, with_trace
from proxy.api.compat.deepl.glossary_request import (
    DICTIONARY_FIELDS,
    READER,
    ignored_names,
    read_dictionary,
    read_edit,
    read_pair,
    read_v2_draft,
    read_v3_draft,
)
from proxy.api.compat.deepl.languages import deepl_code
from proxy.api.compat.fields import Fields, parse_fields, query_fields
from proxy.api.exchange import RequestExchange, parse_in_turn
from proxy.context import context
from proxy.glossaries.glossary import GLOSSARY_BODY_BYTES, Dictionary, DictionaryInfo, Glossary, GlossaryInfo, parse_id
from proxy.glossaries.store import GlossaryStore
from shared.http.request_context import add_log_fields, request_header
from shared.languages import LanguagePair
from shared.protocol.errors import BadRequestError, UnsupportedMediaError

T = TypeVar("T")

_CREATED: Final = 201
_NO_CONTENT: Final = 204
_TSV_TYPE: Final = "text/tab-separated-values"
_ACCEPTED: Final = frozenset({_TSV_TYPE, "text/*", "*/*"})
_V2_FIELDS: Final = ("name", *DICTIONARY_FIELDS)
_V3_FIELDS: Final = ("name", "dictionaries")


async def create_v2(exchange: RequestExchange) -> Response:
    """Answer ``POST /v2/glossaries``."""
    draft = await _read(exchange, read_v2_draft, _V2_FIELDS)
    info = (await exchange.before_deadline(_store(exchange).create(exchange.glossary_owner, draft))).info
    return _json(exchange, _v2(info, _only_dictionary(info)), _CREATED)


async def list_v2(exchange: RequestExchange) -> Response:
    """Answer ``GET /v2/glossaries``: those of one dictionary."""
    listed = await exchange.before_deadline(_store(exchange).list_all(exchange.glossary_owner))
    return _json(
        exchange, {"glossaries": [_v2(info, info.dictionaries[0]) for info in listed if len(info.dictionaries) == 1]}
    )


async def show_v2(exchange: RequestExchange) -> Response:
    """Answer ``GET /v2/glossaries/ID``."""
    info = await _info(exchange)
    return _json(exchange, _v2(info, _only_dictionary(info)))


async def show_v2_entries(exchange: RequestExchange) -> Response:
    """Answer ``GET /v2/glossaries/ID/entries``."""
    request = exchange.request
    accepted = (request_header(request, "accept") or "*/*").lower().split(",")
    if _ACCEPTED.isdisjoint(each.partition(";")[0].strip() for each in accepted):
        raise UnsupportedMediaError(f"Entries are answered as {_TSV_TYPE}; Accept must have it or */*.")
    glossary = await _glossary(exchange)
    only = _only_dictionary(glossary.info)
    dictionary = glossary.dictionary(LanguagePair(only.source_lang, only.target_lang))
    return with_trace(request, Response(to_tsv(dictionary.entries), media_type=f"{_TSV_TYPE}; charset=UTF-8"))


async def delete_v2(exchange: RequestExchange) -> Response:
    """Answer ``DELETE /v2/glossaries/ID``; as DeepL's, not for several dictionaries."""
    _only_dictionary(await _info(exchange))
    return await delete_v3(exchange)


async def create_v3(exchange: RequestExchange) -> Response:
    """Answer ``POST /v3/glossaries``."""
    draft = await _read(exchange, read_v3_draft, _V3_FIELDS)
    created = await exchange.before_deadline(_store(exchange).create(exchange.glossary_owner, draft))
    return _json(exchange, _v3(created.info), _CREATED)


async def list_v3(exchange: RequestExchange) -> Response:
    """Answer ``GET /v3/glossaries``."""
    listed = await exchange.before_deadline(_store(exchange).list_all(exchange.glossary_owner))
    return _json(exchange, {"glossaries": [_v3(info) for info in listed]})


async def show_v3(exchange: RequestExchange) -> Response:
    """Answer ``GET /v3/glossaries/ID``."""
    return _json(exchange, _v3(await _info(exchange)))


async def edit(exchange: RequestExchange) -> Response:
    """Answer ``PATCH /v3/glossaries/ID``: a name, and entries to merge."""
    changes = await _read(exchange, read_edit, _V3_FIELDS)
    return _json(exchange, _v3((await _update(exchange, changes.apply)).info))


async def delete_v3(exchange: RequestExchange) -> Response:
    """Answer ``DELETE /v3/glossaries/ID``."""
    await exchange.before_deadline(_store(exchange).delete(exchange.glossary_owner, _glossary_id(exchange)))
    return with_trace(exchange.request, Response(status_code=_NO_CONTENT))


async def show_v3_entries(exchange: RequestExchange) -> Response:
    """Answer ``GET /v3/glossaries/ID/entries``, of one pair."""
    pair = read_pair(query_fields(exchange.request).members)
    dictionary = (await _glossary(exchange)).dictionary(pair)
    entries = {"entries": to_tsv(dictionary.entries), "entries_format": TSV}
    return _json(exchange, {"dictionaries": [_languages(dictionary) | entries]})


async def replace_dictionary(exchange: RequestExchange) -> Response:
    """Answer ``PUT /v3/glossaries/ID/dictionaries``."""
    dictionary = await _read(exchange, _read_one, DICTIONARY_FIELDS)
    await _update(exchange, lambda before: before.with_dictionary(dictionary))
    return _json(exchange, _languages(dictionary) | {"entry_count": len(dictionary.entries)})


async def delete_dictionary(exchange: RequestExchange) -> Response:
    """Answer ``DELETE /v3/glossaries/ID/dictionaries``, of one pair."""
    pair = read_pair(query_fields(exchange.request).members)
    await _update(exchange, lambda before: before.without_dictionary(pair))
    return with_trace(exchange.request, Response(status_code=_NO_CONTENT))


def _entered(serve: Callable[[RequestExchange], Awaitable[Response]]) -> Handler:
    """Return a handler that first authenticates the owner."""

    async def handle(request: Request) -> Response:
        with RequestExchange(request) as exchange:
            await exchange.authenticate(header_authorization(request))
            _ = exchange.glossary_owner
            return await serve(exchange)

    return handle


async def _read(exchange: RequestExchange, reader: Callable[[Fields], T], known: Sequence[str]) -> T:
    """Read the body with a reader, and report unknown fields.

    Raises:
        PairwayError: the body is empty, too large or too slow, or cannot be read, or a field is wrong.
    """
    request = exchange.request
    body = await exchange.read_body(min(GLOSSARY_BODY_BYTES, context(request).settings.max_bodies_bytes))
    if not body:
        raise BadRequestError(f"The body is empty: send {', '.join(known)} in it, as JSON or as a form.")
    fields = await parse_fields(request, body, READER)
    note_ignored(request, ignored_names(fields, known))
    return await parse_in_turn(request, body, partial(reader, fields))


def _read_one(fields: Fields) -> Dictionary:
    return read_dictionary(fields.members)


def _store(exchange: RequestExchange) -> GlossaryStore:
    return context(exchange.request).glossaries.store


def _glossary_id(exchange: RequestExchange) -> str:
    glossary_id = parse_id(exchange.request.path_params["glossary_id"])
    add_log_fields(exchange.request, glossary=glossary_id)
    return glossary_id


async def _info(exchange: RequestExchange) -> GlossaryInfo:
    return await exchange.before_deadline(_store(exchange).info(exchange.glossary_owner, _glossary_id(exchange)))


async def _glossary(exchange: RequestExchange) -> Glossary:
    return await exchange.before_deadline(_store(exchange).read(exchange.glossary_owner, _glossary_id(exchange)))


async def _update(exchange: RequestExchange, change: Callable[[Glossary], Glossary]) -> Glossary:
    update = _store(exchange).update(exchange.glossary_owner, _glossary_id(exchange), change)
    return await exchange.before_deadline(update)


def _only_dictionary(info: GlossaryInfo) -> DictionaryInfo:
    if len(info.dictionaries) != 1:
        raise BadRequestError(
            f"Version 2 knows glossaries of one dictionary, and this one has {len(info.dictionaries)}: use /v3/glossaries."
        )
    return info.dictionaries[0]


def _v2(info: GlossaryInfo, dictionary: DictionaryInfo) -> dict[str, object]:
    return {
        "glossary_id": info.id,
        "name": info.name,
        "ready": True,
        **_counted(dictionary),
        "creation_time": _time(info.created_at),
    }


def _v3(info: GlossaryInfo) -> dict[str, object]:
    return {
        "glossary_id": info.id,
        "name": info.name,
        "dictionaries": [_counted(each) for each in info.dictionaries],
        "creation_time": _time(info.created_at),
    }


def _counted(info: DictionaryInfo) -> dict[str, object]:
    return {**_languages(info), "entry_count": info.entry_count}


def _languages(dictionary: Dictionary | DictionaryInfo) -> dict[str, str]:
    return {"source_lang": deepl_code(dictionary.source_lang), "target_lang": deepl_code(dictionary.target_lang)}


def _time(seconds: float) -> str:
    # With a fraction and a zone: DeepL's client for Python reads no other form.
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _json(exchange: RequestExchange, answer: Mapping[str, object], status: int = 200) -> Response:
    response = json_answer(exchange.request, to_json(answer))
    response.status_code = status
    return response


ROUTES: Final = (
    CompatRoute(("GET",), "/v2/glossaries", _entered(list_v2), at_root=True),
    CompatRoute(("POST",), "/v2/glossaries", _entered(create_v2), at_root=True),
    CompatRoute(("GET",), "/v2/glossaries/{glossary_id}", _entered(show_v2), at_root=True),
    CompatRoute(("DELETE",), "/v2/glossaries/{glossary_id}", _entered(delete_v2), at_root=True),
    CompatRoute(("GET",), "/v2/glossaries/{glossary_id}/entries", _entered(show_v2_entries), at_root=True),
    CompatRoute(("GET",), "/v3/glossaries", _entered(list_v3), at_root=True),
    CompatRoute(("POST",), "/v3/glossaries", _entered(create_v3), at_root=True),
    CompatRoute(("GET",), "/v3/glossaries/{glossary_id}", _entered(show_v3), at_root=True),
    CompatRoute(("PATCH",), "/v3/glossaries/{glossary_id}", _entered(edit), at_root=True),
    CompatRoute(("DELETE",), "/v3/glossaries/{glossary_id}", _entered(delete_v3), at_root=True),
    CompatRoute(("GET",), "/v3/glossaries/{glossary_id}/entries", _entered(show_v3_entries), at_root=True),
    CompatRoute(("PUT",), "/v3/glossaries/{glossary_id}/dictionaries", _entered(replace_dictionary), at_root=True),
    CompatRoute(("DELETE",), "/v3/glossaries/{glossary_id}/dictionaries", _entered(delete_dictionary), at_root=True),
)
