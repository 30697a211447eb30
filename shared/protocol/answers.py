"""Answers: translations and problems, the same in both servers."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field


class Detected(BaseModel):
    """Detected language of a text, with a confidence (0..1)."""

    lang: str
    confidence: float


class Notice(BaseModel):
    """Warning about one translation; ``code`` is stable."""

    code: str
    message: str


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
