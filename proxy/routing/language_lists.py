"""Language lists: what a fleet translates, in the forms of all APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder, pivot_pairs
from shared.languages import LanguagePair

# Renders one form of the list; each is a function of a module.
Render = Callable[[Snapshot, PivotOrder | None], bytes]


class LanguageLists:
    """Rendered lists of languages, kept until the ready pairs change."""

    def __init__(self, pivots: PivotOrder | None) -> None:
        self._pivots = pivots
        self._ready: object = None
        self._lists: dict[Render, asyncio.Task[bytes]] = {}

    async def get(self, render: Render, snapshot: Snapshot) -> bytes:
        """Return the list in this form; requests at once share one rendering."""
        if self._ready is not snapshot.ready:
            self._ready, self._lists = snapshot.ready, {}
        rendering = self._lists.get(render)
        if rendering is None or (rendering.done() and (rendering.cancelled() or rendering.exception() is not None)):
            # In a thread, because 100 languages take 50 ms; it is Python, which lets the event loop in every 5 ms.
            rendering = asyncio.create_task(asyncio.to_thread(render, snapshot, self._pivots))
            self._lists[render] = rendering
        return await asyncio.shield(rendering)  # whose client leaves, does not take the list from others


class Target(BaseModel):
    """A target language, whether it can be served now, and how."""

    lang: str
    ready: bool
    how: Literal["direct", "pivot"] = Field(description="By one model, or by two through a third language.")
    pivot: str | None = Field(description="The third language; null if direct.")


class Language(BaseModel):
    """A source language and its targets."""

    lang: str
    targets: list[Target]


class RequestLimits(BaseModel):
    """Limits of one request, at which clients split what is larger."""

    texts: int = Field(description="Most texts in a list.")
    characters: int = Field(description="Most characters in one text.")
    bytes: int = Field(description="Most bytes of the body.")
    targets: int = Field(description="Most target languages.")


class Languages(BaseModel):
    """The answer to ``GET /languages``."""

    languages: list[Language]
    limits: RequestLimits


def languages_render(limits: RequestLimits) -> Render:
    """Return what renders ``Languages`` as JSON, with these limits."""
    return partial(_languages, limits.model_dump())


def _languages(limits: dict[str, int], snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    """Render ``Languages``: targets are direct or through a pivot."""
    targets: dict[LanguagePair, dict[str, object]] = {
        pair: {"lang": pair.target, "ready": bool(urls), "how": "direct", "pivot": None}
        for pair, urls in snapshot.ready.items()
    }
    for pair, (pivot, ready) in pivot_pairs(snapshot, pivots).items() if pivots is not None else ():
        if ready or pair not in targets:
            targets[pair] = {"lang": pair.target, "ready": ready, "how": "pivot", "pivot": pivot}
    by_source: dict[str, list[dict[str, object]]] = {}
    for pair in sorted(targets):
        by_source.setdefault(pair.source, []).append(targets[pair])
    listed = [{"lang": lang, "targets": each} for lang, each in by_source.items()]
    return to_json({"languages": listed, "limits": limits})
