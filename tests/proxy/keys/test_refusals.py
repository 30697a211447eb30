"""Refusals: the error and the count for each reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from proxy.keys.api_key import Grant, Scope, mint
from proxy.keys.quota import UsageResult
from proxy.keys.refusals import Refusals
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import PairwayError

KEY, _ = mint(Grant(name="a", requests_per_minute=2, chars_per_day=10), 0.0)
USAGE = UsageResult(fits_minute=False, fits_day=False, requests=2, wait=7.0, chars=4, now=0.0)


Refuse = Callable[[Refusals], PairwayError]
CASES: list[tuple[Refuse, str, str, str]] = [
    (Refusals.no_key, "none", "key-required", "Authorization: Bearer KEY"),
    (Refusals.invalid_key, "key", "key-refused", "wrong, revoked or expired"),
    (Refusals.wrong_token, "key", "key-refused", "not the operator token"),
    (lambda refusals: refusals.missing_scope(KEY, Scope.OPERATE), "scope", "key-refused", "operate"),
    (Refusals.unavailable, "unavailable", "keys-unavailable", "looked up"),
    (lambda refusals: refusals.too_many_requests(KEY, USAGE), "requests", "rate-limited", "2 requests in 60 s"),
    (lambda refusals: refusals.too_many_characters(KEY, 8, USAGE), "characters", "rate-limited", "has 6 left"),
    (lambda refusals: refusals.larger_than_a_day(11, 10), "characters", "too-large", "11 characters"),
]


@pytest.mark.parametrize(("refuse", "reason", "code", "detail"), CASES)
def test_refusal_has_its_error_and_is_counted(refuse: Refuse, reason: str, code: str, detail: str) -> None:
    metrics = ProxyMetrics()
    error = refuse(Refusals(metrics))
    assert (error.code, detail in error.detail) == (code, True)
    labels = {"reason": reason}
    assert metrics.registry.get_sample_value("pairway_proxy_access_refusals_total", labels) == 1


def test_rate_limit_says_when_to_retry() -> None:
    refusals = Refusals(ProxyMetrics())
    assert refusals.too_many_requests(KEY, USAGE).retry_after == 7.0
    assert refusals.too_many_characters(KEY, 8, USAGE).retry_after == 86_400.0
