"""DeepL's status for every row of our table of errors."""

from __future__ import annotations

from typing import Final

import pytest

from proxy.api.compat.deepl.errors import status_of
from proxy.api.compat.language_codes import UnsupportedLanguageError
from shared.protocol.errors import CODES, CharactersUsedError, PairwayError, RateLimitedError, RelayedError
from tests.shared.protocol.error_samples import every_error

STATUSES: Final = {
    "bad-request": 400,
    "key-required": 403,
    "key-refused": 403,
    "pair-refused": 403,
    "origin-refused": 403,
    "operator-off": 403,
    "not-found": 404,
    "method-not-allowed": 405,
    "unknown-pair": 400,
    "unknown-replica": 404,
    "unknown-key": 404,
    "unknown-glossary": 404,
    "unknown-dictionary": 404,
    "request-timeout": 504,
    "fleet-full": 400,
    "keys-full": 400,
    "glossaries-full": 456,
    "change-refused": 400,
    "catalog-refused": 400,
    "too-large": 413,
    "unsupported-media": 415,
    "invalid-request": 400,
    "language-undetected": 400,
    "rate-limited": 429,
    "head-too-large": 400,
    "client-gone": 400,
    "internal": 500,
    "replica-failed": 503,
    "unusable-output": 400,
    "overloaded": 503,
    "pair-unavailable": 503,
    "keys-unavailable": 503,
    "glossaries-unavailable": 503,
    "deadline-exceeded": 504,
}
WEBLATE: Final = "Weblate/2026.10.1"


def test_every_code_has_a_status() -> None:
    assert STATUSES.keys() == CODES


@pytest.mark.parametrize("error", [each for each in every_error() if not isinstance(each, RelayedError)], ids=repr)
def test_status_of_every_error(error: PairwayError) -> None:
    assert status_of(error, "deepl-python/1.32.0") == STATUSES[error.code]


@pytest.mark.parametrize("error", every_error(), ids=repr)
def test_weblate_is_never_silenced_by_a_passing_fault(error: PairwayError) -> None:
    status = status_of(error, WEBLATE)
    assert status not in {401, 429, 456, 503}
    assert status < 500 or status in {500, 504}


def test_used_up_characters_are_an_exceeded_quota() -> None:
    error = CharactersUsedError("x", retry_after=3)
    assert (error.http_status, error.code) == (RateLimitedError.http_status, RateLimitedError.code)
    assert status_of(error, "") == status_of(error, WEBLATE) == 456


@pytest.mark.parametrize(("theirs", "status"), [(400, 400), (418, 400), (500, 500), (502, 503), (599, 503)])
def test_foreign_errors_keep_their_class(theirs: int, status: int) -> None:
    error = RelayedError(code="theirs", http_status=theirs, title="T", detail="D", facts={})
    assert status_of(error, "") == status


def test_unsupported_language_is_a_bad_request() -> None:
    assert status_of(UnsupportedLanguageError("target_lang", "x"), "") == 400
