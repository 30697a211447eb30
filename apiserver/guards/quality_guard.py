"""Quality guard: the issues of an output.

Thresholds: docs/decisions/0009-guards.md; ``python -m benchmarks.quality.alarms.guard_alarms`` measures them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self

from apiserver.engine.interface import GenerationResult
from apiserver.guards import cleanup
from apiserver.guards.calendar.changed_calendar import changed_calendar
from apiserver.guards.length import length_band
from apiserver.guards.names.name_guard import lost_names
from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.output_language import OutputLanguage, without_literals
from apiserver.guards.repetition import is_loop
from apiserver.guards.scripts import scripts_of, text_weight
from apiserver.protection import placeholders
from shared.languages import LanguagePair
from shared.literals import literals_in
from shared.protocol.answers import bounded_values


@dataclass(frozen=True, slots=True)
class OutputIssue:
    """An issue of an output; the message quotes no text.

    ``usable``: the output may be shown with a warning if there is no better one. The lowest ``weight`` is the best.
    ``values``: what was lost or changed, as the source writes it; for the client alone, never for logs and metrics.
    ``retried``: another output may be without it; if not, the issue is only shown.
    """

    code: str
    message: str
    weight: int
    usable: bool = True
    values: tuple[str, ...] = field(default=(), repr=False)
    retried: bool = True

    def with_values(self, values: Iterable[str]) -> Self:
        """Return the issue with values, within their limits (shared/protocol/answers.py)."""
        return replace(self, values=tuple(bounded_values(values)))


def _unusable(code: str, message: str) -> OutputIssue:
    return OutputIssue(code, message, weight=100, usable=False)


TOO_LONG: Final = _unusable("output-too-long", "The model's output did not end within its length limit.")
REPEATS: Final = _unusable("output-repeats", "The model repeated itself until it was stopped.")
INCOMPLETE: Final = _unusable("output-incomplete", "The engine ended early: its output is incomplete.")
EMPTY: Final = _unusable("output-empty", "The model's output is empty.")
PLACEHOLDER_LOST: Final = _unusable(
    "placeholder-lost",
    "A placeholder, tag or protected word of the text is missing, changed or repeated in the translation.",
)
WORDLESS: Final = OutputIssue("output-too-short", "The translation has no words, but the text has.", weight=60)
WRONG_LANGUAGE: Final = OutputIssue(
    "output-wrong-language", "The translation does not seem to be in the target language.", weight=50
)
ECHO: Final = OutputIssue("output-echoes-source", "The translation is a copy of the text.", weight=40)
LOOP: Final = OutputIssue("output-repeats", "The translation repeats itself where the text does not.", weight=30)
NUMBER_CHANGED: Final = OutputIssue(
    "number-changed", "A number of the text is missing or changed in the translation.", weight=25
)
DATE_CHANGED: Final = OutputIssue(
    "date-changed",
    "A weekday, month or other calendar word of the text is missing or changed in the translation.",
    weight=22,
)
PLACEHOLDER_INVENTED: Final = OutputIssue(
    "placeholder-invented", "The translation has a placeholder or tag that the text does not have.", weight=20
)
NOTES: Final = OutputIssue("output-has-notes", "The translation seems to contain remarks of the model.", weight=15)
TOO_SHORT: Final = OutputIssue(
    "output-too-short", "The translation is much shorter than the text: something may be missing.", weight=12
)
TOO_WORDY: Final = OutputIssue(
    "output-too-wordy", "The translation is much longer than the text: something may have been added.", weight=10
)
CONTROLS: Final = OutputIssue("output-leaks-control", "The model wrote control tokens into the translation.", weight=8)
NAME_CHANGED: Final = OutputIssue(
    "name-changed", "A name or code of the text is missing or changed in the translation.", weight=6
)
# In another script a name may be spelled in a way that no guard knows.
NAME_UNSEEN: Final = replace(NAME_CHANGED, retried=False)


class QualityGuard:
    """Checks of outputs, in bounded or linear time."""

    def __init__(self, languages: OutputLanguage) -> None:
        self._languages = languages

    def find_issues(self, source: str, output: GenerationResult, pair: LanguagePair) -> list[OutputIssue]:
        """Check a cleaned output; ``source`` is as the model saw it."""
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
        is_echo = self._languages.is_echo(source, text, pair)
        is_foreign = not is_echo and self._languages.is_foreign(source, without_literals(literals, text), pair)
        checks = (
            (is_loop(source, text), LOOP),
            (weight < band.least and not is_wordless, TOO_SHORT),
            (is_wordless, WORDLESS),
            (weight > band.most, TOO_WORDY),
            (output.leaked_controls or cleanup.has_control_tokens(text, source), CONTROLS),
            (cleanup.has_leftover_chat(text, source), NOTES),
            (bool(literals) and placeholders.has_invented_placeholder(source, text), PLACEHOLDER_INVENTED),
            (is_echo, ECHO),
            (is_foreign, WRONG_LANGUAGE),
        )
        return [issue for is_found, issue in checks if is_found]

    def find_losses(self, source: str, output: str, pair: LanguagePair) -> list[OutputIssue]:
        """Check numbers, calendar words and names; both texts have their placeholders."""
        issues: list[OutputIssue] = []
        if numbers := changed_numbers(source, output, pair):
            issues.append(NUMBER_CHANGED.with_values(numbers))
        if dates := changed_calendar(source, output, pair):
            issues.append(DATE_CHANGED.with_values(dates))
        if names := lost_names(source, output, pair):
            is_one_script = scripts_of(pair.source) == scripts_of(pair.target)
            issues.append((NAME_CHANGED if is_one_script else NAME_UNSEEN).with_values(names))
        return issues
