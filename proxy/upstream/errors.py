"""Errors of the HTTP client for replicas."""

from __future__ import annotations


class UnreachableError(Exception):
    """No connection to the replica could be made (its name may not even be one): nothing was sent."""


class BrokenAnswerError(Exception):
    """The replica was reached, but no whole answer came back."""


class SilentError(Exception):
    """The replica was reached, but did not answer in time."""
