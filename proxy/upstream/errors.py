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
