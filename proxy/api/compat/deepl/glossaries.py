"""DeepL's glossaries, versions 2 and 3, over ours."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api import auth
from proxy.api.compat.compat_api import CompatRoute
from proxy.api.compat.deepl.callers import header_authorization, note_ignored
from proxy.api.compat.deepl.entry_lines import TSV, to_tsv
from proxy.api.compat.deepl.errors import json_answer, with_trace
from proxy.api.compat.deepl.glossary_request import (
    DICTIONARY_FIELDS,
    ignored_names,
    read_dictionary,
    read_edit,
    read_pair,
    read_v2_draft,
    read_v3_draft,
)
from proxy.api.compat.deepl.languages import deepl_code
from proxy.api.compat.fields import Fields, parse_fields, query_fields
from proxy.context import context
from proxy.glossaries.glossary import GLOSSARY_BODY_BYTES, Dictionary, DictionaryInfo, GlossaryInfo, parse_id
from proxy.glossaries.owner import GlossaryOwner
from proxy.glossaries.store import GlossaryStore
from shared.http.body import read_body
from shared.http.request_context import add_log_fields, request_header
from shared.languages import LanguagePair
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.errors import BadRequestError, UnsupportedMediaError

T = TypeVar("T")

_CREATED: Final = 201
_NO_CONTENT: Final = 204
_TSV_TYPE: Final = "text/tab-separated-values"
_ACCEPTED: Final = frozenset({_TSV_TYPE, "text/*", "*/*"})
_V2_FIELDS: Final = ("name", *DICTIONARY_FIELDS)
_V3_FIELDS: Final = ("name", "dictionaries")


async def create_v2(request: Request) -> Response:
    """Answer ``POST /v2/glossaries``."""
    owner = await _identify(request)
    draft = await _read(request, read_v2_draft, _V2_FIELDS)
    glossary = await _store(request).create(owner, draft)
    return _json(request, _v2(glossary.info, _only_dictionary(glossary.info)), _CREATED)


async def list_v2(request: Request) -> Response:
    """Answer ``GET /v2/glossaries``: those of one dictionary."""
    listed = await _store(request).list_all(await _identify(request))
    return _json(
        request, {"glossaries": [_v2(info, info.dictionaries[0]) for info in listed if len(info.dictionaries) == 1]}
    )


async def show_v2(request: Request) -> Response:
    """Answer ``GET /v2/glossaries/ID``."""
    info = await _info(request, await _identify(request))
    return _json(request, _v2(info, _only_dictionary(info)))


async def show_v2_entries(request: Request) -> Response:
    """Answer ``GET /v2/glossaries/ID/entries``."""
    owner = await _identify(request)
    accepted = (request_header(request, "accept") or "*/*").lower().split(",")
    if _ACCEPTED.isdisjoint(each.partition(";")[0].strip() for each in accepted):
        raise UnsupportedMediaError(f"Entries are answered as {_TSV_TYPE}; Accept must have it or */*.")
    glossary = await _store(request).read(owner, _glossary_id(request))
    only = _only_dictionary(glossary.info)
    dictionary = glossary.dictionary(LanguagePair(only.source_lang, only.target_lang))
    return with_trace(request, Response(to_tsv(dictionary.entries), media_type=f"{_TSV_TYPE}; charset=UTF-8"))


async def delete_v2(request: Request) -> Response:
    """Answer ``DELETE /v2/glossaries/ID``; as DeepL's, not for several dictionaries."""
    owner = await _identify(request)
    _only_dictionary(await _info(request, owner))
    return await _delete(request, owner)


async def create_v3(request: Request) -> Response:
    """Answer ``POST /v3/glossaries``."""
    owner = await _identify(request)
    draft = await _read(request, read_v3_draft, _V3_FIELDS)
    return _json(request, _v3((await _store(request).create(owner, draft)).info), _CREATED)


async def list_v3(request: Request) -> Response:
    """Answer ``GET /v3/glossaries``."""
    listed = await _store(request).list_all(await _identify(request))
    return _json(request, {"glossaries": [_v3(info) for info in listed]})


async def show_v3(request: Request) -> Response:
    """Answer ``GET /v3/glossaries/ID``."""
    return _json(request, _v3(await _info(request, await _identify(request))))


async def edit(request: Request) -> Response:
    """Answer ``PATCH /v3/glossaries/ID``: a name, and entries to merge."""
    owner = await _identify(request)
    changes = await _read(request, read_edit, _V3_FIELDS)
    return _json(request, _v3((await _store(request).update(owner, _glossary_id(request), changes.apply)).info))


async def delete_v3(request: Request) -> Response:
    """Answer ``DELETE /v3/glossaries/ID``."""
    return await _delete(request, await _identify(request))


async def show_v3_entries(request: Request) -> Response:
    """Answer ``GET /v3/glossaries/ID/entries``, of one pair."""
    owner = await _identify(request)
    pair = read_pair(query_fields(request).members)
    dictionary = (await _store(request).read(owner, _glossary_id(request))).dictionary(pair)
    entries = {"entries": to_tsv(dictionary.entries), "entries_format": TSV}
    return _json(request, {"dictionaries": [_languages(dictionary) | entries]})


async def replace_dictionary(request: Request) -> Response:
    """Answer ``PUT /v3/glossaries/ID/dictionaries``."""
    owner = await _identify(request)
    dictionary = await _read(request, _read_one, DICTIONARY_FIELDS)
    await _store(request).update(owner, _glossary_id(request), lambda before: before.with_dictionary(dictionary))
    return _json(request, _languages(dictionary) | {"entry_count": len(dictionary.entries)})


async def delete_dictionary(request: Request) -> Response:
    """Answer ``DELETE /v3/glossaries/ID/dictionaries``, of one pair."""
    owner = await _identify(request)
    pair = read_pair(query_fields(request).members)
    await _store(request).update(owner, _glossary_id(request), lambda before: before.without_dictionary(pair))
    return with_trace(request, Response(status_code=_NO_CONTENT))


async def _identify(request: Request) -> GlossaryOwner:
    """Authenticate the caller, count the request, and return the owner."""
    base = context(request).settings.time_limits.base
    deadline = Deadline.from_header(request_header(request, TIMEOUT_HEADER), base, time.monotonic)
    authorization = header_authorization(request)
    return auth.glossary_owner(await auth.authenticate(request, deadline, authorization), authorization)


async def _read(request: Request, reader: Callable[[Fields], T], known: Sequence[str]) -> T:
    """Read the body with a reader, and report unknown fields.

    Raises:
        PairwayError: the body is empty, too large or too slow, or cannot be read, or a field is wrong.
    """
    parts = context(request)
    limit = min(GLOSSARY_BODY_BYTES, parts.settings.max_bodies_bytes)
    deadline = Deadline.after(parts.settings.time_limits.base, time.monotonic)
    with parts.process.body_budget.reserve() as reservation:
        body = await read_body(request, limit, deadline, reservation)
        if not body:
            raise BadRequestError(f"The body is empty: send {', '.join(known)} in it, as JSON or as a form.")
        fields = await parse_fields(request, body)
        note_ignored(request, ignored_names(fields, known))
        return await asyncio.to_thread(reader, fields)


def _read_one(fields: Fields) -> Dictionary:
    return read_dictionary(fields.members)


def _store(request: Request) -> GlossaryStore:
    return context(request).glossaries.store


def _glossary_id(request: Request) -> str:
    glossary_id = parse_id(request.path_params["glossary_id"])
    add_log_fields(request, glossary=glossary_id)
    return glossary_id


async def _info(request: Request, owner: GlossaryOwner) -> GlossaryInfo:
    return await _store(request).info(owner, _glossary_id(request))


async def _delete(request: Request, owner: GlossaryOwner) -> Response:
    await _store(request).delete(owner, _glossary_id(request))
    return with_trace(request, Response(status_code=_NO_CONTENT))


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


def _json(request: Request, answer: Mapping[str, object], status: int = 200) -> Response:
    response = json_answer(request, to_json(answer))
    response.status_code = status
    return response


ROUTES: Final = (
    CompatRoute(("GET",), "/v2/glossaries", list_v2, at_root=True),
    CompatRoute(("POST",), "/v2/glossaries", create_v2, at_root=True),
    CompatRoute(("GET",), "/v2/glossaries/{glossary_id}", show_v2, at_root=True),
    CompatRoute(("DELETE",), "/v2/glossaries/{glossary_id}", delete_v2, at_root=True),
    CompatRoute(("GET",), "/v2/glossaries/{glossary_id}/entries", show_v2_entries, at_root=True),
    CompatRoute(("GET",), "/v3/glossaries", list_v3, at_root=True),
    CompatRoute(("POST",), "/v3/glossaries", create_v3, at_root=True),
    CompatRoute(("GET",), "/v3/glossaries/{glossary_id}", show_v3, at_root=True),
    CompatRoute(("PATCH",), "/v3/glossaries/{glossary_id}", edit, at_root=True),
    CompatRoute(("DELETE",), "/v3/glossaries/{glossary_id}", delete_v3, at_root=True),
    CompatRoute(("GET",), "/v3/glossaries/{glossary_id}/entries", show_v3_entries, at_root=True),
    CompatRoute(("PUT",), "/v3/glossaries/{glossary_id}/dictionaries", replace_dictionary, at_root=True),
    CompatRoute(("DELETE",), "/v3/glossaries/{glossary_id}/dictionaries", delete_dictionary, at_root=True),
)
