"""Quality guard: finds an output's issues.

Thresholds: docs/decisions/0009-guards.md; ``python -m benchmarks.quality.alarms.guard_alarms`` measures them again.
"""

from __future__ import annotations

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
from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.output_language import OutputLanguage, without_literals
from apiserver.guards.repetition import is_loop
from apiserver.guards.scripts import scripts_of, text_weight
from apiserver.protection import placeholders
from shared.languages import LanguagePair
from shared.literals import literals_in


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
        is_echo = self._languages.is_echo(source, text, pair)
        checks = (
            (is_loop(source, text), LOOP),
            (weight < band.least and not is_wordless, TOO_SHORT),
            (is_wordless, WORDLESS),
            (weight > band.most, TOO_WORDY),
            (output.leaked_controls or cleanup.has_control_tokens(text, source), CONTROLS),
            (cleanup.has_leftover_chat(text, source), NOTES),
            (bool(literals) and placeholders.has_invented_placeholder(source, text), PLACEHOLDER_INVENTED),
            (is_echo, ECHO),
            (
                not is_echo and self._languages.is_foreign(source, without_literals(literals, text), pair),
                WRONG_LANGUAGE,
            ),
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
