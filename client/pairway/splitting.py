"""Splitting: lists into requests that the server accepts, long texts at paragraphs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from .answers import Translation, TranslationWarning

# Where a text is best cut: behind a paragraph, a line, a sentence, a word.
_CUTS: Final = (re.compile(r"\n\s*\n\s*"), re.compile(r"\n\s*"), re.compile(r"(?<=[.!?。！？])\s*"), re.compile(r"\s+"))
# Of JSON around the texts: brackets and names of members.
FRAME_BYTES: Final = 64
# Of a character in JSON, where it is escaped; and of a text's quotes and comma.
MAX_CHARACTER_BYTES, TEXT_FRAME_BYTES = 6, 3
# Units of a 413 that are limits of requests.
_UNITS: Final = frozenset({"texts", "characters", "bytes"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request; the defaults are those of docs/api.md."""

    texts: int = 256
    characters: int = 200_000
    bytes: int = 2 << 20
    targets: int = 10

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> Self:
        """Return the limits that ``GET /languages`` names; missing ones are the defaults."""
        known = {name: members[name] for name in cls.__slots__ if isinstance(members.get(name), int)}
        return cls(**{name: max(1, value) for name, value in known.items()})

    def lowered(self, problem: Mapping[str, Any]) -> Self | None:
        """Return the limits after a 413, None if it teaches nothing."""
        name, limit = problem.get("unit"), problem.get("limit")
        # The figure of a key's day or month has the same unit.
        if name not in _UNITS or "key" in str(problem.get("detail")):
            return None
        if not isinstance(limit, int) or not 0 < limit < getattr(self, name):
            return None
        return replace(self, **{name: limit})


@dataclass(slots=True)
class Piece:
    """Part of a text; white space ``gap`` follows it."""

    text: str
    gap: str = ""


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode(value: object) -> bytes:
    """Return JSON in UTF-8; lone surrogates are escaped."""
    return _ENCODER.encode(value).encode(errors="backslashreplace")  # which is JSON's escape too


def pieces_of(text: str, limits: Limits, option_bytes: int) -> list[Piece]:
    """Return a text in pieces that are each below the limits."""
    most_bytes = limits.bytes - option_bytes - FRAME_BYTES
    left, pieces = [(text, "")], list[Piece]()
    while left:
        part, gap = left.pop()
        most = min(limits.characters, len(part) - 1 if len(encode(part)) > most_bytes else len(part))
        if len(part) <= most or len(part) < 2:
            pieces.append(Piece(part, gap))
            continue
        head, between, tail = _cut(part, min(limits.characters, max(1, len(part) // 2)))
        left += [(tail, gap), (head, between)] if tail else [(head, between + gap)]
    return pieces


def _cut(text: str, most: int) -> tuple[str, str, str]:
    """Return a text's head, the white space behind it, and the tail."""
    for pattern in _CUTS:
        found = None
        for found in pattern.finditer(text, most // 2, most):  # noqa: B007 -- the last one counts
            pass
        if found is not None and found.start() > 0:
            return text[: found.start()], found[0], text[found.end() :]
    return text[:most], "", text[most:]


def batches_of(texts: Sequence[str], most_texts: int, most_bytes: int) -> Iterator[range]:
    """Yield ranges of neighbours that fit into one request, at least one."""
    # Sizes are counted only where the longest texts of a request could be too large together: that is rare, and costs as
    # much as the rest of a call.
    longest = max(map(len, texts), default=0) * MAX_CHARACTER_BYTES + TEXT_FRAME_BYTES
    if longest * min(most_texts, len(texts)) <= most_bytes:
        yield from (range(begin, min(begin + most_texts, len(texts))) for begin in range(0, len(texts), most_texts))
        return
    begin = total = 0
    for place, text in enumerate(texts):
        size = len(encode(text)) + 1
        if place > begin and (place - begin >= most_texts or total + size > most_bytes):
            yield range(begin, place)
            begin, total = place, 0
        total += size
    if begin < len(texts):
        yield range(begin, len(texts))


def put_together(pieces: Sequence[Piece], results: Sequence[Translation]) -> Translation:
    """Return the translation of a text from those of its pieces.

    It has no alternatives; its confidence is that of the least sure piece.
    """
    if len(results) == 1:
        return results[0]
    failed = next((each for each in results if each.text is None), None)
    first = failed or results[0]
    warnings: dict[str, TranslationWarning] = {}
    for warning in (each for result in results for each in result.warnings):
        warnings.setdefault(warning.code, warning)
    known = [each.confidence for each in results if each.confidence is not None]
    text = None if failed else "".join(f"{each}{piece.gap}" for piece, each in zip(pieces, results, strict=True))
    return Translation(
        text,
        first.source,
        first.target,
        first.model,
        first.route,
        first.detected,
        min(known) if len(known) == len(results) else None,
        warnings=list(warnings.values()),
        error=first.error,
    )
