"""Issues that a guard can find in a model's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class OutputIssue:
    """What is wrong with an output: a stable code for machines, a message for people without any text.

    ``usable``: may be shown with a warning where nothing better is had; the least ``weight`` is the best.
    """

    code: str
    message: str
    usable: bool
    weight: int


TOO_LONG: Final = OutputIssue("output-too-long", "The model did not come to an end.", usable=False, weight=100)
REPEATS: Final = OutputIssue(
    "output-repeats", "The model repeated itself until it was stopped.", usable=False, weight=100
)
INCOMPLETE: Final = OutputIssue(
    "output-incomplete", "The engine ended early; what it made is not the whole.", usable=False, weight=100
)
EMPTY: Final = OutputIssue("output-empty", "The model answered with nothing.", usable=False, weight=100)
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
ECHO: Final = OutputIssue("output-echoes-source", "The translation is the text itself.", usable=True, weight=40)
WRONG_LANGUAGE: Final = OutputIssue(
    "output-wrong-language", "The translation seems not to be in the target language.", usable=True, weight=50
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
    "output-too-short", "The translation has no words, the text has some.", usable=True, weight=60
)
TOO_WORDY: Final = OutputIssue(
    "output-too-wordy", "The translation is much longer than the text: something may be added.", usable=True, weight=10
)
CONTROLS: Final = OutputIssue(
    "output-leaks-control", "The model wrote control tokens into the translation.", usable=True, weight=8
)
NOTES: Final = OutputIssue(
    "output-has-notes", "The translation seems to hold the model's own remarks.", usable=True, weight=15
)
