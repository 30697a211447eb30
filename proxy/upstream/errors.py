"""Errors of the HTTP client for replicas."""

from __future__ import annotations


class UnreachableError(Exception):
    """No connection to the replica, or an invalid URL: nothing was sent."""


class ConnectTimeoutError(UnreachableError):
    """No connection in time; the cause may be a lost packet."""


class BrokenAnswerError(Exception):
    """The replica was reached, but its answer was incomplete or invalid."""


class SilentError(Exception):
    """The replica was reached, but did not answer in time."""


def describe(error: Exception) -> str:
    """Return an error's type and message, at most 200 characters."""
    return f"{type(error).__name__}: {error}"[:200]
