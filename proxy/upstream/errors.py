"""Errors of the HTTP client for replicas."""

from __future__ import annotations

import errno
import os
import socket
import ssl


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


def connect_failure(error: Exception) -> str:
    """Return why there is no connection, as operators know it: "connection refused".

    An ``OSError`` is named by its number, because asyncio's text repeats the address. Others keep type and message.
    """
    match error:
        case socket.gaierror(strerror=str(words)):
            return words.lower()
        # OpenSSL has numbers of its own.
        case OSError(errno=int(number)) if number in errno.errorcode and not isinstance(error, ssl.SSLError):
            return os.strerror(number).lower()
        case _:
            return describe(error)
