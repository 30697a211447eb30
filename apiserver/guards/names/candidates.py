"""Candidates: the parts of a text that its translation should keep.

A capital is a sign of a name, except at a sentence's beginning, in a title and in German: there only words count that no
list has. Listed words are names behind words that introduce one (My name is Noah). Without capitals, only Latin words count.
To a name belong the second part of Ye-jin, the particles of Van der Linden, the number of "the Velox 5".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import Final, NamedTuple

from apiserver.guards.calendar.calendar_reader import read_calendar
from apiserver.guards.names import word_lists
from apiserver.guards.names.introductions import is_introduced
from apiserver.guards.names.word_lists import NAME_WORDS
from apiserver.guards.scripts import LATIN, scripts_of
from shared.languages import language_of

MAX_CANDIDATES: Final = 32  # texts with more are lists of names
MAX_CHARS: Final = 10_000  # more than any segment has
MOST_LETTERS: Final = 40  # longer words are code
# Behind the first word, this share of capitals is a title's.
TITLE_SHARE: Final = 0.6
TITLE_WORDS: Final = 4
_LOOK_BEHIND: Final = 8  # enough to see the beginning of a sentence

_WORD: Final = re.compile(r"[^\W\d_]+")
# No address, which is a placeholder in most texts.
_HANDLE: Final = r"(?<![\w@./+-])@[A-Za-z0-9_]{2,40}(?:\.[A-Za-z0-9_]{1,40}){0,3}(?!\w)"
# Capitals with digits; two small letters in a row are a word's.
_CODE: Final = (
    r"(?<![\w@#&./-])(?=[A-Za-z0-9-]{0,24}[A-Z])(?=[A-Za-z-]{0,24}\d)(?![^\s]{0,48}[a-z]{2})"
    r"[A-Za-z0-9]{1,24}(?:[-_/.][A-Za-z0-9]{1,24}){0,4}(?![\w-])"
)
_VARIANT: Final = r"(?<![\w@#&./-])[A-Z]{2,4}-[A-Z](?![\w-])"  # USB-C
# A word with two digits behind it, or words joined by underscores.
_IDENTIFIER: Final = r"(?<![\w@#&./-])(?:[A-Z][a-z]{1,24}\d{2,8}|[A-Za-z0-9]{1,24}(?:_[A-Za-z0-9]{1,24}){1,4}(?:\.[a-z0-9]{1,5})?)(?![\w-])"
_HANDLE_OR_CODE: Final = re.compile(f"{_HANDLE}|{_CODE}|{_IDENTIFIER}|{_VARIANT}")
_MAY_HAVE_CODE: Final = re.compile(r"[@\d_]|[A-Z]-[A-Z]")
# Times and amounts, which the numbers guard reads.
_AMOUNT: Final = re.compile(r"\d[\d.,:/-]*[A-Za-z]{1,3}|[A-Z]{1,3}\d+[.,:]\d\d|[A-Z]{3}\d+")
_ROMAN: Final = re.compile("[IVXLCDM]{1,7}")
# Other pairs of such letters are abbreviations.
_SHORT_ROMAN: Final = re.compile("[IVX]{2}")
_BEFORE_START: Final = re.compile(
    r"(?:^|[.!?…:;\n•*·|/\\]|[\"“”„«»‹›‘(\[{¿¡–—]|(?:^|\s)[-'‘’])[\s\"“”„«»'‘’(\[{¿¡*_–—-]*$"
)
_TITLE: Final = re.compile(rf"(?<!\w)(?:{NAME_WORDS.titles})\.? $")
_TWO_BEFORE: Final = re.compile(r"(?:(?P<second>[^\W\d_]+)[ -])?(?P<first>[^\W\d_]+) $")
_ARTICLES: Final = re.compile("a|an|the|this|every|le|la|les|un|une|du|des|el|los|las|una|del|al", re.IGNORECASE)
_WORD_BEHIND: Final = re.compile(r"[ -]([^\W\d_])")
_LATIN_WORD: Final = re.compile(r"(?<![A-Za-z0-9])(?=[a-z]{0,2}[A-Z])[A-Za-z\u00c0-\u024f]{2,40}(?![A-Za-z0-9])")
# Longer than what may stand before a name.
_LOOK_FAR_BEHIND: Final = 48
_HYPHENATED: Final = re.compile(r"-([^\W\d_A-Z]{2,12})(?![\w-])")
_PARTICLE: Final = "van|von|de|di|da|del|della|du|dos|der|den|ter|la|le|el|ibn"
# A capital stands before particles: a first name, a title, or the particle itself.
_PARTICLES_BEFORE: Final = re.compile(
    rf"(?<!\w)(?:(?P<capital>(?:Van|Von|De|Di|Da|Du) (?:(?:{_PARTICLE}) ){{1,2}})"
    rf"|[A-Z][^\W\d_]{{0,24}}\.? (?P<particles>(?:(?:{_PARTICLE}) ){{1,2}}))$"
)
_ARTICLE_BEFORE: Final = {
    language: re.compile(rf"(?<!\w)(?:{articles}) $", re.IGNORECASE)
    for language, articles in NAME_WORDS.articles.items()
}
# Of a product: no count (German apples have a capital), amount, time, date, or year.
_NUMBER: Final = re.compile(r" \d{1,3}(?![\w%€$£°]|[.,:/’'–-]\d| ?[%€$£]| (?:Uhr|[ap]\.?m|[A-ZÄÖÜ]))")


class CandidateKind(StrEnum):
    """Kind of a candidate."""

    CODE = "code"  # a handle or product code: kept to the letter
    NAME = "name"
    ACRONYM = "acronym"  # may have its letters in another order


class Candidate(NamedTuple):
    """A name or code, and its position.

    ``is_word``: a listed word behind a title or an introduction.
    """

    start: int
    end: int
    kind: CandidateKind
    text: str
    is_word: bool = False


def candidates_in(text: str, tag: str) -> list[Candidate]:
    """Return the first MAX_CANDIDATES codes and names, without overlaps."""
    if len(text) > MAX_CHARS:
        return []
    codes = list(islice(_codes_in(text), MAX_CANDIDATES)) if _MAY_HAVE_CODE.search(text) is not None else []
    language = language_of(tag)
    names: Iterable[Candidate] = ()
    if LATIN not in scripts_of(tag):
        names = _latin_words_in(text)
    elif language in word_lists.LISTED:
        names = _outermost(
            whole_name(text, name, language) for name in _no_dates(_names_in(text, language), text, language)
        )
    apart = (name for name in names if all(name.end <= code.start or code.end <= name.start for code in codes))
    return sorted([*codes, *islice(apart, MAX_CANDIDATES)])[:MAX_CANDIDATES]


def _no_dates(names: Iterable[Candidate], text: str, language: str) -> Iterator[Candidate]:
    """Yield the names that are no calendar words: those are translated."""
    found = list(names)
    days = {each.start for each in read_calendar(text, language) if not each.may_be_name} if found else set[int]()
    return (name for name in found if name.start not in days)


def _codes_in(text: str) -> Iterator[Candidate]:
    for match in _HANDLE_OR_CODE.finditer(text):
        if _AMOUNT.fullmatch(match.group()) is None:
            yield Candidate(*match.span(), CandidateKind.CODE, match.group())


def _outermost(names: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield names without those that a phrase has: Van der Linden."""
    last: Candidate | None = None
    for name in names:
        if last is not None and last.start < name.start:
            yield last
        last = name
    if last is not None:
        yield last


def _latin_words_in(text: str) -> Iterator[Candidate]:
    for match in _LATIN_WORD.finditer(text):
        word = match.group()
        if word.upper() not in NAME_WORDS.loans and _ROMAN.fullmatch(word) is None:
            yield Candidate(*match.span(), CandidateKind.ACRONYM if word.isupper() else CandidateKind.NAME, word)


def _names_in(text: str, language: str) -> Iterator[Candidate]:
    words = list(_WORD.finditer(text))
    capitals = [match for match in words if not match.group()[0].islower()]
    is_title, is_german = _is_title(words), language in word_lists.CAPITALIZED_NOUNS
    says_nothing = is_title or is_german
    # "Hi Anna, I'm Noah" is none.
    is_heading = not is_german and _is_title([match for match in words if len(match.group()) > 1])
    for match in capitals:
        word, start = match.group(), match.start()
        if not 2 <= len(word) <= MOST_LETTERS or word in NAME_WORDS.forms_of_address or _SHORT_ROMAN.fullmatch(word):
            continue
        if (acronym := word.removesuffix("s")).isupper() and len(word) > 2:
            if not (is_title or _ROMAN.fullmatch(acronym) or word_lists.may_be_ordinary(acronym, language)):
                yield Candidate(start, match.end(), CandidateKind.ACRONYM, word)
            continue
        is_titled = _TITLE.search(text, max(0, start - _LOOK_BEHIND), start) is not None
        if is_titled:
            is_name = word not in NAME_WORDS.offices and not _is_office(text, match, language)
        elif says_nothing or _BEFORE_START.search(text, max(0, start - _LOOK_BEHIND), start) is not None:
            is_name = not word_lists.may_be_ordinary(word, language)
        else:
            is_name = not word_lists.is_ordinary_inside(word, language) or _is_surname(text, match, language)
        is_word = False
        if is_titled:
            is_word = word_lists.is_listed(word, language)
        elif not is_name and not is_heading:
            is_name = is_word = is_introduced(text, match, language)
        if is_name or (word in NAME_WORDS.editions and _is_edition(text, start, language)):
            yield Candidate(start, match.end(), CandidateKind.NAME, word, is_word)


def _is_title(words: Sequence[re.Match[str]]) -> bool:
    capitals = sum(not match.group()[0].islower() for match in words)
    return len(words) >= TITLE_WORDS and capitals - 1 >= TITLE_SHARE * (len(words) - 1)


def _is_office(text: str, match: re.Match[str], language: str) -> bool:
    """Recognise a German office: Herr Bundeskanzler Scholz."""
    behind = _WORD_BEHIND.match(text, match.end())
    is_between = behind is not None and behind[1].isupper()
    return is_between and language in word_lists.CAPITALIZED_NOUNS and word_lists.may_be_ordinary(match[0], language)


def _is_surname(text: str, match: re.Match[str], language: str) -> bool:
    """Recognise the second of two names: Anna Bell."""
    before = _TWO_BEFORE.search(text, max(0, match.start() - 2 * MOST_LETTERS), match.start())
    behind = _WORD_BEHIND.match(text, match.end())
    if before is None or (behind is not None and behind[1].isupper()):
        return False
    first, second = before["first"], before["second"] or ""
    if not first[0].isupper() or not first[1:].islower():
        return False
    if (second[:1].isupper() and second != "I") or _ARTICLES.fullmatch(second):
        return False
    return not word_lists.may_be_ordinary(first, language)


def _is_edition(text: str, start: int, language: str) -> bool:
    """Recognise a product's name before the word: the Nordlys Pro."""
    before = _TWO_BEFORE.search(text, max(0, start - 2 * MOST_LETTERS), start)
    product = "" if before is None else before["first"]
    return product[:1].isupper() and not word_lists.may_be_ordinary(product, language)


def whole_name(text: str, name: Candidate, language: str) -> Candidate:
    """Return a candidate with the parts of its phrase."""
    if name.kind is not CandidateKind.NAME:
        return name
    start, end, kind = name.start, name.end, name.kind
    before = text[max(0, start - _LOOK_FAR_BEHIND) : start]
    if (hyphenated := _HYPHENATED.match(text, end)) is not None:
        end = end if word_lists.may_be_ordinary(hyphenated[1], language) else hyphenated.end()
    elif (articles := _ARTICLE_BEFORE.get(language)) is not None and articles.search(before) is not None:
        number = _NUMBER.match(text, end)
        kind, end = (kind, end) if number is None else (CandidateKind.CODE, number.end())
    if (particles := _PARTICLES_BEFORE.search(before)) is not None:
        words = particles["particles"] or particles["capital"]
        known = NAME_WORDS.particles.get(language, frozenset[str]())
        # "van der" is a name's in every language.
        if words.lower().startswith(("van de ", "van den ", "van der ")) or known.isdisjoint(words.split()):
            start -= len(words)
    return (
        name if (start, end) == (name.start, name.end) else Candidate(start, end, kind, text[start:end], name.is_word)
    )
