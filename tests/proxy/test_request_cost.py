"""RequestCost: work goes up with the length of the texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.request_cost import CHARS_PER_WORK_UNIT, work_of


@given(st.integers(0, 10**7), st.integers(0, 10**7))
def test_work_grows_with_the_length_of_the_texts(one: int, other: int) -> None:
    assert work_of(0) == 1
    assert work_of(CHARS_PER_WORK_UNIT) == 2
    assert (work_of(one) <= work_of(other)) == (one <= other)
