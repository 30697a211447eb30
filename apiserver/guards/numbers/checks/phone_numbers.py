"""Telephone numbers: the same digits in the same order, in any groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

# Of a number with its country (ITU-T E.164).
MAX_DIGITS: Final = 15
MIN_DIGITS: Final = 7
_BETWEEN: Final = re.compile(r"[ \u00a0\u202f./()‑–-]{0,3}")
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
_GROUP: Final = re.compile(r"\d+", re.ASCII)
_MORE: Final = re.compile(r"[‑-]\d", re.ASCII)


def phones_in(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of telephone numbers."""
    for match in _PHONE.finditer(text.translate(_WIDE)):
        if MIN_DIGITS <= len(digits_of(match.group())) <= MAX_DIGITS and _DATE.search(match.group()) is None:
            yield match.span()


def digits_of(phone: str) -> str:
    """Return a telephone number's digits."""
    return _NO_DIGIT.sub("", phone.translate(_WIDE))


def find_phones(phones: Iterable[str], text: str) -> list[tuple[int, int] | None]:
    """Return where a text has exactly the digits of each number."""
    text = text.translate(_WIDE)
    groups = list(_GROUP.finditer(text))
    return [
        next(_places(digits_of(phone), text, groups, has_plus=phone.startswith(("+", "＋"))), None) for phone in phones
    ]


def _places(digits: str, text: str, groups: Sequence[re.Match[str]], *, has_plus: bool) -> Iterator[tuple[int, int]]:
    for index, group in enumerate(groups):
        if not digits.startswith(group.group()):
            continue
        before = text[max(0, group.start() - 2) : group.start()]
        start = group.start() - (2 if before == "+(" else before.endswith(("+", "(")))
        end = _end(digits, text, groups[index : index + MAX_DIGITS])
        if end is not None and (not has_plus or text[start] == "+"):
            yield start, end


def _end(digits: str, text: str, groups: Sequence[re.Match[str]]) -> int | None:
    """Return where the digits end that begin with the first group."""
    found, end = "", groups[0].start()
    for group in groups:
        if _BETWEEN.fullmatch(text, end, group.start()) is None:
            return None
        found, end = found + group.group(), group.end()
        if found == digits:
            return None if _MORE.match(text, end) else end
        if not digits.startswith(found):
            return None
    return None
