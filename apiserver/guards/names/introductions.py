"""Introductions: words behind which a word is a name."""

from __future__ import annotations

import re
from typing import Final

from apiserver.guards.calendar.calendar_reader import read_calendar
from apiserver.guards.names.spelling import folded
from apiserver.guards.names.word_lists import CAPITALIZED_NOUNS, NAME_WORDS, is_ordinary_inside, place_names_of

# Longer than any introduction.
_LOOK_BEHIND: Final = 24
_INTRODUCTIONS: Final = {
    language: re.compile(rf"(?<!\w)(?:{words}) $") for language, words in NAME_WORDS.introductions.items()
}
_NO_NAMES: Final = {
    language: words | NAME_WORDS.offices | NAME_WORDS.forms_of_address
    for language, words in NAME_WORDS.no_names.items()
}
_NUMBER_BEHIND: Final = re.compile(r" \d")  # This is Room 12.
_WORD_BEHIND: Final = re.compile(r"[ -]([^\W\d_]{1,40})(?![^\W\d_])")
_PLURAL: Final = "s"
# CLDR's names of languages have most peoples: Canadian French. Territories may be translated.
_LANGUAGE: Final = "language"


def is_introduced(text: str, match: re.Match[str], language: str) -> bool:
    """Return whether words before a listed word make it a name."""
    pattern = _INTRODUCTIONS.get(language)
    start, word = match.start(), match.group()
    if pattern is None or word.isupper() or pattern.search(text, max(0, start - _LOOK_BEHIND), start) is None:
        return False
    if not _NO_NAMES[language].isdisjoint((word, word.removesuffix(_PLURAL))) or _begins_a_title(text, match, language):
        return False
    return not _is_of_a_people(word, language) and next(read_calendar(word, language), None) is None


def _begins_a_title(text: str, match: re.Match[str], language: str) -> bool:
    """Recognise what is translated: called Customer Service."""
    if _NUMBER_BEHIND.match(text, match.end()):
        return True
    behind = None if language in CAPITALIZED_NOUNS else _WORD_BEHIND.match(text, match.end())
    return behind is not None and behind[1][0].isupper() and is_ordinary_inside(behind[1], language)


def _is_of_a_people(word: str, language: str) -> bool:
    keys = place_names_of(language).keys
    forms = (folded(word), folded(word).removesuffix(_PLURAL))
    return any(key.startswith(_LANGUAGE) for form in forms for key in keys.get(form, ()))
