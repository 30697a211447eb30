"""Candidates: the parts of a text that its translation should keep.

A capital is a sign of a name, except at the beginning of a sentence, in a title and in German: there only words count
that no list has. Other scripts have no capitals, so only Latin words count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from apiserver.guards.names import name_phrases, word_lists
from apiserver.guards.names.candidate import Candidate, CandidateKind
from apiserver.guards.scripts import LATIN, scripts_of
from shared.languages import language_of

# Texts with more are lists of names.
MAX_CANDIDATES: Final = 32
# More than any segment has; longer texts have no candidates.
MAX_CHARS: Final = 10_000
# Longer words are code or noise.
MOST_LETTERS: Final = 40
# With this share of words in capitals behind the first, and so many words, a text is a title.
TITLE_SHARE: Final = 0.6
TITLE_WORDS: Final = 4
# Characters before a word that can show the beginning of a sentence.
_LOOK_BEHIND: Final = 8

_WORD: Final = re.compile(r"[^\W\d_]+")
# Begins no address: those are placeholders, but not in every text that is compared.
_HANDLE: Final = r"(?<![\w@./+-])@[A-Za-z0-9_]{2,40}(?:\.[A-Za-z0-9_]{1,40}){0,3}(?!\w)"
# Capitals with digits, perhaps in parts; two small letters in a row are a word's.
_CODE: Final = (
    r"(?<![\w@#&./-])(?=[A-Za-z0-9-]{0,24}[A-Z])(?=[A-Za-z-]{0,24}\d)(?![^\s]{0,48}[a-z]{2})"
    r"[A-Za-z0-9]{1,24}(?:[-_/.][A-Za-z0-9]{1,24}){0,4}(?![\w-])"
)
# A capital behind an acronym: USB-C.
_VARIANT: Final = r"(?<![\w@#&./-])[A-Z]{2,4}-[A-Z](?![\w-])"
# A word with two digits behind it, or words joined by underscores.
_IDENTIFIER: Final = r"(?<![\w@#&./-])(?:[A-Z][a-z]{1,24}\d{2,8}|[A-Za-z0-9]{1,24}(?:_[A-Za-z0-9]{1,24}){1,4}(?:\.[a-z0-9]{1,5})?)(?![\w-])"
_HANDLE_OR_CODE: Final = re.compile(f"{_HANDLE}|{_CODE}|{_IDENTIFIER}|{_VARIANT}")
_MAY_HAVE_CODE: Final = re.compile(r"[@\d_]|[A-Z]-[A-Z]")
# Times and amounts, which the numbers guard reads.
_AMOUNT: Final = re.compile(r"\d[\d.,:/-]*[A-Za-z]{1,3}|[A-Z]{1,3}\d+[.,:]\d\d|[A-Z]{3}\d+")
_ROMAN: Final = re.compile("[IVXLCDM]{1,7}")
# Of centuries, wars and monarchs; other pairs of such letters are abbreviations.
_SHORT_ROMAN: Final = re.compile("[IVX]{2}")
_BEFORE_START: Final = re.compile(
    r"(?:^|[.!?…:;\n•*·|/\\]|[\"“”„«»‹›‘(\[{¿¡–—]|(?:^|\s)[-'‘’])[\s\"“”„«»'‘’(\[{¿¡*_–—-]*$"
)
# Words before a person's name, and what else may stand behind them.
_TITLE: Final = re.compile(r"(?<!\w)(?:Frau|Herrn?|Mr|Mrs|Ms|Dr|Prof|Mme|Sra?|[Ss]eñora?|Don|Doña)\.? $")
_FORMS_OF_ADDRESS: Final = frozenset(
    [
        "Mr",
        "Mrs",
        "Ms",
        "Miss",
        "Sir",
        "Madam",
        "Dr",
        "Prof",
        "Frau",
        "Herr",
        "Herrn",
        "Mme",
        "Mlle",
        "Madame",
        "Mademoiselle",
        "Monsieur",
        "Sra",
        "Señor",
        "Señora",
        "Doña",
    ]
)
_TWO_BEFORE: Final = re.compile(r"(?:(?P<second>[^\W\d_]+)[ -])?(?P<first>[^\W\d_]+) $")
# Before products and places, but not before persons.
_ARTICLES: Final = re.compile("a|an|the|this|every|le|la|les|un|une|du|des|el|los|las|una|del|al", re.IGNORECASE)
_WORD_BEHIND: Final = re.compile(r"[ -]([^\W\d_])")
_OFFICES: Final = frozenset(
    [
        "Professor",
        "Doktor",
        "Dr",
        "Präsident",
        "Präsidentin",
        "Bürgermeister",
        "Richter",
        "Lehrer",
        "Direktor",
        "Ober",
        "President",
        "Chairman",
        "Speaker",
        "Prof",
        "Profesor",
        "Presidente",
        "Director",
        "Minister",
        "Kollege",
        "Nachbar",
        "Gott",
    ]
)
# Behind a product's name, also behind an article.
_EDITIONS: Final = frozenset(
    ["Pro", "Max", "Plus", "Mini", "Air", "Lite", "Light", "Ultra", "Premium", "Go", "SE", "XL", "XS"]
)
# A Latin word with a capital in a text of another script.
_LATIN_WORD: Final = re.compile(r"(?<![A-Za-z0-9])(?=[a-z]{0,2}[A-Z])[A-Za-z\u00c0-\u024f]{2,40}(?![A-Za-z0-9])")
# Such words that are ordinary there.
_LOANS: Final = frozenset(
    {"OK", "CD", "DVD", "PC", "TV", "ID", "NG", "UFO", "ATM", "CM", "DM", "OL", "HP", "SF", "VIP", "NO", "PR", "BBQ"}
)


def candidates_in(text: str, tag: str) -> list[Candidate]:
    """Return a text's first MAX_CANDIDATES codes and names, without overlaps."""
    if len(text) > MAX_CHARS:
        return []
    codes = list(islice(_codes_in(text), MAX_CANDIDATES)) if _MAY_HAVE_CODE.search(text) is not None else []
    language = language_of(tag)
    if LATIN not in scripts_of(tag):
        names = _latin_words_in(text)
    elif language in word_lists.LISTED:
        names = _outermost(name_phrases.whole_name(text, name, language) for name in _names_in(text, language))
    else:
        names = ()
    return sorted([*codes, *islice(_apart_from(codes, names), MAX_CANDIDATES)])[:MAX_CANDIDATES]


def _codes_in(text: str) -> Iterator[Candidate]:
    for match in _HANDLE_OR_CODE.finditer(text):
        if _AMOUNT.fullmatch(match.group()) is None:
            yield Candidate(*match.span(), CandidateKind.CODE, match.group())


def _apart_from(codes: Iterable[Candidate], names: Iterable[Candidate]) -> Iterator[Candidate]:
    return (name for name in names if all(name.end <= code.start or code.end <= name.start for code in codes))


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
        if word.upper() not in _LOANS and _ROMAN.fullmatch(word) is None:
            yield Candidate(*match.span(), CandidateKind.ACRONYM if word.isupper() else CandidateKind.NAME, word)


def _names_in(text: str, language: str) -> Iterator[Candidate]:
    words = list(_WORD.finditer(text))
    capitals = [match for match in words if not match.group()[0].islower()]
    is_title = len(words) >= TITLE_WORDS and len(capitals) - 1 >= TITLE_SHARE * (len(words) - 1)
    says_nothing = is_title or language in word_lists.CAPITALIZED_NOUNS
    for match in capitals:
        word, start = match.group(), match.start()
        if not 2 <= len(word) <= MOST_LETTERS or word in _FORMS_OF_ADDRESS or _SHORT_ROMAN.fullmatch(word):
            continue
        if word.removesuffix("s").isupper() and len(word) > 2:
            if not is_title and not _is_ordinary_acronym(word.removesuffix("s"), language):
                yield Candidate(start, match.end(), CandidateKind.ACRONYM, word)
            continue
        if _TITLE.search(text, max(0, start - _LOOK_BEHIND), start) is not None:
            is_name = word not in _OFFICES and not _is_office(text, match, language)
        elif says_nothing or _BEFORE_START.search(text, max(0, start - _LOOK_BEHIND), start) is not None:
            is_name = not word_lists.may_be_ordinary(word, language)
        else:
            is_name = not word_lists.is_ordinary_inside(word, language) or _is_surname(text, match, language)
        if is_name or (word in _EDITIONS and _is_edition(text, start, language)):
            yield Candidate(start, match.end(), CandidateKind.NAME, word)


def _is_office(text: str, match: re.Match[str], language: str) -> bool:
    """Return whether a German word is an office: Herr Bundeskanzler Scholz."""
    behind = _WORD_BEHIND.match(text, match.end())
    is_between = behind is not None and behind[1].isupper()
    return is_between and language in word_lists.CAPITALIZED_NOUNS and word_lists.may_be_ordinary(match[0], language)


def _is_surname(text: str, match: re.Match[str], language: str) -> bool:
    """Return whether a word is the second of two names: Anna Bell."""
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
    """Return whether the word before is a product's name: the Nordlys Pro."""
    before = _TWO_BEFORE.search(text, max(0, start - 2 * MOST_LETTERS), start)
    return (
        before is not None
        and before["first"][0].isupper()
        and not word_lists.may_be_ordinary(before["first"], language)
    )


def _is_ordinary_acronym(word: str, language: str) -> bool:
    return _ROMAN.fullmatch(word) is not None or word_lists.may_be_ordinary(word, language)
