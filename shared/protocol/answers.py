"""Answers: translations and problems, the same in both servers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from operator import is_, not_
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

# Enough to find the place in the text; more would repeat the text.
MAX_VALUES: Final = 8
MAX_VALUE_CHARS: Final = 64

# The warning of a text that is withheld because of ``min_confidence``.
LOW_CONFIDENCE: Final = "low-confidence"
# jiter, which parses JSON, would keep strings of up to 64 bytes, so words of texts.
KEEPS_NO_WORDS: Final = ConfigDict(cache_strings="none")
# A text that needs no translation is returned as it is.
CONFIDENCE_OF_UNCHANGED: Final = 1.0
# Uncertain parts of a translation; a long text has ten thousand sentences, and nobody reads more marks.
MAX_UNCERTAIN: Final = 1000
# More would feign accuracy.
CONFIDENCE_DIGITS: Final = 3


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

    ``translation`` is null if no output was usable; a warning says why. Only if requested: ``alternatives``, the best
    first; ``confidence`` (0..1), and that of each alternative; ``uncertain``: [start, end) in characters of what to check,
    where the model is calibrated for it.
    """

    model_config = KEEPS_NO_WORDS

    translation: str | None
    alternatives: list[str] | None = None
    confidence: float | None = None
    alternatives_confidence: list[float] | None = None
    uncertain: list[tuple[int, int]] | None = Field(default=None, exclude_if=partial(is_, None))
    source_lang: str | None
    target_lang: str
    model: str | None
    route: list[str]
    detected: Detected | None = None
    warnings: list[Notice] = Field(default_factory=list[Notice], json_schema_extra={"default": []})

    def to_json(self) -> bytes:
        """Return the JSON; members that only some requests have, if set."""
        omitted = _OMITTED[self.alternatives is None, self.confidence is None, self.detected is None]
        return self.model_dump_json(exclude=omitted).encode()

    def with_confidence(self) -> Translation:
        """Return this answer with a confidence, as unchanged texts lack one."""
        update: dict[str, object] = {}
        if self.confidence is None:
            update["confidence"] = CONFIDENCE_OF_UNCHANGED
        if self.alternatives is not None and self.alternatives_confidence is None:
            update["alternatives_confidence"] = [CONFIDENCE_OF_UNCHANGED] * len(self.alternatives)
        return self.model_copy(update=update) if update else self

    def at_least(self, confidence: float) -> Translation:
        """Return this answer, without texts of lower confidence."""
        if self.translation is None or self.confidence is None:
            return self
        if self.confidence < confidence:
            message = f"The confidence, {self.confidence:g}, is lower than min_confidence, {confidence:g}."
            notice = Notice(code=LOW_CONFIDENCE, message=message)
            kept: list[tuple[str, float]] = []
            update: dict[str, object] = {"translation": None, "uncertain": None, "warnings": [notice, *self.warnings]}
        else:
            kept = [each for each in self._scored_alternatives if each[1] >= confidence]
            update = {}
        if self.alternatives is not None:
            update["alternatives"] = [text for text, _ in kept]
            update["alternatives_confidence"] = [score for _, score in kept]
        return self.model_copy(update=update) if update else self

    @property
    def _scored_alternatives(self) -> list[tuple[str, float]]:
        return list(zip(self.alternatives or (), self.alternatives_confidence or (), strict=True))


# By whether there are no alternatives, no confidence, no detected language.
_OMITTED: Final = {
    (no_alternatives, no_confidence, no_detected): {
        *(("alternatives",) if no_alternatives else ()),
        *(("confidence",) if no_confidence else ()),
        *(("alternatives_confidence",) if no_alternatives or no_confidence else ()),
        *(("detected",) if no_detected else ()),
    }
    for no_alternatives in (False, True)
    for no_confidence in (False, True)
    for no_detected in (False, True)
}


class Translations(BaseModel):
    """Answer to a list, in the same order."""

    model_config = KEEPS_NO_WORDS

    results: list[Translation]


class Problem(BaseModel):
    """RFC 9457 problem details; ``code`` is stable, further members depend on it."""

    model_config = ConfigDict(extra="allow", cache_strings="none")

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
