"""Headers that both servers read and write: the request's id, the caller's tag, and bearer tokens."""

from __future__ import annotations

import re
import secrets
from typing import Final

from pydantic import SecretStr

from shared.protocol.errors import KeyRefusedError, KeyRequiredError

REQUEST_ID_HEADER: Final = "X-Request-Id"
CALLER_HEADER: Final = "X-Pairway-Caller"
_CALLER_TAG: Final = re.compile(r"[0-9a-f]{16}")
BEARER: Final = "Bearer"
# A client key, or a word as long as its secret, which no path of ours has, where somebody put it by mistake.
_SECRET: Final = re.compile(r"pw_\w+|(?<![0-9a-z])[0-9a-z]{32}(?![0-9a-z])", re.ASCII | re.IGNORECASE)
# A token that is guessed is no token: 16 characters of base64 are 96 bits.
_TOKEN: Final = re.compile(r"[!-~]{16,256}")


def caller_from_header(value: str | None) -> str:
    """Return the caller's tag; all that come without a right one are one caller."""
    return value if value is not None and _CALLER_TAG.fullmatch(value) else ""


def validate_token(token: SecretStr) -> SecretStr:
    """Return a setting's token, which may be empty, or raise ValueError, which does not repeat it."""
    if token.get_secret_value() and not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError("must have 16 to 256 ASCII characters without spaces")
    return token


def authorization_header(token: SecretStr) -> str:
    """Return the value of ``Authorization`` that shows the token."""
    return f"{BEARER} {token.get_secret_value()}"


def parse_bearer(authorization: str | None) -> str | None:
    """Return what ``Authorization`` shows as a bearer, None where that is nothing."""
    scheme, _, bearer = (authorization or "").partition(" ")
    return bearer.strip() or None if scheme.lower() == BEARER.lower() else None


def mask_secrets(text: str) -> str:
    """Return a text for logs and problems without the keys that somebody put where none belongs."""
    return _SECRET.sub("…", text)


def authenticate(token: SecretStr, authorization: str | None, *, subject: str, owner: str) -> None:
    """Check the token in ``Authorization``, in constant time.

    The refusal names the ``subject`` that needs the token (at the beginning of a sentence) and its ``owner``.

    Raises:
        KeyRequiredError: none was shown.
        KeyRefusedError: another one was shown.
    """
    bearer = parse_bearer(authorization)
    if bearer is None:
        raise KeyRequiredError(f"{subject} need the header Authorization: {BEARER} TOKEN.")
    if not secrets.compare_digest(bearer.encode(), token.get_secret_value().encode()):
        raise KeyRefusedError(f"This is not {owner} token.")
