"""The JSON of ``GET /languages``."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field
from pydantic_core import to_json

from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder, pivot_pairs
from shared.languages import LanguagePair


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


class Languages(BaseModel):
    """The answer to ``GET /languages``."""

    languages: list[Language]


def languages(snapshot: Snapshot, pivots: PivotOrder | None) -> bytes:
    """Return ``Languages`` as JSON: targets are direct or through a pivot."""
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
    return to_json({"languages": [{"lang": lang, "targets": each} for lang, each in by_source.items()]})
