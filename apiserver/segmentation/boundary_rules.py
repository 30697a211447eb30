"""Boundary rules: sentence ends that the library invents or misses.

Each reads a bounded number of characters around its place, so that a text costs linear time.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

NEAR_CHARS: Final = 40  # a speaker and a verb behind a quotation; its opening mark
# One or two digits and a full stop are ordinals.
DOTTED_ORDINALS: Final = frozenset(
    {"bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lb", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr"}
)
# Without blanks between sentences.
_DENSE: Final = frozenset({"ja", "zh"})
_WORDS_FILE: Final = Path(__file__).with_name("boundary_words.toml")

_ORDINAL: Final = re.compile(r"(?:^|[\s(])\d{1,2}\.\s?$")
# "am 3. mai" in a text without capitals; "um 5." ends a sentence.
_SMALL_ORDINAL: Final = re.compile(r"\b(?:am|der|dem|den|des|das|die|vom|zum|im|beim|ab)\s\d{1,2}\.\s$")
# "M. Dupont", "J.-J. Rousseau"; a syllable of Korean is a word.
_INITIAL: Final = re.compile(r"[^\w\s]*[^\W\d_가-힣]\.\s?")
_TWO_INITIALS: Final = re.compile(r"(?:^|\s)[^\W\d_]\.-[^\W\d_]\.\s$")
_INITIAL_CHARS: Final = 8
# "approx. the"
_FULL_STOP: Final = re.compile(r"[^.]\.[\"')\]”’»]?\s$")
_ELLIPSIS: Final = re.compile(r"(?:\.\.|…)\s?$")
_LAST_WORD: Final = re.compile(r"([^\s()\[{«“„\"'’]+)\.[\"')\]”’»]?\s*$")
# "z. B.", "p. m."
_LETTERS: Final = re.compile(r"((?:(?<!\w)[^\W\d_]{1,2}\. ?)+)[\"')\]”’»]?\s*$")
_FIRST_WORD: Final = re.compile(r"[«“„\"'(¿¡]*\s?([^\W\d_]+)")
_NUMBER: Final = re.compile(r"\d|[IVX]+\b")
_HALF_OF_THE_DAY: Final = frozenset({"a.m", "p.m"})
_FOLLOWING_A_TIME: Final = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b|[A-Z]{1,3}T\b|(?:East|Pacif|Centr)\w+ "
)
_DASH_AND_SMALL: Final = re.compile(r"[—–]\s?[^\W\d_A-ZÀ-Þ]")
_QUOTATION_ENDS: Final = re.compile(r"[.!?…。！？][\s\u202f]?[\"”“»’'」』]\s*$")
_INTRODUCED: Final = re.compile(r"[:,：，]\s?[\"“„«「『][^\"“„«「『]*$")
# 「はい。」と言った: the sentence continues.
_QUOTING: Final = {
    "ja": re.compile(r"と|って|なんて|そう[言叫答聞]"),
    "zh": re.compile(r"[就便的地时時后後，、]|[^，。！？“”「」]{0,8}?[说說问問喊叫答道]"),
    "ko": re.compile(r"이?라[고는며]|하고|고\s|(?:\S+\s){0,3}?\S*(?:말했|말하|물었|외쳤|대답|속삭)"),
}
# A title: 《你好！》
_TITLE_ENDS: Final = "》〉』"
# モーニング娘。の
_PARTICLES: Final = ("の", "を")
# 2026. 5. 3. 서울
_KOREAN_DATE: Final = re.compile(r"\d\. ?$")
_KOREAN_DATE_END: Final = re.compile(r"\d\. ?\d{1,2}\. ?$")
_KOREAN_END: Final = re.compile(r"[가-힣][.!?]\s$")
_SPACED: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"')\]”’»]*+\s++(?=\S)")
_WIDE: Final = re.compile(r"[。！？｡]++[」』”’）)】]*+(?=\S)")
_BRACKETED: Final = re.compile(r"[.!?。！？][)）]\s*$")


class BoundaryWords(NamedTuple):
    """Words of a language around boundaries: ``boundary_words.toml`` says what each is."""

    before_names: frozenset[str] = frozenset()
    before_numbers: frozenset[str] = frozenset()
    openers: frozenset[str] = frozenset()
    speech: frozenset[str] = frozenset()
    small: frozenset[str] = frozenset()


_WORDS: Final = {
    language: BoundaryWords(**{name: frozenset(words.split()) for name, words in table.items()})
    for language, table in tomllib.loads(_WORDS_FILE.read_text(encoding="utf-8")).items()
}
_NO_WORDS: Final = BoundaryWords()


class Place(NamedTuple):
    """Possible end of a sentence: what stands before and after it.

    ``begins_bracketed``: the sentence begins with a bracket. ``is_small``: the text has no capitals, as people chat.
    """

    before: str
    after: str
    language: str
    begins_bracketed: bool
    is_small: bool

    @property
    def words(self) -> BoundaryWords:
        """Return the language's words."""
        return _WORDS.get(self.language, _NO_WORDS)

    def abbreviations(self) -> set[str]:
        """Return the word before the full stop, and letters such as z.b."""
        word, letters = _LAST_WORD.search(self.before), _LETTERS.search(self.before)
        found = {word[1]} if word else set[str]()
        found |= {letters[1].replace(" ", "").removesuffix(".")} if letters else set()
        return {each if len(each) == 1 else each.lower() for each in found}

    def opener(self) -> str | None:
        """Return the next word, if it begins a sentence."""
        word = _FIRST_WORD.match(self.after)
        is_opener = word is not None and word[1][0].isupper() and word[1].lower() in self.words.openers
        return word[1] if word and is_opener else None


def possible_ends(text: str, language: str) -> Iterator[int]:
    """Yield places that may be ends, found by the library or not."""
    for match in (_WIDE if language in _DENSE else _SPACED).finditer(text):
        yield match.end()


def place_at(text: str, start: int, end: int, language: str, *, is_small: bool) -> Place:
    """Return the place ``end`` of a sentence that begins at ``start``."""
    before, after = text[max(start, end - NEAR_CHARS) : end], text[end : end + NEAR_CHARS]
    return Place(before, after, language, text[start : start + 1] in {"(", "（"}, is_small)


def is_missed(place: Place) -> bool:
    """Return whether a sentence ends there that the library missed."""
    if place.is_small and place.words.openers:
        return _ends_small(place)
    if place.language in _DENSE:
        is_end = True
    elif place.begins_bracketed and _BRACKETED.search(place.before):
        is_end = place.after[0].isupper() or place.language == "ko"
    elif place.language == "ko":
        is_end = _KOREAN_END.search(place.before) is not None
    else:
        is_end = place.opener() is not None and _is_opened(place)
    return is_end and not (_is_inside_name(place) or _is_quoting(place))


def continues(place: Place) -> bool:
    """Return whether the sentence goes on where the library ends it."""
    if place.is_small and place.words.openers:
        return not _ends_small(place)
    if len(place.before) <= _INITIAL_CHARS and _INITIAL.fullmatch(place.before) and not _is_opened(place):
        return True
    if _is_inside_name(place) or _is_quoting(place) or _DASH_AND_SMALL.match(place.after):
        return True
    if place.after[0].islower() and _FULL_STOP.search(place.before):
        return True
    if place.after[0] in "¿¡" and place.after[1:2].islower() and _ELLIPSIS.search(place.before):
        return True
    return not _is_opened(place) and _belongs_to_next(place)


def _is_opened(place: Place) -> bool:
    """Return whether the next word begins a sentence, and follows no title."""
    is_full_stop = _FULL_STOP.search(place.before) is not None
    return is_full_stop and place.opener() is not None and not place.abbreviations() & place.words.before_names


def _belongs_to_next(place: Place) -> bool:
    words, abbreviations = place.words, place.abbreviations()
    if abbreviations & words.before_names or (abbreviations & words.before_numbers and _NUMBER.match(place.after)):
        return True
    if abbreviations & _HALF_OF_THE_DAY and _FOLLOWING_A_TIME.match(place.after):
        return True
    if place.language == "ko" and (
        _KOREAN_DATE_END.search(place.before) or (_KOREAN_DATE.search(place.before) and place.after[0].isdigit())
    ):
        return True
    is_ordinal = place.language in DOTTED_ORDINALS and _ORDINAL.search(place.before) is not None
    return is_ordinal or _TWO_INITIALS.search(place.before) is not None


def _is_inside_name(place: Place) -> bool:
    """Return whether the mark is part of a name or abbreviation."""
    first, last = place.after[0], place.before[-1]
    if last == "." and ((first.isascii() and (first.isalnum() or first == "-")) or first in "ºª"):
        return True
    if first in _TITLE_ENDS or place.before.rstrip()[-1:] in {"》", "〉"}:
        return True
    return place.language == "ja" and last == "。" and first in _PARTICLES


def _is_quoting(place: Place) -> bool:
    """Return whether a sentence goes on behind a quotation.

    It does with a verb of speech, or with a particle.
    """
    pattern = _QUOTING.get(place.language)
    if place.language == "ja":
        return place.before[-1] in "」』" and pattern is not None and pattern.match(place.after) is not None
    if not _QUOTATION_ENDS.search(place.before) or _INTRODUCED.search(place.before):
        return False
    if pattern is not None:
        return pattern.match(place.after) is not None
    speaks = any(word.lower().startswith(tuple(place.words.speech)) for word in place.after.split()[1:3])
    return speaks and place.after[0].isupper() and place.opener() is None


def _ends_small(place: Place) -> bool:
    """Return whether a sentence ends there in a text without capitals."""
    if _ELLIPSIS.search(place.before) or not place.before[-1].isspace() or _is_quoting(place):
        return False
    if not _FULL_STOP.search(place.before):
        return not _QUOTATION_ENDS.search(place.before)
    if any(len(each) == 1 and each.isalpha() for each in place.abbreviations()):
        return False
    if place.abbreviations() & (place.words.small | place.words.before_names):
        return False
    return place.language not in DOTTED_ORDINALS or _SMALL_ORDINAL.search(place.before) is None
