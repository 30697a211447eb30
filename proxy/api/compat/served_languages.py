"""Served languages: sources with their targets, once the whole fleet is known."""

from __future__ import annotations

import time
from typing import Final

from fastapi import Request

from proxy.context import ProxyContext, context
from proxy.fleet.registry import Registry
from proxy.fleet.snapshot import Snapshot
from proxy.routing.language_lists import Render
from proxy.routing.routes import PAIR_RETRY_SECONDS, Pivots, pivot_pairs
from shared.protocol.errors import PairUnavailableError

# An API server without a report by then is taken as absent; a cold one reports within a minute.
MAX_START_SECONDS: Final = 300.0


class LanguagesUnknownError(PairUnavailableError, status=500, code="pair-unavailable", title="Languages not known yet"):
    """The fleet is starting, so a list of languages would be partial.

    Not 503: for that, Weblate stops asking for half an hour.
    """

    def __init__(self, why: str) -> None:
        super().__init__("The list of languages", why, retry_after=PAIR_RETRY_SECONDS)


async def served_list(request: Request, render: Render) -> bytes:
    """Return the list of served languages in one API's form.

    Pairs whose replicas are away are listed as long as the fleet knows them. Clients keep the list for days, so it is
    never partial.

    Raises:
        LanguagesUnknownError: the fleet is starting.
    """
    parts = context(request)
    if why := _incomplete(parts):
        raise LanguagesUnknownError(why)
    return await parts.translation.language_lists.get(render, parts.fleet.registry.snapshot)


def known_targets(snapshot: Snapshot, pivots: Pivots | None) -> dict[str, list[str]]:
    """Return the targets of each source language, sorted; pivots included."""
    pairs = set(snapshot.ready)
    if pivots is not None:
        pairs.update(pivot_pairs(snapshot, pivots))
    targets: dict[str, list[str]] = {}
    for pair in sorted(pairs):
        targets.setdefault(pair.source, []).append(pair.target)
    return targets


def silent_urls(registry: Registry) -> list[str]:
    """Return the fleet's URLs of which no address has ever reported.

    Services of which operators expect no replica are omitted.
    """
    reported = {
        name
        for url, names in registry.names.items()
        if (replica := registry.snapshot.replicas.get(url)) is not None and replica.report is not None
        for name in names
    }
    named = {name for names in registry.names.values() for name in names}
    return [
        url
        for url in registry.fleet_urls()
        if url in named and url not in reported and not registry.expected.is_retired(url)
    ]


def _incomplete(parts: ProxyContext) -> str | None:
    """Return why languages may be missing, or None."""
    registry, startup = parts.fleet.registry, parts.fleet.startup
    if not registry.swept.is_set():
        return "this proxy has not asked all API servers yet"
    if not registry.snapshot.ready:
        return "no API server has reported a language pair yet"
    if time.time() - parts.process.started_at > MAX_START_SECONDS:
        return None
    if silent := silent_urls(registry):
        return f"{len(silent)} of {len(registry.fleet_urls())} API servers have not reported yet"
    return None if startup.complete else f"{len(startup.missing)} language pairs have yet to start"
