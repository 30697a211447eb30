"""The exception tree: its statuses and codes are a contract."""

from __future__ import annotations

from typing import Final, get_args

from shared.protocol.errors import CODES, OK, OutcomeClass, PairwayError, RelayedError, outcome_class
from tests.shared.protocol.error_samples import every_error

CONTRACT: Final = """
400 bad-request BadRequestError
401 key-required KeyRequiredError
403 key-refused KeyRefusedError
403 operator-off OperatorOffError
403 origin-refused OriginRefusedError
403 pair-refused PairRefusedError
404 not-found NotFoundError
404 unknown-dictionary UnknownDictionaryError
404 unknown-glossary UnknownGlossaryError
404 unknown-key UnknownKeyError
404 unknown-pair UnknownPairError
404 unknown-replica UnknownReplicaError
405 method-not-allowed MethodNotAllowedError
408 request-timeout SlowRequestError
409 catalog-refused CatalogRefusedError
409 change-refused ChangeRefusedError
409 fleet-full FleetFullError
409 glossaries-full GlossariesFullError
409 keys-full KeysFullError
413 too-large TooLargeError
415 unsupported-media UnsupportedMediaError
422 invalid-request InvalidRequestError
422 language-undetected LanguageUndetectedError
429 rate-limited RateLimitedError
431 head-too-large HeadTooLargeError
499 client-gone ClientGoneError
500 internal InternalError
502 replica-failed ReplicaFailedError
502 unusable-output UnusableOutputError
503 glossaries-unavailable GlossariesUnavailableError
503 keys-unavailable KeysUnavailableError
503 overloaded OverloadedError
503 pair-unavailable PairUnavailableError
504 deadline-exceeded DeadlineExceededError
"""


def test_classes_have_their_statuses_and_codes() -> None:
    classes = {f"{kind.http_status} {kind.code} {kind.__name__}" for kind in PairwayError.__subclasses__()}
    assert classes - {"500 internal RelayedError"} == set(CONTRACT.strip().splitlines())


def test_codes_list_every_class() -> None:
    kinds = set(PairwayError.__subclasses__())
    assert {type(error) for error in every_error()} == kinds > {RelayedError}
    assert {kind.code for kind in kinds} == CODES
    assert {"internal", "bad-request", "key-refused", "deadline-exceeded"} < CODES


def test_every_code_has_one_class() -> None:
    assert {outcome_class(code) for code in (*CODES, OK)} == set(get_args(OutcomeClass))
    assert outcome_class("code-of-a-newer-version") == "failed"


def test_class_agrees_with_the_status() -> None:
    for kind in PairwayError.__subclasses__():
        found = kind.outcome_class
        assert (found == "client") == (400 <= kind.http_status < 500 and kind.code != "rate-limited"), kind.code
        assert found == outcome_class(kind.code) != OK


def test_copy_with_another_detail_leaves_the_original() -> None:
    for error in every_error():
        before = (error.detail, dict(error.facts))
        copy = error.with_detail("other")
        copy.facts["more"] = 1
        assert (type(copy), copy.code, copy.http_status, copy.detail) == (
            type(error),
            error.code,
            error.http_status,
            "other",
        )
        assert (copy.retry_after, copy.headers) == (error.retry_after, error.headers)
        assert (error.detail, error.facts) == before
