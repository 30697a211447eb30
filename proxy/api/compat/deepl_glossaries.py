"""DeepL's glossaries over ours; version 2 has those of one dictionary."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple, TypeVar, cast

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.codec import CompatRoute
from proxy.api.compat.languages import base_code, deepl_code, known_targets, parse_code, tag_of
from proxy.api.http_exchange import exchange_of
from proxy.exchange.exchange import RequestExchange
from proxy.exchange.fields import BodyFormat, Fields, parse_fields, query_fields
from proxy.exchange.key_places import as_bearer, header_key
from proxy.exchange.peer import Peer
from proxy.fleet.snapshot import Snapshot
from proxy.glossaries.entry_lines import FORMATS, TSV, EntryReader, to_tsv
from proxy.glossaries.glossary import (
    GLOSSARY_BODY_BYTES,
    MAX_DICTIONARIES,
    Dictionary,
    DictionaryInfo,
    Glossary,
    GlossaryChanges,
    GlossaryDraft,
    GlossaryInfo,
    parse_id,
)
from proxy.glossaries.glossary import READER as GLOSSARY_READER
from proxy.routing.pivots import PivotOrder
from shared.http.app_setup import Handler
from shared.http.problems import JsonBytesResponse
from shared.languages import LanguagePair, is_registered
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import BadRequestError, TooLargeError, UnsupportedMediaError
from shared.protocol.headers import BEARER
from shared.runtime.turns import Steps

T = TypeVar("T")

# --- what all of DeepL's endpoints share -----------------------------------------------------------------------------

_SCHEMES: Final = ("DeepL-Auth-Key", BEARER)
# Names of fields that had no effect.
IGNORED_HEADER: Final = "X-Pairway-Ignored"
MAX_IGNORED: Final = 16
_SHOWN_NAME: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,40}")


def header_authorization(peer: Peer) -> str | None:
    """Return the header's key as a bearer's, None without one."""
    return as_bearer(header_key(peer, *_SCHEMES))


def note_ignored(exchange: RequestExchange, names: Sequence[str]) -> None:
    """Name fields that had no effect in the answer's headers."""
    if names:
        shown = sorted({name if _SHOWN_NAME.fullmatch(name) else "?" for name in names})
        exchange.peer.add_answer_headers({IGNORED_HEADER: ", ".join(shown[:MAX_IGNORED])})


# --- the fields of a glossary, as ours ---------------------------------------------------------------------------------

# Members of a dictionary, which are fields of their own in version 2 and in requests for one dictionary.
DICTIONARY_FIELDS: Final = ("source_lang", "target_lang", "entries", "entries_format")
READER: Final = JsonReader((*DICTIONARY_FIELDS, "name", "dictionaries"))
# Forms have dictionaries[0].source_lang, or dictionaries[0][source_lang].
_IN_FORM: Final = re.compile(r"dictionaries\[(\d{1,4})\](?:\.(\w+)|\[(\w+)\])")
_SHOWN_CHARS: Final = 40


class GlossaryEdit(NamedTuple):
    """Changes of a glossary: a name, and dictionaries to merge."""

    name: str | None
    dictionaries: Sequence[Dictionary]

    def apply(self, before: Glossary) -> Glossary:
        """Return the changed glossary; raise TooLargeError beyond its limits."""
        after = before if self.name is None else before.renamed(self.name)
        for dictionary in self.dictionaries:
            after = after.with_entries(dictionary)
        # One change, whatever its parts.
        return after.model_copy(update={"version": before.version + 1})


def read_v2_draft(fields: Fields) -> Steps[GlossaryDraft]:
    """Return the glossary of one dictionary; PairwayError for wrong fields."""
    return _draft(fields.members, [(yield from read_only_dictionary(fields))])


def read_v3_draft(fields: Fields) -> Steps[GlossaryDraft]:
    """Return the glossary, in steps; raise PairwayError for wrong fields."""
    dictionaries = yield from _dictionaries(fields)
    if not dictionaries:
        raise BadRequestError("Glossary dictionaries must be provided: dictionaries must have at least one.")
    return _draft(fields.members, dictionaries)


def read_edit(fields: Fields) -> Steps[GlossaryEdit]:
    """Return the changes, in steps; raise PairwayError for wrong fields."""
    name, dictionaries = fields.members.get("name"), (yield from _dictionaries(fields))
    if name is not None:
        name = GLOSSARY_READER.validated({"name": name}, GlossaryChanges).name
    elif not dictionaries:
        raise BadRequestError("Nothing to change: send name, or dictionaries with entries to add.")
    return GlossaryEdit(name, _merged(dictionaries))


def read_only_dictionary(fields: Fields) -> Steps[Dictionary]:
    """Return the dictionary of these fields; PairwayError if one is wrong."""
    return (yield from _read_dictionary(fields.members, EntryReader(tag_of)))


def _read_dictionary(members: Mapping[str, object], lines: EntryReader) -> Steps[Dictionary]:
    """Return the dictionary of these members; PairwayError if one is wrong."""
    pair = read_pair(members)
    if pair.source == pair.target:
        raise BadRequestError(f"Unsupported glossary source and target language pair: both are {pair.source}.")
    for name, tag in zip(("source_lang", "target_lang"), pair, strict=True):
        if not is_registered(tag):
            raise BadRequestError(f"Value for '{name}' not supported: no language has the code {tag}.")
    entries_format = TSV if members.get("entries_format") in (None, "") else _string(members, "entries_format")
    if entries_format not in FORMATS:
        raise BadRequestError(
            f"Value for 'entries_format' not supported: {entries_format[:_SHOWN_CHARS]!r}; it must be {' or '.join(FORMATS)}."
        )
    entries = yield from lines.read(_string(members, "entries"), entries_format, pair)
    return Dictionary.model_construct(source_lang=pair.source, target_lang=pair.target, entries=entries)


def read_pair(members: Mapping[str, object]) -> LanguagePair:
    """Return the pair of source_lang and target_lang; raise PairwayError without one."""
    codes = {name: _string(members, name) for name in ("source_lang", "target_lang")}
    return LanguagePair(*(parse_code(code, name) for name, code in codes.items()))


def ignored_names(fields: Fields, known: Sequence[str]) -> list[str]:
    """Return the names of members that have no effect."""
    return [name for name in fields.members if name not in known and not _IN_FORM.fullmatch(name)]


def _draft(members: Mapping[str, object], dictionaries: Sequence[Dictionary]) -> GlossaryDraft:
    named = {} if members.get("name") is None else {"name": members["name"]}
    return GLOSSARY_READER.validated({**named, "dictionaries": list(dictionaries)}, GlossaryDraft)


def _dictionaries(fields: Fields) -> Steps[list[Dictionary]]:
    value = fields.members.get("dictionaries")
    if value is None and not fields.is_json:
        value = _in_form(fields.members)
    if value is None:
        return []
    # deepl-mock and PHP clients know a single one without a list.
    each = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(each) > MAX_DICTIONARIES:
        raise TooLargeError("The glossary", size=len(each), limit=MAX_DICTIONARIES, unit="dictionaries")
    for index, item in enumerate(each):
        if not isinstance(item, dict):
            raise BadRequestError(f"Value for 'dictionaries' not supported: item {index} is not an object.")
    lines, read = EntryReader(tag_of), list[Dictionary]()
    for item in each:
        read.append((yield from _read_dictionary(cast("dict[str, object]", item), lines)))
    return read


def _merged(dictionaries: Sequence[Dictionary]) -> list[Dictionary]:
    """Return one dictionary for each pair; of equal sources the last counts.

    Otherwise each would copy the entries, on the event loop.
    """
    merged: dict[LanguagePair, Dictionary] = {}
    for each in dictionaries:
        merged.setdefault(each.pair, each).entries.update(each.entries)
    return list(merged.values())


def _in_form(members: Mapping[str, object]) -> list[object]:
    """Return the dictionaries in a form's names, in their order."""
    found: dict[int, dict[str, object]] = {}
    for name, value in members.items():
        if match := _IN_FORM.fullmatch(name):
            found.setdefault(int(match[1]), {})[match[2] or match[3]] = value
    return [found[index] for index in sorted(found)]


def _string(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    if value is None or value == "":
        raise BadRequestError(f"Parameter '{name}' not specified.")
    if not isinstance(value, str):
        raise BadRequestError(f"Value for '{name}' not supported: it must be one string.")
    return value


# --- endpoints ---------------------------------------------------------------------------------------------------------

_CREATED: Final = 201
_NO_CONTENT: Final = 204
_TSV_TYPE: Final = "text/tab-separated-values"
_ACCEPTED: Final = frozenset({_TSV_TYPE, "text/*", "*/*"})
_V2_FIELDS: Final = ("name", *DICTIONARY_FIELDS)
_V3_FIELDS: Final = ("name", "dictionaries")


class GlossaryCall:
    """One call of an owner, perhaps of one glossary."""

    __slots__ = ("_shown_id", "exchange", "owner", "store")

    def __init__(self, exchange: RequestExchange, shown_id: str) -> None:
        self.exchange = exchange
        self.owner = exchange.glossary_owner
        self.store = exchange.parts.glossaries.store
        self._shown_id = shown_id

    @property
    def glossary_id(self) -> str:
        """The id of the glossary, also for the log; or PairwayError."""
        glossary_id = parse_id(self._shown_id)
        self.exchange.peer.add_log_fields(glossary=glossary_id)
        return glossary_id

    async def done(self, work: Awaitable[T]) -> T:
        """Return what the store does, before the deadline."""
        return await self.exchange.before_deadline(work)

    async def read(self, reader: Callable[[Fields], Steps[T]], known: Sequence[str]) -> T:
        """Read the body; report unknown fields; raise PairwayError if it is wrong."""
        exchange = self.exchange
        body = await exchange.read_body(min(GLOSSARY_BODY_BYTES, exchange.parts.settings.max_bodies_bytes))
        if not body:
            raise BadRequestError(f"The body is empty: send {', '.join(known)} in it, as JSON or as a form.")
        return await self.done(self._parse(body, reader, known))

    async def _parse(self, body: bytes, reader: Callable[[Fields], Steps[T]], known: Sequence[str]) -> T:
        exchange = self.exchange
        async with self.store.reading.held(self.owner.name):
            fields = await parse_fields(exchange, BodyFormat(READER), body)
            note_ignored(exchange, ignored_names(fields, known))
            return await exchange.in_steps(body, reader(fields))

    async def info(self) -> GlossaryInfo:
        """Return the glossary without its entries."""
        return await self.done(self.store.info(self.owner, self.glossary_id))

    async def glossary(self) -> Glossary:
        """Return the glossary."""
        return await self.done(self.store.read(self.owner, self.glossary_id))

    async def update(self, change: Callable[[Glossary], Glossary]) -> Glossary:
        """Change the glossary."""
        return await self.done(self.store.update(self.owner, self.glossary_id, change))


class Version(NamedTuple):
    """A version's form: ``fields`` of a new one, ``shape`` of its JSON."""

    fields: Sequence[str]
    read_draft: Callable[[Fields], Steps[GlossaryDraft]]
    shape: Callable[[GlossaryInfo], dict[str, object]]


async def create(version: Version, call: GlossaryCall) -> Response:
    """Answer ``POST``."""
    draft = await call.read(version.read_draft, version.fields)
    created = await call.done(call.store.create(call.owner, draft))
    return _json(version.shape(created.info), _CREATED)


async def list_all(version: Version, call: GlossaryCall) -> Response:
    """Answer ``GET``: those that the version can show."""
    listed = await call.done(call.store.list_all(call.owner))
    shown = [version.shape(info) for info in listed if version is V3 or len(info.dictionaries) == 1]
    return _json({"glossaries": shown})


async def show(version: Version, call: GlossaryCall) -> Response:
    """Answer ``GET ID``."""
    return _json(version.shape(await call.info()))


async def show_v2_entries(call: GlossaryCall) -> Response:
    """Answer ``GET /v2/glossaries/ID/entries``."""
    accepted = (call.exchange.peer.headers.get("accept") or "*/*").lower().split(",")
    if _ACCEPTED.isdisjoint(each.partition(";")[0].strip() for each in accepted):
        raise UnsupportedMediaError(f"Entries are answered as {_TSV_TYPE}; Accept must have it or */*.")
    glossary = await call.glossary()
    only = _only_dictionary(glossary.info)
    dictionary = glossary.dictionary(LanguagePair(only.source_lang, only.target_lang))
    return Response(to_tsv(dictionary.entries), media_type=f"{_TSV_TYPE}; charset=UTF-8")


async def delete_v2(call: GlossaryCall) -> Response:
    """Answer ``DELETE /v2/glossaries/ID``; as DeepL's, not for several dictionaries."""
    _only_dictionary(await call.info())
    return await delete(call)


async def delete(call: GlossaryCall) -> Response:
    """Answer ``DELETE /v3/glossaries/ID``."""
    await call.done(call.store.delete(call.owner, call.glossary_id))
    return Response(status_code=_NO_CONTENT)


async def edit(call: GlossaryCall) -> Response:
    """Answer ``PATCH /v3/glossaries/ID``: a name, and entries to merge."""
    changes = await call.read(read_edit, _V3_FIELDS)
    return _json(_v3((await call.update(changes.apply)).info))


async def show_v3_entries(call: GlossaryCall) -> Response:
    """Answer ``GET /v3/glossaries/ID/entries``, of one pair."""
    pair = read_pair(query_fields(call.exchange).members)
    dictionary = (await call.glossary()).dictionary(pair)
    entries = {"entries": to_tsv(dictionary.entries), "entries_format": TSV}
    return _json({"dictionaries": [_languages(dictionary) | entries]})


async def replace_dictionary(call: GlossaryCall) -> Response:
    """Answer ``PUT /v3/glossaries/ID/dictionaries``."""
    dictionary = await call.read(read_only_dictionary, DICTIONARY_FIELDS)
    await call.update(lambda before: before.with_dictionary(dictionary))
    return _json(_languages(dictionary) | {"entry_count": len(dictionary.entries)})


async def delete_dictionary(call: GlossaryCall) -> Response:
    """Answer ``DELETE /v3/glossaries/ID/dictionaries``, of one pair."""
    pair = read_pair(query_fields(call.exchange).members)
    await call.update(lambda before: before.without_dictionary(pair))
    return Response(status_code=_NO_CONTENT)


def _only_dictionary(info: GlossaryInfo) -> DictionaryInfo:
    if len(info.dictionaries) != 1:
        raise BadRequestError(
            f"Version 2 knows glossaries of one dictionary, and this one has {len(info.dictionaries)}: use /v3/glossaries."
        )
    return info.dictionaries[0]


def _v2(info: GlossaryInfo) -> dict[str, object]:
    """Return version 3's form with the only dictionary's members."""
    only, in_v3 = _only_dictionary(info), _v3(info)
    del in_v3["dictionaries"]
    created = in_v3.pop("creation_time")
    return {**in_v3, "ready": True, **_counted(only), "creation_time": created}


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


def _json(answer: Mapping[str, object], status: int = 200) -> Response:
    response = JsonBytesResponse(to_json(answer))
    response.status_code = status
    return response


def render_pairs(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    """Return the JSON of the served pairs, without variants."""
    pairs = {
        (base_code(source), base_code(target))
        for source, targets in known_targets(snapshot, pivots).items()
        for target in targets
        if base_code(source) != base_code(target)
    }
    listed = [{"source_lang": source, "target_lang": target} for source, target in sorted(pairs)]
    return to_json({"supported_languages": listed})


V2: Final = Version(_V2_FIELDS, read_v2_draft, _v2)
V3: Final = Version(_V3_FIELDS, read_v3_draft, _v3)


def _entered(serve: Callable[[GlossaryCall], Awaitable[Response]]) -> Handler:
    """Return a handler that first identifies the owner."""

    async def handle(request: Request) -> Response:
        with exchange_of(request) as exchange:
            await exchange.identify(header_authorization(exchange.peer))
            return await serve(GlossaryCall(exchange, request.path_params.get("glossary_id", "")))

    return handle


def _routes() -> Iterator[CompatRoute]:
    """Yield the routes of both versions, and those that only one has."""

    def route(method: str, path: str, serve: Callable[[GlossaryCall], Awaitable[Response]]) -> CompatRoute:
        return CompatRoute((method,), path, _entered(serve), at_root=True)

    for version, base in ((V2, "/v2/glossaries"), (V3, "/v3/glossaries")):
        one = f"{base}/{{glossary_id}}"
        yield route("GET", base, partial(list_all, version))
        yield route("POST", base, partial(create, version))
        yield route("GET", one, partial(show, version))
        yield route("DELETE", one, delete_v2 if version is V2 else delete)
        yield route("GET", f"{one}/entries", show_v2_entries if version is V2 else show_v3_entries)
    yield route("PATCH", one, edit)
    yield route("PUT", f"{one}/dictionaries", replace_dictionary)
    yield route("DELETE", f"{one}/dictionaries", delete_dictionary)


ROUTES: Final = tuple(_routes())
