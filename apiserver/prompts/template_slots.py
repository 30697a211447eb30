"""Template slots: slots in braces, filled so that no value becomes template.

A value that differs between texts is a sentinel until the rendered prompt is cut there, so it is never searched.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from string import Formatter
from typing import Final

# Sentinels, which no template may contain.
TEXT: Final = "\ue000"
TERMS: Final = "\ue001"
DELIMITER: Final = "\ue002"
TERM: Final = "\ue003"
TRANSLATION: Final = "\ue004"
CONTEXT: Final = "\ue005"
_SENTINELS: Final = re.compile(f"([{TEXT}-{CONTEXT}])")

# The tags around a text; if the text contains the name, a number follows.
DELIMITER_NAME: Final = "source_text"
_NAMES_WITHIN: Final = re.compile(DELIMITER_NAME + "([0-9]{0,9})", re.IGNORECASE)


class PromptError(ValueError):
    """A prompt cannot be rendered for this model or pair."""


def slots_of(template: str) -> Counter[str]:
    """Count a template's slots by name; ``{{`` and ``}}`` are braces.

    Raises:
        PromptError: an open brace, a slot that is more than a name, or a sentinel.
    """
    if _SENTINELS.search(template):
        raise PromptError("a prompt cannot contain the private-use characters U+E000 to U+E005")
    counts: Counter[str] = Counter()
    try:
        fields = list(Formatter().parse(template))
    except ValueError as error:
        raise PromptError(f"{error}; write {{{{ and }}}} for braces that are not slots") from error
    for _, name, form, conversion in fields:
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise PromptError(f"{{{name}}} is not a slot; a slot is a name in braces, and {{{{ writes a brace")
        counts[name] += 1
    return counts


def with_slots(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its slots filled.

    Raises:
        PromptError: a malformed template, or a slot that ``values`` lacks.
    """
    if unknown := sorted(slots_of(template).keys() - values.keys()):
        raise PromptError(f"{{{unknown[0]}}} is not a slot here; slots are {', '.join(sorted(values))}")
    return "".join(
        literal + ("" if name is None else values[name]) for literal, name, _, _ in Formatter().parse(template)
    )


def sentinels_in(rendered: str) -> Counter[str]:
    """Count the sentinels."""
    return Counter(_SENTINELS.findall(rendered))


def cut(rendered: str) -> tuple[str, ...]:
    """Split into fixed parts and sentinels."""
    return tuple(part for part in _SENTINELS.split(rendered) if part)


def filled(parts: tuple[str, ...], values: Mapping[str, str]) -> str:
    """Join the parts of ``cut``, with ``values`` in place of the sentinels."""
    return "".join(values.get(part, part) for part in parts)


def delimiter_for(text: str) -> str:
    """Return a tag name that the text does not contain (case-insensitive).

    It takes at most one try more than occurrences: linear time.
    """
    taken = set(_NAMES_WITHIN.findall(text))
    if not taken:
        return DELIMITER_NAME
    free = (number for number in range(2, len(taken) + 3) if str(number) not in taken)
    return f"{DELIMITER_NAME}{next(free)}"
