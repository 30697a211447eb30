"""Errors of the HTTP client for replicas."""

from __future__ import annotations


class UnreachableError(Exception):
    """No connection to the replica could be made (its name may not even be one): nothing was sent."""


class ConnectTimeoutError(UnreachableError):
    """The replica did not accept in time: a lost packet looks like that, too."""


class BrokenAnswerError(Exception):
    """The replica was reached, but no whole answer came back."""


class SilentError(Exception):
    """The replica was reached, but did not answer in time."""


def describe(error: Exception) -> str:
    """Return an error's type and message, not endless."""
    return f"{type(error).__name__}: {error}"[:200]
