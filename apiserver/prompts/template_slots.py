"""Templates: texts with slots in braces, filled so that no value is ever read as template.

A template is filled in two steps. What is the same for every text (the languages' names) is put in as strings. What
differs from text to text is a sentinel until the rendered prompt has been cut up at the sentinels; then the words are
put between the cuts, and what they hold is never looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from string import Formatter
from typing import Final

# Stand for the slots that differ from text to text while a template is rendered and cut. No template may hold them.
TEXT: Final = "\ue000"
TERMS: Final = "\ue001"
DELIMITER: Final = "\ue002"
TERM: Final = "\ue003"
TRANSLATION: Final = "\ue004"
_SENTINELS: Final = re.compile(f"([{TEXT}-{TRANSLATION}])")

# Names the tags around a text where a prompt delimits it. No text is likely to hold it; where one does, a number follows.
DELIMITER_NAME: Final = "source_text"
_NAMES_WITHIN: Final = re.compile(DELIMITER_NAME + "([0-9]{0,9})", re.IGNORECASE)


class PromptError(ValueError):
    """A prompt can not be rendered for this model or pair; the message says why and what would be right."""


def slots_of(template: str) -> Counter[str]:
    """Count the slots of a template by name; ``{{`` and ``}}`` are braces.

    Raises:
        PromptError: a brace is left open, a slot is more than a name, or a sentinel stands in the template.
    """
    if _SENTINELS.search(template):
        raise PromptError("the private-use characters U+E000 to U+E004 can not stand in a prompt")
    counts: Counter[str] = Counter()
    try:
        fields = list(Formatter().parse(template))
    except ValueError as error:
        raise PromptError(f"{error}; write {{{{ and }}}} for braces that are no slots") from error
    for _, name, form, conversion in fields:
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise PromptError(f"{{{name}}} is no slot; a slot is a name in braces, and {{{{ is a brace")
        counts[name] += 1
    return counts


def with_slots(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its slots filled.

    Raises:
        PromptError: the template is malformed, or has a slot that ``values`` has not.
    """
    if unknown := sorted(slots_of(template).keys() - values.keys()):
        raise PromptError(f"{{{unknown[0]}}} is no slot here; there are {', '.join(sorted(values))}")
    return "".join(
        literal + ("" if name is None else values[name]) for literal, name, _, _ in Formatter().parse(template)
    )


def sentinels_in(rendered: str) -> Counter[str]:
    """Count the sentinels."""
    return Counter(_SENTINELS.findall(rendered))


def cut(rendered: str) -> tuple[str, ...]:
    """Cut into what stays and the sentinels."""
    return tuple(part for part in _SENTINELS.split(rendered) if part)


def filled(parts: tuple[str, ...], values: Mapping[str, str]) -> str:
    """Join what ``cut`` returned, with ``values`` in the places of the sentinels."""
    return "".join(values.get(part, part) for part in parts)


def delimiter_for(text: str) -> str:
    """Return a name for the tags around the text that no tag within it has, whatever its case.

    The smallest number that does not follow the name in the text: there are fewer of those than occurrences.
    """
    taken = set(_NAMES_WITHIN.findall(text))
    if not taken:
        return DELIMITER_NAME
    free = (number for number in range(2, len(taken) + 3) if str(number) not in taken)
    return f"{DELIMITER_NAME}{next(free)}"
