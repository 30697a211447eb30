"""Calls of the API: each described once, for both clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Unpack, overload
from urllib.parse import quote

from .answers import Detection, Glossary, Health, SourceLanguage, Translation, Usage
from .exchange import Session, decoded, exchange
from .splitting import encode
from .steps import ApiRequest, Call, Reply
from .translate_call import StreamOptions, Texts, body_members, body_of, headers_of, understood

T = TypeVar("T")


def ask(
    session: Session,
    method: str,
    path: str,
    body: object = None,
    *,
    timeout: float | None = None,
    safe: bool = True,
    accepted: frozenset[int] = frozenset(),
) -> Call[dict[str, Any]]:
    """Send one request and return the answer's members."""
    content = None if body is None else encode(body)
    request = ApiRequest(method, path, content, safe=safe, accepted=accepted)
    reply = yield from exchange(session, request, session.deadline(timeout))
    return decoded(reply) if reply.body else {}


@dataclass(slots=True)
class StreamPlan(Generic[T]):
    """A stream before it is opened; ``one``: its result is one translation."""

    opening: Call[Reply]
    one: bool
    deadline: float


@overload
def stream(session: Session, text: str, *, to: str, **options: Unpack[StreamOptions]) -> StreamPlan[Translation]: ...
@overload
def stream(
    session: Session, text: Texts, *, to: str, **options: Unpack[StreamOptions]
) -> StreamPlan[list[Translation]]: ...
def stream(session: Session, text: str | Texts, *, to: str, **options: Unpack[StreamOptions]) -> StreamPlan[Any]:
    """Translate as a stream: iterate over its deltas, then read ``result``.

    Raises:
        PairwayError: the server refused or failed, the deadline passed, or the stream was cut.
    """
    headers = {**headers_of(options), "Accept": "text/event-stream"}
    request = ApiRequest("POST", "/translate", body_of(encode(text), body_members(to, options)), headers)
    deadline = session.deadline(options.get("timeout"))
    return StreamPlan(exchange(session, request, deadline, opens=True), isinstance(text, str), deadline)


@overload
def detect(session: Session, text: str, *, timeout: float | None = None) -> Call[Detection]: ...
@overload
def detect(session: Session, text: Texts, *, timeout: float | None = None) -> Call[list[Detection]]: ...
def detect(session: Session, text: str | Texts, *, timeout: float | None = None) -> Call[Any]:
    """Detect the language of a text, or of each of a list."""
    found = yield from ask(session, "POST", "/detect", {"text": text}, timeout=timeout)
    with understood():
        return Detection.of(found) if isinstance(text, str) else [Detection.of(each) for each in found["results"]]


def languages(session: Session) -> Call[list[SourceLanguage]]:
    """List the languages that the server translates from, with their targets."""
    found = yield from ask(session, "GET", "/languages")
    with understood():
        return [SourceLanguage.of(each) for each in found["languages"]]


def usage(session: Session) -> Call[Usage]:
    """Show the limits of your key, and its usage."""
    found = yield from ask(session, "GET", "/usage")
    with understood():
        return Usage.of(found)


def health(session: Session) -> Call[Health]:
    """Show the fleet's health; one that is down is an answer too."""
    found = yield from ask(session, "GET", "/health", accepted=frozenset({503}))
    with understood():
        return Health.of(found)


def glossaries(session: Session) -> Call[list[Glossary]]:
    """List your glossaries, the oldest first."""
    found = yield from ask(session, "GET", "/glossaries")
    with understood():
        return [Glossary.of(each) for each in found["glossaries"]]


def glossary(session: Session, glossary_id: str) -> Call[Glossary]:
    """Return a glossary, without its entries."""
    return (yield from _glossary(session, "GET", _path(glossary_id)))


def create_glossary(
    session: Session, name: str, entries: Mapping[tuple[str, str], Mapping[str, str]] | None = None
) -> Call[Glossary]:
    """Create a glossary with entries of language pairs: ``{("en", "de"): {"invoice": "Rechnung"}}``."""
    dictionaries = [
        {"source_lang": source, "target_lang": target, "entries": dict(each)}
        for (source, target), each in (entries or {}).items()
    ]
    body = {"name": name, "dictionaries": dictionaries}
    return (yield from _glossary(session, "POST", "/glossaries", body, safe=False))


def rename_glossary(session: Session, glossary_id: str, name: str) -> Call[Glossary]:
    """Rename a glossary."""
    return (yield from _glossary(session, "PATCH", _path(glossary_id), {"name": name}))


def delete_glossary(session: Session, glossary_id: str) -> Call[None]:
    """Delete a glossary."""
    yield from ask(session, "DELETE", _path(glossary_id), safe=False)


def glossary_entries(session: Session, glossary_id: str, source: str, target: str) -> Call[dict[str, str]]:
    """Return the entries of a glossary for a language pair."""
    found = yield from ask(session, "GET", _path(glossary_id, source, target))
    with understood():
        entries: dict[str, str] = found["entries"]
        return entries


def add_glossary_entries(
    session: Session, glossary_id: str, source: str, target: str, entries: Mapping[str, str]
) -> Call[Glossary]:
    """Add entries to a glossary, replacing those of the same sources."""
    path, body = _path(glossary_id, source, target), {"entries": dict(entries)}
    return (yield from _glossary(session, "PATCH", path, body))


def replace_glossary_entries(
    session: Session, glossary_id: str, source: str, target: str, entries: Mapping[str, str]
) -> Call[Glossary]:
    """Write all entries of a glossary for a language pair."""
    path, body = _path(glossary_id, source, target), {"entries": dict(entries)}
    return (yield from _glossary(session, "PUT", path, body))


def delete_glossary_entries(session: Session, glossary_id: str, source: str, target: str) -> Call[Glossary]:
    """Delete a glossary's entries for a language pair."""
    return (yield from _glossary(session, "DELETE", _path(glossary_id, source, target), safe=False))


def _glossary(session: Session, method: str, path: str, body: object = None, *, safe: bool = True) -> Call[Glossary]:
    found = yield from ask(session, method, path, body, safe=safe)
    with understood():
        return Glossary.of(found)


def _path(glossary_id: str, *pair: str) -> str:
    parts = ["glossaries", glossary_id, *(("dictionaries", *pair) if pair else ())]
    return "/" + "/".join(quote(part, safe="") for part in parts)
