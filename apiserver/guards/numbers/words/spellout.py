"""Numbers spelled out, by ICU's rules."""

from __future__ import annotations

from typing import Final

from icu4py.messageformat import MessageFormat

_SOFT_HYPHEN: Final = "\u00ad"


def spell_numbers(language: str, numbers: range) -> dict[str, int]:
    """Return numbers by their words: in small letters, with spaces for hyphens."""
    message = MessageFormat("{number, spellout}", language)
    return {
        message.format({"number": number}).replace(_SOFT_HYPHEN, "").replace("-", " ").lower(): number
        for number in numbers
    }
