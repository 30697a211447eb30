"""Errors as LibreTranslate has them: ``{"error": …}``, with its texts and statuses."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from proxy.api.compat.language_codes import UnsupportedLanguageError
from proxy.keys.authenticator import WrongScopeError
from proxy.keys.quota import MINUTE_SECONDS
from shared.http.problems import retry_headers
from shared.http.request_context import request_header
from shared.parsing.json_reader import NoObjectError
from shared.protocol.errors import BadRequestError, PairwayError, RateLimitedError

KEY_NEEDED: Final = "Please contact the server operator to get an API key"
KEY_INVALID: Final = "Invalid API key"
NO_OBJECT: Final = "Invalid JSON format"
SLOW_DOWN: Final = "Slowdown"
# Statuses that differ from ours.
STATUSES: Final = {
    "key-required": 400,
    "unknown-pair": 400,
    "request-timeout": 400,
    "too-large": 400,
    "unsupported-media": 400,
    "invalid-request": 400,
    "language-undetected": 400,
}
_TEXTS: Final = {"key-required": KEY_NEEDED, "key-refused": KEY_INVALID}
_FORBIDDEN: Final = 403
_WEBLATE: Final = "Weblate/"
# Faults that pass. After these statuses, 401, 403 and 456 Weblate asks no more for half an hour, and shows nothing.
_SILENCING: Final = frozenset({429, 503})
_SERVER_ERROR: Final = 500


class RefusalError(BadRequestError, status=400, code="bad-request", title="The request cannot be read"):
    """A refusal in LibreTranslate's words."""


def missing(name: str) -> RefusalError:
    """Return the error for a missing field."""
    return RefusalError(f"Invalid request: missing {name} parameter")


def over_limit(size: int, limit: int) -> RefusalError:
    """Return the error for too long a text or list."""
    return RefusalError(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def not_supported(value: object) -> RefusalError:
    """Return the error for an unknown language."""
    return RefusalError(f"{str(value)[:40]} is not supported")


def render_error(request: Request, error: PairwayError) -> Response:
    """Render an error as ``{"error": …}``.

    Weblate gets 500 for a fault that passes.
    """
    status, text = describe(error)
    agent = request_header(request, "user-agent") or ""
    if status in _SILENCING and agent.startswith(_WEBLATE):
        status = _SERVER_ERROR
    return JSONResponse({"error": text}, status, retry_headers(error))


def describe(error: PairwayError) -> tuple[int, str]:
    """Return an error's status and text."""
    status = STATUSES.get(error.code, error.http_status)
    match error:
        case UnsupportedLanguageError():
            return status, f"{error.value} is not supported"
        case WrongScopeError():
            return status, f"{KEY_INVALID}: {error.detail}"
        case NoObjectError():
            return status, NO_OBJECT
        case RateLimitedError() if (error.retry_after or 0) > MINUTE_SECONDS:
            # A used-up day or month is no flood: Mastodon reads 403 as a quota.
            return _FORBIDDEN, error.detail
        case RateLimitedError():
            return status, f"{SLOW_DOWN}: {error.detail}"
        case _:
            return status, _TEXTS.get(error.code, error.detail)
