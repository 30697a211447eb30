"""Errors of the HTTP client for replicas."""

from __future__ import annotations


class UnreachableError(Exception):
    """No connection, or an invalid URL: nothing was sent."""


class ConnectTimeoutError(UnreachableError):
    """No connection in time; maybe a lost packet."""


class BrokenAnswerError(Exception):
    """Incomplete or invalid answer of a replica."""


class SilentError(Exception):
    """No answer in time."""


def describe(error: Exception) -> str:
    """Return an error's type and message, at most 200 characters."""
    return f"{type(error).__name__}: {error}"[:200]
