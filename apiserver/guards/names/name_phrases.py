"""Name phrases: what belongs to a name although no capital says so.

The second part of Ye-jin, the particles of Van der Linden, the number of "the Velox 5".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from apiserver.guards.names import word_lists
from apiserver.guards.names.candidate import Candidate, CandidateKind

# Longer than a name before its particles, or an article.
_LOOK_BEHIND: Final = 48
_HYPHENATED: Final = re.compile(r"-([^\W\d_A-Z]{2,12})(?![\w-])")
_PARTICLE: Final = "van|von|de|di|da|del|della|du|dos|der|den|ter|la|le|el|ibn"
# A capital stands before particles: a first name, a title, or the particle itself.
_PARTICLES_BEFORE: Final = re.compile(
    rf"(?<!\w)(?:(?P<capital>(?:Van|Von|De|Di|Da|Du) (?:(?:{_PARTICLE}) ){{1,2}})"
    rf"|[A-Z][^\W\d_]{{0,24}}\.? (?P<particles>(?:(?:{_PARTICLE}) ){{1,2}}))$"
)
# Particles that are words of a language: Paul from Paris is Paul de Paris.
_WORDS: Final[Mapping[str, frozenset[str]]] = {
    "en": frozenset({"den"}),
    "de": frozenset(["von", "der", "den", "da", "du"]),
    "fr": frozenset(["de", "du", "la", "le"]),
    "es": frozenset(["de", "del", "la", "el", "da", "di"]),
}
# Before a product's name and its number. "The Tom 3" is none.
_ARTICLES: Final[Mapping[str, str]] = {
    "en": "the|an?|this|that|my|your|his|her|its|our|their|new|old",
    "de": "der|die|das|den|dem|des|dieser?|dieses|(?:k?ein|mein|dein|sein|ihr|unser)(?:e[mnrs]?)?|neue[mnrs]?",
    "fr": "le|la|un|une|ce|cet|cette|du|au|mon|ton|son|notre|votre|leur|nouveau|nouvelle",
    "es": "el|la|un|una|este|esta|ese|esa|del|al|mi|tu|su|nuestro|nuestra|nuevo|nueva",
}
_ARTICLE_BEFORE: Final = {
    language: re.compile(rf"(?<!\w)(?:{articles}) $", re.IGNORECASE) for language, articles in _ARTICLES.items()
}
# No count ("3 apples" in German has a capital), amount, time, date, or year.
_NUMBER: Final = re.compile(r" \d{1,3}(?![\w%€$£°]|[.,:/’'–-]\d| ?[%€$£]| (?:Uhr|[ap]\.?m|[A-ZÄÖÜ]))")


def whole_name(text: str, name: Candidate, language: str) -> Candidate:
    """Return a candidate with the parts of its phrase."""
    if name.kind is not CandidateKind.NAME:
        return name
    start, end, kind = name.start, name.end, name.kind
    before = text[max(0, start - _LOOK_BEHIND) : start]
    if (hyphenated := _HYPHENATED.match(text, end)) is not None:
        end = hyphenated.end() if not word_lists.may_be_ordinary(hyphenated[1], language) else end
    elif (articles := _ARTICLE_BEFORE.get(language)) is not None and articles.search(before) is not None:
        number = _NUMBER.match(text, end)
        kind, end = (kind, end) if number is None else (CandidateKind.CODE, number.end())
    if (particles := _PARTICLES_BEFORE.search(before)) is not None:
        words = particles["particles"] or particles["capital"]
        known = _WORDS.get(language, frozenset[str]())
        # "van der" is a name's in every language.
        if words.lower().startswith(("van de ", "van den ", "van der ")) or known.isdisjoint(words.split()):
            start -= len(words)
    return name if (start, end) == (name.start, name.end) else Candidate(start, end, kind, text[start:end])
