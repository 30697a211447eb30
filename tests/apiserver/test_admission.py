"""Permits: bounded, and given back on every path."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.admission import Admission
from shared.errors import OverloadedError


def test_what_does_not_fit_whole_is_refused_with_retry_after_and_holds_nothing() -> None:
    admission = Admission(3)
    with admission.permit(2), pytest.raises(OverloadedError) as caught, admission.permit(2):
        pytest.fail("admitted")
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 0
    assert admission.held == 0


def test_the_last_room_is_given() -> None:
    admission = Admission(3)
    with admission.permit(2), admission.permit(1):
        assert admission.held == 3


def test_permits_come_back_after_an_error() -> None:
    admission = Admission(3)
    with pytest.raises(ZeroDivisionError), admission.permit(3):
        raise ZeroDivisionError
    assert admission.held == 0


async def test_permits_come_back_after_a_cancellation() -> None:
    admission = Admission(3)

    async def hold() -> None:
        with admission.permit(3):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    assert admission.held == 3
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert admission.held == 0


@given(st.integers(1, 10), st.lists(st.integers(1, 5), max_size=12))
def test_never_more_than_the_limit_is_held(limit: int, wanted: list[int]) -> None:
    admission = Admission(limit)

    def nest(rest: list[int]) -> None:
        if not rest:
            return
        try:
            with admission.permit(rest[0]):
                assert admission.held <= limit
                nest(rest[1:])
        except OverloadedError:
            return

    nest(wanted)
    assert admission.held == 0
