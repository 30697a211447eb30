"""The bytes of all bodies in hand have a bound."""

from __future__ import annotations

import pytest

from shared.http.body_budget import ByteBudget
from shared.protocol.errors import OverloadedError


def test_reservation_above_the_limit_is_refused() -> None:
    budget = ByteBudget(100)
    with budget.reserve() as first, budget.reserve() as second:
        first.take(60)
        second.take(40)
        with pytest.raises(OverloadedError) as refused:
            second.take(1)
        assert refused.value.retry_after is not None
    assert budget.reserved == 0


def test_reservation_is_released_on_every_path() -> None:
    budget = ByteBudget(100)

    def fail() -> None:
        with budget.reserve() as hold:
            hold.take(30)
            hold.take(40)
            assert budget.reserved == 70
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert budget.reserved == 0
