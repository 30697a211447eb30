"""Answers: translations and problems, the same in both servers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from operator import not_
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

# Enough to find the place in the text; more would repeat the text.
MAX_VALUES: Final = 8
MAX_VALUE_CHARS: Final = 64


class Detected(BaseModel):
    """Detected language of a text, with a confidence (0..1)."""

    lang: str
    confidence: float


class Notice(BaseModel):
    """Warning about one translation; ``code`` is stable.

    ``values``, only if there are some, quote the source: they must not be logged.
    """

    code: str
    message: str
    values: list[str] = Field(
        default_factory=list[str], repr=False, exclude_if=not_, json_schema_extra={"maxItems": MAX_VALUES}
    )


class Translation(BaseModel):
    """Answer for one text.

    ``translation`` is null if no output was usable; a warning says why. ``alternatives``, only if requested, are the
    best first.
    """

    translation: str | None
    alternatives: list[str] | None = None
    source_lang: str | None
    target_lang: str
    model: str | None
    route: list[str]
    detected: Detected | None = None
    warnings: list[Notice] = Field(default_factory=list[Notice], json_schema_extra={"default": []})

    def to_json(self) -> bytes:
        """Return the JSON, with ``detected`` and ``alternatives`` only if set."""
        if self.alternatives is None:
            return self.model_dump_json(exclude=_NEITHER if self.detected is None else _NO_ALTERNATIVES).encode()
        return self.model_dump_json(exclude=_NO_DETECTED if self.detected is None else None).encode()


_NO_DETECTED: Final = {"detected"}
_NO_ALTERNATIVES: Final = {"alternatives"}
_NEITHER: Final = _NO_DETECTED | _NO_ALTERNATIVES


class Translations(BaseModel):
    """Answer to a list, in the same order."""

    results: list[Translation]


class Problem(BaseModel):
    """RFC 9457 problem details; ``code`` is stable, further members depend on it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str | None = None


def bounded_values(values: Iterable[str]) -> list[str]:
    """Return the first different values, cut to their limits."""
    return list(dict.fromkeys(value[:MAX_VALUE_CHARS] for value in values))[:MAX_VALUES]


def merge_notices(notices: Iterable[Notice], key: Callable[[Notice], Hashable]) -> list[Notice]:
    """Return the first notice of each key, with the values of all."""
    merged: dict[Hashable, Notice] = {}
    for notice in notices:
        first = merged.setdefault(key(notice), notice)
        if first is not notice and notice.values:
            values = bounded_values((*first.values, *notice.values))
            merged[key(notice)] = first.model_copy(update={"values": values})
    return list(merged.values())


def unchanged(text: str, source: str | None, target: str, detected: Detected | None = None) -> Translation:
    """Return a text as its own translation; ``source`` None: no language."""
    return Translation(
        translation=text,
        source_lang=source,
        target_lang=target,
        model=None,
        route=[target] if source is None else [source, target],
        detected=detected,
    )


def same_language(text: str, source: str, target: str, detected: Detected | None = None) -> Translation:
    """Return a text already in the target language, with a warning."""
    notice = Notice(code="same-language", message="The text is already in the target language.")
    return unchanged(text, source, target, detected).model_copy(update={"warnings": [notice]})
