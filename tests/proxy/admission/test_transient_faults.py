"""TransientFaultRetry: what is waited for, how long, and by how many."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random

import pytest

from proxy.admission.transient_faults import (
    DEFAULT_PAUSE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_RETRIES,
    MAX_WAITING,
    MAX_WAITING_BYTES,
    TransientFaultRetry,
    pause_before_retry,
)
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import (
    ClientGoneError,
    DeadlineExceededError,
    GlossariesUnavailableError,
    KeyRefusedError,
    KeysUnavailableError,
    OverloadedError,
    PairRefusedError,
    PairUnavailableError,
    PairwayError,
    RateLimitedError,
    RelayedError,
    ReplicaFailedError,
    TooLargeError,
    UnknownPairError,
)
from tests.support.clock import HandClock

FULL = OverloadedError("Full.", retry_after=30)
PASSING = (
    FULL,
    PairUnavailableError("en-de", "no replica", retry_after=1),
    KeysUnavailableError(),
    GlossariesUnavailableError("x"),
    ReplicaFailedError("It failed."),
    RateLimitedError("Too many requests.", retry_after=3),
)
LASTING = (
    RateLimitedError("No characters left.", retry_after=36_000),
    RateLimitedError("No time is known."),
    UnknownPairError("en-de", []),
    KeyRefusedError("No."),
    PairRefusedError("en-de", []),
    TooLargeError("It", size=2, limit=1, unit="texts"),
    DeadlineExceededError("Late."),
    ClientGoneError(),
    RelayedError(code="unusable-output", http_status=502, title="No", detail="None.", facts={}),
)


def pauses(error: PairwayError, seconds_left: float) -> list[float | None]:
    return [pause_before_retry(error, seconds_left, Random(seed)) for seed in range(50)]  # noqa: S311 - jitter


@pytest.mark.parametrize("error", LASTING, ids=lambda error: f"{error.code}: {error.detail[:20]}")
def test_lasting_fault_is_not_waited_for(error: PairwayError) -> None:
    assert set(pauses(error, 60)) == {None}


@pytest.mark.parametrize("error", PASSING, ids=lambda error: error.code)
def test_transient_fault_is_waited_for_within_the_budget(error: PairwayError) -> None:
    assert set(pauses(error, 0)) == {None}
    each = [pause or 0.0 for pause in pauses(error, 10)]
    assert 0 < min(each) < max(each) <= 3 + LONGEST_PAUSE_SECONDS
    assert all(pause is None or 0 < pause <= 0.1 for pause in pauses(error, 0.1))


def test_pause_follows_retry_after_up_to_a_limit() -> None:
    def bounds(error: PairwayError) -> tuple[float, float]:
        each = [pause or 0.0 for pause in pauses(error, 60)]
        return min(each), max(each)

    for error, longest in (
        (FULL, LONGEST_PAUSE_SECONDS),
        (OverloadedError("Full.", retry_after=0.2), 0.2),
        (ReplicaFailedError("It failed."), DEFAULT_PAUSE_SECONDS),
    ):
        shortest, most = bounds(error)
        assert longest / 2 <= shortest < most <= longest
    shortest, most = bounds(RateLimitedError("Too many requests.", retry_after=20))
    assert 20 <= shortest < most <= 20 + LONGEST_PAUSE_SECONDS, "no try before the window ends"


class Attempts:
    """Attempts that fail with these errors, then succeed."""

    def __init__(self, *errors: PairwayError) -> None:
        self.errors: list[PairwayError] = list(errors)
        self.count = 0

    async def __call__(self) -> bytes:
        self.count += 1
        if self.errors:
            raise self.errors.pop(0)
        return b"done"


class RetryHarness:
    """A retry with a clock that passes while it sleeps."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.metrics = ProxyMetrics()
        self.retry = TransientFaultRetry(self.metrics, self.clock, Random(1))  # noqa: S311 - jitter
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        assert self.retry.waiting == 1
        self.slept.append(seconds)
        self.clock.now += seconds

    async def run(self, attempts: Attempts, seconds: float = 10, size: int = 100) -> bytes:
        return await self.retry.run(attempts, until=self.clock.now + seconds, size=size, sleep=self.sleep)

    def counted(self) -> Sequence[float | None]:
        registry = self.metrics.registry
        return [registry.get_sample_value("pairway_proxy_waits_total", {"outcome": each}) for each in ("ok", "failed")]


async def test_attempt_that_succeeds_waits_for_nothing() -> None:
    harness, attempts = RetryHarness(), Attempts()
    assert await harness.run(attempts) == b"done"
    assert (attempts.count, harness.slept, harness.counted()) == (1, [], [0, 0])


async def test_attempts_go_on_until_the_fault_has_passed() -> None:
    harness, attempts = RetryHarness(), Attempts(*PASSING)
    assert await harness.run(attempts) == b"done"
    assert (attempts.count, len(harness.slept), harness.counted()) == (len(PASSING) + 1, len(PASSING), [1, 0])
    assert (harness.retry.waiting, harness.retry.waiting_bytes) == (0, 0)


async def test_lasting_fault_ends_the_wait() -> None:
    harness, attempts = RetryHarness(), Attempts(FULL, LASTING[2], FULL)
    with pytest.raises(UnknownPairError):
        await harness.run(attempts)
    assert (attempts.count, harness.counted()) == (2, [0, 1])


async def test_budget_ends_the_wait_with_the_last_error() -> None:
    harness, attempts = RetryHarness(), Attempts(*[FULL] * 100)
    began = harness.clock.now
    with pytest.raises(OverloadedError, match="Full"):
        await harness.run(attempts, seconds=3)
    assert harness.clock.now == pytest.approx(began + 3)
    assert 4 <= attempts.count <= 8
    assert (harness.retry.waiting, harness.counted()) == (0, [0, 1])


async def test_number_of_attempts_is_limited() -> None:
    harness, attempts = RetryHarness(), Attempts(*[FULL] * 1000)
    with pytest.raises(OverloadedError):
        await harness.run(attempts, seconds=3600)
    assert attempts.count == MAX_RETRIES + 1


async def test_client_that_leaves_ends_the_wait() -> None:
    harness, attempts = RetryHarness(), Attempts(FULL, FULL)

    async def leave(_: float) -> None:
        raise ClientGoneError

    with pytest.raises(ClientGoneError):
        await harness.retry.run(attempts, until=harness.clock.now + 10, size=1, sleep=leave)
    assert (attempts.count, harness.retry.waiting, harness.retry.waiting_bytes) == (1, 0, 0)


@pytest.mark.parametrize(("count", "size"), [(MAX_WAITING, 1), (4, MAX_WAITING_BYTES // 4)])
async def test_waiting_requests_are_limited(count: int, size: int) -> None:
    harness, passed = RetryHarness(), asyncio.Event()

    async def wait(_: float) -> None:
        await passed.wait()

    until = harness.clock.now + 10
    waiting = [
        asyncio.create_task(harness.retry.run(Attempts(FULL), until=until, size=size, sleep=wait)) for _ in range(count)
    ]
    await asyncio.sleep(0)
    assert harness.retry.waiting == count
    with pytest.raises(OverloadedError):
        await harness.run(Attempts(FULL))
    passed.set()
    assert await asyncio.gather(*waiting) == [b"done"] * count
    assert (harness.retry.waiting, harness.retry.waiting_bytes) == (0, 0)


async def test_unexpected_error_is_not_retried() -> None:
    harness = RetryHarness()

    async def fail() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await harness.retry.run(fail, until=harness.clock.now + 10, size=1, sleep=harness.sleep)
    assert harness.slept == []
