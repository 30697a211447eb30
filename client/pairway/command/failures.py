"""Failures: errors to exit codes, and the line that each prints."""

from __future__ import annotations

from enum import IntEnum

from ..errors import (
    AnswerError,
    DeadlineError,
    KeyRefusedError,
    LanguageUndetectedError,
    PairwayError,
    RateLimitedError,
    RequestError,
    SettingsError,
    StreamCutError,
    UnavailableError,
    UnreachableError,
)


class ExitCode(IntEnum):
    """Exit codes of all commands (docs/client.md)."""

    FAILED = 1
    USAGE = 2
    AWAY = 3
    REFUSED = 4
    INTERRUPTED = 130


class UsageError(PairwayError):
    """The command line asks for what cannot be done; nothing was sent."""


class FailedError(PairwayError):
    """Parts of the work failed, as was said before."""

    def __init__(self, code: ExitCode | None = None) -> None:
        super().__init__("A part of the work failed.")
        self.code = code or ExitCode.FAILED


# In this order: a subclass stands above its base.
_CODES: tuple[tuple[type[PairwayError], ExitCode], ...] = (
    (SettingsError, ExitCode.USAGE),
    (UsageError, ExitCode.USAGE),
    (UnreachableError, ExitCode.AWAY),
    (DeadlineError, ExitCode.AWAY),
    (UnavailableError, ExitCode.AWAY),
    (RateLimitedError, ExitCode.AWAY),
    (StreamCutError, ExitCode.AWAY),
    (AnswerError, ExitCode.AWAY),
    (RequestError, ExitCode.REFUSED),
)


_HINTS: dict[type[PairwayError], str] = {
    KeyRefusedError: "Set PAIRWAY_KEY, or give --key-file.",
    LanguageUndetectedError: "That is --from here.",
}


def said(error: PairwayError) -> str:
    """Return an error's line, with the command's word for what is missing."""
    return str(error).replace(error.message, f"{error.message} {_HINTS.get(type(error), '')}".rstrip(), 1)


def exit_code_of(error: PairwayError) -> ExitCode:
    """Return the exit code of an error that ends the command."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.FAILED)
