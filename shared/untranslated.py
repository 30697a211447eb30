"""Answers for texts that come back as they came: nothing of them needs a translation, or they have the language already."""

from __future__ import annotations

from shared.wire import Detected, Notice, Translation


def unchanged(text: str, source: str | None, target: str, detected: Detected | None = None) -> Translation:
    """Return a text as its own translation; ``source`` is None where it has no language to tell."""
    return Translation(
        translation=text,
        source_lang=source,
        target_lang=target,
        model=None,
        route=[target] if source is None else [source, target],
        detected=detected,
    )


def same_language(text: str, source: str, target: str, detected: Detected | None = None) -> Translation:
    """Return a text that is in the target language already, and say so."""
    notice = Notice(code="same-language", message="The text is in the target language already.")
    return unchanged(text, source, target, detected).model_copy(update={"warnings": [notice]})
