"""Quality guard: finds an output's issues.

Thresholds: docs/decisions/0009-guards.md; ``python -m benchmarks.quality.alarms.guard_alarms`` measures them again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import starmap, zip_longest
from operator import eq
from typing import Final

from apiserver.engine.interface import GenerationResult
from apiserver.guards import cleanup
from apiserver.guards.issues import (
    CONTROLS,
    ECHO,
    EMPTY,
    INCOMPLETE,
    LOOP,
    NAME_CHANGED,
    NAME_UNSEEN,
    NOTES,
    NUMBER_CHANGED,
    PLACEHOLDER_INVENTED,
    REPEATS,
    TOO_LONG,
    TOO_SHORT,
    TOO_WORDY,
    WORDLESS,
    WRONG_LANGUAGE,
    OutputIssue,
)
from apiserver.guards.length import length_band
from apiserver.guards.names.name_guard import lost_names
from apiserver.guards.normal_form import normalized
from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.repetition import count_repetitions
from apiserver.guards.scripts import LATIN, UNKNOWN, letters_weight, scripts_in, scripts_of, text_weight
from apiserver.protection import placeholders
from shared.languages import LanguagePair
from shared.literals import Literal, literals_in

# Repetitions that no reference has; up to twice the source's are translated ones.
PHRASE_WEIGHT: Final = 8.0
PHRASE_TIMES: Final = 3
WORD_TIMES: Final = 6
# Fewer letters do not show their language.
MIN_LETTERS: Final = 10
# The detector's shares, if a text is in another language.
MOST_OF_TARGET: Final = 0.02
LEAST_OF_OTHER: Final = 0.5
# Scripts of many languages, which need the detector; any other script is proof enough.
_SHARED_SCRIPTS: Final = frozenset({LATIN, "Cyrl", "Arab", "Deva"})
# Letters, beyond the source's, of a third script: least number and share of the weight.
MIN_INTRUDERS: Final = 2
INTRUDERS_SHARE: Final = 0.05
# This many letters in Han alone are Chinese: Japanese titles may have fewer.
MOST_HAN: Final = {"Kana": 12, "Hang": 4}
# More weight in the source's script cannot be names.
FOREIGN_SHARE: Final = 1 / 3
# In scripts without capitals, this many letters count as one plain word.
LETTERS_PER_WORD: Final = 4
# Longer texts are checked in two halves, because one may be untranslated.
WINDOW: Final = 60
_WORD: Final = re.compile(r"[^\W\d_]+")
# A letter that may be neither capital nor small; nearly all texts have none.
_BEHIND_CASED: Final = re.compile("[^\0-\u01ba\\W]")


class QualityGuard:
    """Checks of outputs; the work per text is bounded or linear."""

    def __init__(self, languages: OutputLanguage) -> None:
        self._languages = languages

    def find_issues(self, source: str, output: GenerationResult, pair: LanguagePair) -> list[OutputIssue]:
        """Return a cleaned output's issues; ``source`` is as the model saw it."""
        if output.repeats:
            return [REPEATS]
        if output.finish_reason != "stop":
            return [TOO_LONG if output.finish_reason == "length" else INCOMPLETE]
        text = output.text.strip()
        if not text:
            return [EMPTY]
        weight, band = text_weight(text), length_band(text_weight(source), pair)
        is_wordless = not any(map(str.isalpha, text)) and any(map(str.isalpha, source))
        literals = list(literals_in(text))
        is_echo = self._is_echo(source, text, pair)
        checks = (
            (_is_loop(source, text), LOOP),
            (weight < band.least and not is_wordless, TOO_SHORT),
            (is_wordless, WORDLESS),
            (weight > band.most, TOO_WORDY),
            (output.leaked_controls or cleanup.has_control_tokens(text, source), CONTROLS),
            (cleanup.has_leftover_chat(text, source), NOTES),
            (bool(literals) and placeholders.has_invented_placeholder(source, text), PLACEHOLDER_INVENTED),
            (is_echo, ECHO),
            (not is_echo and self._is_foreign(source, _without(literals, text), pair), WRONG_LANGUAGE),
        )
        return [issue for is_found, issue in checks if is_found]

    def find_losses(self, source: str, output: str, pair: LanguagePair) -> list[OutputIssue]:
        """Return issues for what an output lacks; both texts with their placeholders."""
        issues: list[OutputIssue] = []
        if numbers := changed_numbers(source, output, pair):
            issues.append(NUMBER_CHANGED.with_values(numbers))
        if names := lost_names(source, output, pair):
            is_one_script = scripts_of(pair.source) == scripts_of(pair.target)
            issues.append((NAME_CHANGED if is_one_script else NAME_UNSEEN).with_values(names))
        return issues

    def _is_echo(self, source: str, output: str, pair: LanguagePair) -> bool:
        """Return whether the output copies the source; names do not count."""
        if not _has_same_letters(source, output) or self._languages.are_kin(pair):
            return False
        own_script = scripts_of(pair.source) & scripts_of(pair.target)
        return _plain_words(_without(list(literals_in(source)), source)) >= (2 if own_script else 1)

    def _is_foreign(self, source: str, text: str, pair: LanguagePair) -> bool:
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
        labels = self._languages.labels(pair)
        if not labels:
            return False
        label, share = self._languages.likeliest(text)
        if label in labels or share < LEAST_OF_OTHER:
            return False
        shares = self._languages.shares(text)
        return sum(shares.get(label, 0.0) for label in labels) < MOST_OF_TARGET


def _is_loop(source: str, output: str) -> bool:
    repetitions = count_repetitions(output, PHRASE_WEIGHT)
    if repetitions.words < WORD_TIMES and repetitions.phrase < PHRASE_TIMES:
        return False
    source_words = count_repetitions(source, PHRASE_WEIGHT).words
    return source_words == 1 or repetitions.words > 2 * source_words


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


def _without(literals: Sequence[Literal], text: str) -> str:
    parts: list[str] = []
    position = 0
    for literal in literals:
        parts.append(text[position : literal.start])
        position = literal.end
    return " ".join([*parts, text[position:]])


def _plain_words(text: str) -> int:
    """Count plain words by capitals; in scripts without capitals, by letters."""
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
    """Compare letters and digits, ignoring case and width."""
    return all(starmap(eq, zip_longest(_letters_and_digits(text), _letters_and_digits(other))))


def _letters_and_digits(text: str) -> Iterator[str]:
    return filter(str.isalnum, normalized("NFKC", text).casefold())
