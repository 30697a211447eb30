"""Telephone numbers: the same digits in the same order, in any groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Of a number with its country (ITU-T E.164).
MAX_DIGITS: Final = 15
MIN_DIGITS: Final = 7
_BETWEEN: Final = r"[ \u00a0\u202f./()‑–-]{0,3}"
# They begin with a plus or zero, or have the groups of North America.
_PHONE: Final = re.compile(
    r"(?<![\w.,:/-])(?<!\d[ \u00a0\u202f])(?:(?:\+|\(?0(?![.,:]))(?:[ \u00a0\u202f./()‑–-]{0,2}\d){5,15}"
    r"|(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}|\d{3}[-.]0\d{3})(?![\w:]|[.,]\d)",
    re.ASCII,
)
_DATE: Final = re.compile(r"(?<!\d)\d{1,2}[./-]\d{1,2}[./-](?:\d{4}|\d\d)(?!\d)")
# As Japanese writes them.
_WIDE: Final = str.maketrans("０１２３４５６７８９－ー—（）＋", "0123456789---()+")
_NO_DIGIT: Final = re.compile(r"\D")


def phones_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of telephone numbers."""
    for match in _PHONE.finditer(text.translate(_WIDE)):
        if MIN_DIGITS <= len(digits_of(match.group())) <= MAX_DIGITS and _DATE.search(match.group()) is None:
            yield match.span()


def digits_of(phone: str) -> str:
    """Return a telephone number's digits."""
    return _NO_DIGIT.sub("", phone.translate(_WIDE))


def find_phone(phone: str, text: str) -> tuple[int, int] | None:
    """Return where a text has a telephone number's digits, and no more."""
    plus = r"\+" if phone.startswith(("+", "＋")) else ""
    match = re.search(
        rf"{plus}(?<!\d)\(?{_BETWEEN.join(digits_of(phone))}(?!\d|[‑-]\d)", text.translate(_WIDE), re.ASCII
    )
    return None if match is None else match.span()
