"""The gate's share of the rows: every endpoint, and every text and model of the API server."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from tests.hostile.endpoints import TEXT_CHARS
from tests.hostile.measuring import Row

# Copies literals and has large segments, so most texts cost it most.
_EVERY_TEXT: Final = "hy-mt2 en-fr"
# The same fault in another member is the same input.
_MEMBER: Final = re.compile(r"^(JSON (?:long|list as|object as)) .*")
_TO_MODEL: Final = " to "
# Of the bodies of one endpoint the gate has every second one; bursts and heads are all there.
_EVERY: Final = 2
# An API server takes up to 0.1 ms for a character (each segment is checked many times): the sizes that the gate has time for.
_MODEL_CHARS: Final = 3_000
_MODEL_BYTES: Final = 131_072
_PROXY_CHARS: Final = 100_000


def sampled(rows: Iterable[Row]) -> list[Row]:
    """Return rows of each endpoint, of inputs that none before it has; each text for a model, and each model a text."""
    rows = list(rows)
    chosen = [*_of_endpoints(row for row in rows if _TO_MODEL not in row.name), *_of_models(rows)]
    return list(map(_shortened, chosen))


def is_head(row: Row) -> bool:
    """Return whether the input is in the head alone."""
    return row.name.startswith("head: ")


def _shortened(row: Row) -> Row:
    if is_head(row):
        return row
    if row.server != "apiserver":
        return replace(row, limit=_PROXY_CHARS, most=row.limit) if row.limit == TEXT_CHARS else row
    return replace(row, limit=min(row.limit, _MODEL_BYTES if "JSON" in row.name else _MODEL_CHARS), most=row.limit)


def _of_endpoints(rows: Iterable[Row]) -> Iterator[Row]:
    queues: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        queues.setdefault((row.server, row.endpoint), []).append(row)
    known: set[tuple[str, str]] = set()
    for number, ((server, _), queue) in enumerate(queues.items()):
        start = number % len(queue)  # each endpoint begins elsewhere in its list
        fresh: list[Row] = []
        for row in (*queue[start:], *queue[:start]):
            kind = server, _MEMBER.sub(r"\1", row.name)
            if kind not in known:
                known.add(kind)
                fresh.append(row)
        bodies = [row for row in fresh if row.copies == 1 and not is_head(row)]
        others = [row for row in fresh if row.copies > 1 or is_head(row)]
        yield from [*others, *bodies[::_EVERY]] or queue[start : start + 1]


def _of_models(rows: Iterable[Row]) -> Iterator[Row]:
    texts: dict[str, dict[str, Row]] = {}
    for row in rows:
        text, found, model = row.name.partition(_TO_MODEL)
        if found:
            texts.setdefault(text, {})[model] = row
    for number, models in enumerate(texts.values()):
        yield models[_EVERY_TEXT]
        others = [model for model in models if model != _EVERY_TEXT]
        if number < len(others):
            yield models[others[number]]
