"""What a replica's refusals mean: by the problem's code, not the status alone."""

from __future__ import annotations

import pytest

from proxy.outcome import Verdict, most_telling, refusal
from shared.deadline import Deadline
from shared.errors import OverloadedError, PairUnavailableError, ReplicaFailedError
from shared.wire import Problem
from tests.proxy.samples import pair

LEFT = Deadline.after(10, lambda: 0.0)


def problem(code: str, status: int) -> Problem:
    return Problem(type="t", title="t", status=status, code=code, detail="d")


@pytest.mark.parametrize(
    ("status", "code", "verdict", "elsewhere", "told"),
    [
        (400, "bad-request", Verdict.ANSWERED, False, "bad-request"),
        (413, "too-large", Verdict.ANSWERED, False, "too-large"),
        (422, "invalid-request", Verdict.ANSWERED, False, "invalid-request"),
        (502, "unusable-output", Verdict.ANSWERED, False, "unusable-output"),
        (405, "method-not-allowed", Verdict.ANSWERED, True, "replica-failed"),
        (404, "unknown-pair", Verdict.REFUSED, True, "pair-unavailable"),
        (503, "pair-unavailable", Verdict.REFUSED, True, "pair-unavailable"),
        (503, "overloaded", Verdict.FULL, True, "overloaded"),
        (429, "rate-limited", Verdict.FULL, True, "overloaded"),
        (504, "deadline-exceeded", Verdict.FAILED, True, "deadline-exceeded"),
        (500, "internal", Verdict.FAILED, True, "replica-failed"),
        (502, "replica-failed", Verdict.FAILED, True, "replica-failed"),
        (401, "key-required", Verdict.FAILED, True, "replica-failed"),
        (403, "key-refused", Verdict.FAILED, True, "replica-failed"),
        (401, None, Verdict.FAILED, True, "replica-failed"),
        (404, None, Verdict.ANSWERED, True, "replica-failed"),
        (503, None, Verdict.FAILED, True, "replica-failed"),
    ],
)
def test_each_code_has_its_meaning(status: int, code: str | None, verdict: Verdict, elsewhere: bool, told: str) -> None:
    found = refusal(pair("en>de"), status, problem(code, status) if code else None, None, LEFT)
    assert (found.verdict, found.elsewhere, found.error.code) == (verdict, elsewhere, told)


def test_a_full_replica_is_given_the_time_it_asks_for() -> None:
    found = refusal(pair("en>de"), 503, problem("overloaded", 503), 7.0, LEFT)
    assert found.error.retry_after == 7.0
    endless = refusal(pair("en>de"), 503, problem("overloaded", 503), 86_400.0, LEFT)
    assert endless.error.retry_after == 60.0


def test_time_that_is_really_over_speaks_against_nobody() -> None:
    over = Deadline.after(0, lambda: 0.0)
    found = refusal(pair("en>de"), 504, problem("deadline-exceeded", 504), None, over)
    assert (found.verdict, found.elsewhere) == (Verdict.NONE, False)


def test_what_may_be_over_soon_is_told_before_what_may_not() -> None:
    failed, gone = ReplicaFailedError("x"), PairUnavailableError("en-de", "x", retry_after=1)
    full = OverloadedError("x", retry_after=1)
    assert most_telling({"a": failed, "b": gone, "c": full}) is full
    assert most_telling({"a": failed, "b": gone}) is gone
    assert most_telling({"a": failed}) is failed
    sooner = OverloadedError("x", retry_after=0.5)
    assert most_telling({"a": full, "b": sooner}) is sooner
