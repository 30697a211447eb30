"""LibreTranslate's errors: a status and a text for every error of ours, and none that silences Weblate."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from proxy.api.compat.language_codes import UnsupportedLanguageError
from proxy.api.compat.libretranslate.errors import (
    KEY_INVALID,
    KEY_NEEDED,
    RefusalError,
    missing,
    not_supported,
    over_limit,
    render_error,
)
from proxy.api.compat.served_languages import LanguagesUnknownError
from shared.parsing.json_reader import NoObjectError
from shared.protocol.errors import (
    CODES,
    KeyRefusedError,
    KeyRequiredError,
    OverloadedError,
    PairwayError,
    RateLimitedError,
)
from tests.shared.protocol.error_samples import every_error

# Status for everybody, status for Weblate, and the text (None: our own sentence) of every code.
ROWS: dict[str, tuple[int, int, str | None]] = {
    "bad-request": (400, 400, None),
    "key-required": (400, 400, KEY_NEEDED),
    "key-refused": (403, 403, KEY_INVALID),
    "pair-refused": (403, 403, None),
    "operator-off": (403, 403, None),
    "origin-refused": (403, 403, None),
    "not-found": (404, 404, None),
    "unknown-pair": (400, 400, None),
    "unknown-replica": (404, 404, None),
    "unknown-key": (404, 404, None),
    "unknown-glossary": (404, 404, None),
    "unknown-dictionary": (404, 404, None),
    "method-not-allowed": (405, 405, None),
    "request-timeout": (400, 400, None),
    "client-gone": (499, 499, None),
    "fleet-full": (409, 409, None),
    "keys-full": (409, 409, None),
    "glossaries-full": (409, 409, None),
    "change-refused": (409, 409, None),
    "catalog-refused": (409, 409, None),
    "too-large": (400, 400, None),
    "unsupported-media": (400, 400, None),
    "invalid-request": (400, 400, None),
    "language-undetected": (400, 400, None),
    "rate-limited": (429, 500, "Slowdown: x"),
    "head-too-large": (431, 431, None),
    "internal": (500, 500, None),
    "replica-failed": (502, 502, None),
    "unusable-output": (502, 502, None),
    "overloaded": (503, 500, None),
    "pair-unavailable": (503, 500, None),
    "keys-unavailable": (503, 500, None),
    "glossaries-unavailable": (503, 500, None),
    "deadline-exceeded": (504, 504, None),
}

ERRORS = [each for each in every_error() if each.code in CODES and each.detail != "too many"]


def rendered(error: PairwayError, agent: str = "curl/8") -> tuple[int, Any, str | None]:
    request = Request({"type": "http", "state": {"headers": {"user-agent": agent}}})
    response = render_error(request, error)
    return response.status_code, json.loads(bytes(response.body)), response.headers.get("retry-after")


def test_every_code_has_a_row() -> None:
    assert ROWS.keys() == CODES
    assert {error.code for error in ERRORS} == CODES


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: each.code)
def test_row_of_every_code(error: PairwayError) -> None:
    status, for_weblate, text = ROWS[error.code]
    assert rendered(error)[:2] == (status, {"error": text or error.detail})
    assert rendered(error, "Weblate/2026.10.1")[:2] == (for_weblate, {"error": text or error.detail})


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (missing("target"), 400, "Invalid request: missing target parameter"),
        (over_limit(5001, 5000), 400, "Invalid request: request (5001) exceeds text limit (5000)"),
        (not_supported("zz"), 400, "zz is not supported"),
        (not_supported(["x" * 100]), 400, "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is not supported"),
        (UnsupportedLanguageError("target", "zz!"), 400, "zz! is not supported"),
        (NoObjectError("The body is JSON, but not an object."), 400, "Invalid JSON format"),
        (RefusalError("as it is"), 400, "as it is"),
        (LanguagesUnknownError("why"), 500, "The list of languages cannot be served now: why."),
        (RateLimitedError("20 per minute", retry_after=60), 429, "Slowdown: 20 per minute"),
        (RateLimitedError("used up", retry_after=61), 403, "used up"),
    ],
)
def test_its_own_words(error: PairwayError, status: int, text: str) -> None:
    assert rendered(error)[:2] == (status, {"error": text})


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RateLimitedError("in a while", retry_after=60), 500),
        (RateLimitedError("tomorrow", retry_after=3600), 403),
        (OverloadedError("full", retry_after=1), 500),
        (LanguagesUnknownError("why"), 500),
        (KeyRefusedError("wrong"), 403),
        (KeyRequiredError("none"), 400),
    ],
)
def test_weblate_is_silenced_only_by_lasting_faults(error: PairwayError, status: int) -> None:
    assert rendered(error, "Weblate/5.14.3")[0] == status


def test_retry_after_is_kept() -> None:
    assert rendered(OverloadedError("full", retry_after=1.2))[2] == "2"
    assert rendered(missing("q"))[2] is None
