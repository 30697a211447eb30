"""What a replica's refusals mean: by the problem's code, not the status alone."""

from __future__ import annotations

import pytest

from proxy.outcome import Verdict, most_telling, refusal
from shared.errors import DeadlineExceededError, OverloadedError, PairUnavailableError, ReplicaFailedError
from shared.wire import Problem
from tests.proxy.samples import pair

OVER = DeadlineExceededError("over")


def problem(code: str, status: int) -> Problem:
    return Problem(type="t", title="t", status=status, code=code, detail="d")


@pytest.mark.parametrize(
    ("status", "code", "verdict", "elsewhere", "told"),
    [
        (400, "bad-request", Verdict.GOOD, False, "bad-request"),
        (413, "too-large", Verdict.GOOD, False, "too-large"),
        (422, "invalid-request", Verdict.GOOD, False, "invalid-request"),
        (502, "unusable-output", Verdict.GOOD, False, "unusable-output"),
        (405, "method-not-allowed", Verdict.GOOD, True, "replica-failed"),
        (404, "unknown-pair", Verdict.REFUSED, True, "pair-unavailable"),
        (503, "pair-unavailable", Verdict.REFUSED, True, "pair-unavailable"),
        (503, "overloaded", Verdict.FULL, True, "overloaded"),
        (429, "rate-limited", Verdict.FULL, True, "overloaded"),
        (504, "deadline-exceeded", Verdict.NONE, False, "deadline-exceeded"),
        (500, "internal", Verdict.FAILED, True, "replica-failed"),
        (502, "replica-failed", Verdict.FAILED, True, "replica-failed"),
        (401, "key-required", Verdict.FAILED, True, "replica-failed"),
        (403, "key-refused", Verdict.FAILED, True, "replica-failed"),
        (401, None, Verdict.FAILED, True, "replica-failed"),
        (404, None, Verdict.FAILED, True, "replica-failed"),
        (503, None, Verdict.FAILED, True, "replica-failed"),
    ],
)
def test_each_code_has_its_meaning(status: int, code: str | None, verdict: Verdict, elsewhere: bool, told: str) -> None:
    found = refusal(pair("en>de"), status, problem(code, status) if code else None, None, OVER)
    assert (found.verdict, found.elsewhere, found.error.code) == (verdict, elsewhere, told)


def test_a_full_replica_is_given_the_time_it_asks_for() -> None:
    found = refusal(pair("en>de"), 503, problem("overloaded", 503), 7.0, OVER)
    assert found.error.retry_after == 7.0


def test_what_may_be_over_soon_is_told_before_what_may_not() -> None:
    failed, gone = ReplicaFailedError("x"), PairUnavailableError("en-de", "x", retry_after=1)
    full = OverloadedError("x", retry_after=1)
    assert most_telling({"a": failed, "b": gone, "c": full}) is full
    assert most_telling({"a": failed, "b": gone}) is gone
    assert most_telling({"a": failed}) is failed
