"""Text of errors."""

from __future__ import annotations

import socket
import ssl

import pytest

from shared.runtime.error_text import describe_connection_error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.4', 8001)"), "connection refused"),
        (OSError(113, "Connect call failed ('10.0.0.4', 8001)"), "no route to host"),
        (socket.gaierror(-2, "Name or service not known"), "name or service not known"),
        (
            ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate"),
            "SSLCertVerificationError: certificate verify failed: self-signed certificate",
        ),
        (OSError("Multiple exceptions: [Errno 111] ..."), "OSError: Multiple exceptions: [Errno 111] ..."),
        (ValueError("no port"), "ValueError: no port"),
    ],
)
def test_failures_are_named_as_operators_know_them(error: Exception, words: str) -> None:
    assert describe_connection_error(error) == words
