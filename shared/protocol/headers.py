"""Headers of both servers, with bearer tokens."""

from __future__ import annotations

import re
import secrets
from typing import Final

from pydantic import SecretStr

from shared.protocol.errors import KeyRefusedError, KeyRequiredError

REQUEST_ID_HEADER: Final = "X-Request-Id"
CALLER_HEADER: Final = "X-Pairway-Caller"
# Proxies send it to replicas. No page can: browsers let no script set names that begin with "Sec-" (Fetch, 2.2.2).
PROGRAM_HEADER: Final = "Sec-Pairway-Proxy"
CACHE_CONTROL_HEADER: Final = "Cache-Control"
NO_STORE: Final = "no-store"
_CALLER_TAG: Final = re.compile(r"[0-9a-f]{16}")
BEARER: Final = "Bearer"
# A client's key, or a word as long as its secret.
_SECRET: Final = re.compile(r"pw_\w+|(?<![0-9a-z])[0-9a-z]{32}(?![0-9a-z])", re.ASCII | re.IGNORECASE)
NO_TOKEN: Final = SecretStr("")
# 16 characters of base64 are 96 bits.
_TOKEN: Final = re.compile(r"[!-~]{16,256}")


def caller_from_header(value: str | None) -> str:
    """Return the caller's tag, or ``""`` without a valid one."""
    return value if value is not None and _CALLER_TAG.fullmatch(value) else ""


def validate_token(token: SecretStr) -> SecretStr:
    """Return a setting's token, which may be empty.

    Raises:
        ValueError: the token is malformed; the message omits it.
    """
    if token.get_secret_value() and not _TOKEN.fullmatch(token.get_secret_value()):
        raise ValueError("must have 16 to 256 ASCII characters without spaces")
    return token


def authorization_header(token: SecretStr) -> str:
    """Return a token's ``Authorization``."""
    return f"{BEARER} {token.get_secret_value()}"


def parse_bearer(authorization: str | None) -> str | None:
    """Return the bearer token, or None."""
    scheme, _, bearer = (authorization or "").partition(" ")
    return bearer.strip() or None if scheme.lower() == BEARER.lower() else None


def mask_secrets(text: str) -> str:
    """Mask keys in a text."""
    return _SECRET.sub("…", text)


def authenticate(
    token: SecretStr, authorization: str | None, *, subject: str, owner: str, previous: SecretStr = NO_TOKEN
) -> None:
    """Check the token in ``Authorization``, in constant time.

    ``previous`` is accepted too, unless it is empty. In messages ``subject`` is a plural, ``owner`` a possessive.

    Raises:
        KeyRequiredError: there is no token.
        KeyRefusedError: the token is wrong.
    """
    bearer = parse_bearer(authorization)
    if bearer is None:
        raise KeyRequiredError(f"{subject} need the header Authorization: {BEARER} TOKEN.")
    accepted = [each.get_secret_value().encode() for each in (token, previous)]
    if not any([secrets.compare_digest(bearer.encode(), each) for each in accepted if each]):  # noqa: C419 - compares all
        raise KeyRefusedError(f"This is not {owner} token.")
