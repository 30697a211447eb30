"""Keyless bodies: shares of networks, and who is refused when they are full."""

from __future__ import annotations

import pytest

from proxy.admission import keyless_bodies
from proxy.admission.keyless_bodies import FIRST_BYTES, MAX_REQUESTS, KeylessBodies, KeylessBody
from proxy.metrics import KEYLESS_REASONS, ProxyMetrics
from shared.protocol.errors import OverloadedError, RateLimitedError, SlowRequestError

MIB = 1024 * 1024


def bodies_of(mebibytes: int = 8) -> KeylessBodies:
    return KeylessBodies(mebibytes * MIB, ProxyMetrics())


def held_by(bodies: KeylessBodies, address: str, size: int) -> KeylessBody:
    body = bodies.admit(address)
    body.take(size)
    return body


def test_release_gives_everything_back() -> None:
    bodies = bodies_of()
    small, large = held_by(bodies, "10.0.0.1", 10), held_by(bodies, "10.0.0.1", FIRST_BYTES)
    large.take(1)
    assert (bodies.first_bytes.held, bodies.shares.held) == (10, FIRST_BYTES + 1)
    for body in (small, large, large):
        body.release()
    assert bodies.held == 0
    assert vars(bodies)["_requests"] == {}


@pytest.mark.parametrize(
    ("busy", "same", "other"),
    [
        ("10.0.0.1", "::ffff:10.0.0.1", "10.0.0.2"),
        ("2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1"),
        ("", "", "x"),
    ],
)
def test_requests_of_a_network_are_limited(busy: str, same: str, other: str) -> None:
    bodies = bodies_of()
    admitted = [bodies.admit(busy) for _ in range(MAX_REQUESTS)]
    with pytest.raises(RateLimitedError, match="64 requests of your network") as caught:
        bodies.admit(same)
    assert caught.value.retry_after is not None
    bodies.admit(other)
    admitted[5].release()
    bodies.admit(same)


def test_largest_of_the_network_that_holds_most_is_refused() -> None:
    bodies = bodies_of(8)
    interrupted: list[int] = []
    held = [
        held_by(bodies, address, size * MIB) for address, size in (("a", 2), ("b", 1), ("b", 2), ("c", 1), ("d", 2))
    ]
    for number, body in enumerate(held):
        body.interrupt = lambda number=number: interrupted.append(number)
    held_by(bodies, "e", MIB)
    assert (interrupted, bodies.shares.held) == ([2], 7 * MIB)
    assert isinstance(held[2].refusal, OverloadedError)
    with pytest.raises(OverloadedError):
        held[2].take(1)
    assert bodies.shares.held == 7 * MIB


def test_newcomer_that_holds_most_is_refused_itself() -> None:
    bodies = bodies_of(4)
    held = [held_by(bodies, address, MIB) for address in "abcd"]
    with pytest.raises(OverloadedError, match="hold most"):
        held_by(bodies, "e", 2 * MIB)
    with pytest.raises(OverloadedError):
        held[0].take(1)
    assert bodies.shares.held == 3 * MIB
    assert [body.refusal is None for body in held] == [False, True, True, True]


def test_whole_bodies_are_not_refused() -> None:
    bodies = bodies_of(4)
    whole, unfinished = held_by(bodies, "a", 3 * MIB), held_by(bodies, "b", MIB)
    whole.is_whole = True
    with pytest.raises(OverloadedError):
        held_by(bodies, "b", MIB)
    assert whole.refusal is None
    assert unfinished.refusal is None or unfinished.size == 0


def test_first_bytes_have_a_sum_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyless_bodies, "ALL_FIRST_BYTES", 2 * FIRST_BYTES)
    bodies = bodies_of()
    greedy = [held_by(bodies, "a", FIRST_BYTES // 2) for _ in range(4)]
    held_by(bodies, "b", FIRST_BYTES // 2)
    assert [body.refusal is None for body in greedy] == [True, True, True, False], "the newest of equal ones"
    greedy[0].take(FIRST_BYTES)
    assert greedy[0].refusal is None, "longer bodies leave it"


def test_only_small_unfinished_bodies_are_too_slow() -> None:
    bodies = bodies_of()
    small, long, whole = (held_by(bodies, "a", size) for size in (FIRST_BYTES, FIRST_BYTES + 1, 1))
    whole.is_whole = True
    for body in (small, long, whole):
        body.refuse_if_small()
    assert isinstance(small.refusal, SlowRequestError)
    assert (long.refusal, whole.refusal) == (None, None)


def test_every_refusal_is_counted_by_its_reason() -> None:
    metrics = ProxyMetrics()
    bodies = KeylessBodies(MIB, metrics)
    with pytest.raises(OverloadedError):
        held_by(bodies, "a", 2 * MIB)
    bodies.admit("b").refuse_if_small()
    for _ in range(MAX_REQUESTS):
        bodies.admit("c")
    with pytest.raises(RateLimitedError):
        bodies.admit("c")
    name = "pairway_proxy_keyless_refusals_total"
    counts = {each: metrics.registry.get_sample_value(name, {"reason": each}) for each in KEYLESS_REASONS}
    assert counts == {"network": 1, "bytes": 1, "slow": 1}
