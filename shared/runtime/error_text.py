"""Text of errors, for operators."""

from __future__ import annotations

import errno
import os
import socket
import ssl


def describe(error: BaseException) -> str:
    """Return an error's type and message, at most 200 characters."""
    return f"{type(error).__name__}: {error}"[:200]


def describe_connection_error(error: BaseException) -> str:
    """Return why a connection failed, as operators know it: "connection refused".

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
