"""Issues that a guard can find in a model's output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Self

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
    usable: bool
    weight: int
    values: tuple[str, ...] = field(default=(), repr=False)
    retried: bool = True

    def with_values(self, values: Iterable[str]) -> Self:
        """Return the issue with values, within their limits (shared/protocol/answers.py)."""
        return replace(self, values=tuple(bounded_values(values)))


TOO_LONG: Final = OutputIssue(
    "output-too-long", "The model's output did not end within its length limit.", usable=False, weight=100
)
REPEATS: Final = OutputIssue(
    "output-repeats", "The model repeated itself until it was stopped.", usable=False, weight=100
)
INCOMPLETE: Final = OutputIssue(
    "output-incomplete", "The engine ended early: its output is incomplete.", usable=False, weight=100
)
EMPTY: Final = OutputIssue("output-empty", "The model's output is empty.", usable=False, weight=100)
PLACEHOLDER_LOST: Final = OutputIssue(
    "placeholder-lost",
    "A placeholder, tag or protected word of the text is missing, changed or repeated in the translation.",
    usable=False,
    weight=100,
)
PLACEHOLDER_INVENTED: Final = OutputIssue(
    "placeholder-invented",
    "The translation has a placeholder or tag that the text does not have.",
    usable=True,
    weight=20,
)
ECHO: Final = OutputIssue("output-echoes-source", "The translation is a copy of the text.", usable=True, weight=40)
WRONG_LANGUAGE: Final = OutputIssue(
    "output-wrong-language", "The translation does not seem to be in the target language.", usable=True, weight=50
)
LOOP: Final = OutputIssue(
    "output-repeats", "The translation repeats itself where the text does not.", usable=True, weight=30
)
TOO_SHORT: Final = OutputIssue(
    "output-too-short",
    "The translation is much shorter than the text: something may be missing.",
    usable=True,
    weight=12,
)
WORDLESS: Final = OutputIssue(
    "output-too-short", "The translation has no words, but the text has.", usable=True, weight=60
)
TOO_WORDY: Final = OutputIssue(
    "output-too-wordy",
    "The translation is much longer than the text: something may have been added.",
    usable=True,
    weight=10,
)
CONTROLS: Final = OutputIssue(
    "output-leaks-control", "The model wrote control tokens into the translation.", usable=True, weight=8
)
NUMBER_CHANGED: Final = OutputIssue(
    "number-changed", "A number of the text is missing or changed in the translation.", usable=True, weight=25
)
NOTES: Final = OutputIssue(
    "output-has-notes", "The translation seems to contain remarks of the model.", usable=True, weight=15
)
NAME_CHANGED: Final = OutputIssue(
    "name-changed", "A name or code of the text is missing or changed in the translation.", usable=True, weight=6
)
# In another script a name may be spelled in a way that no guard knows.
NAME_UNSEEN: Final = replace(NAME_CHANGED, retried=False)
