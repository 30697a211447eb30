"""Tasks that run together and end together."""

from __future__ import annotations

import asyncio

import pytest

from shared.runtime.tasks import gather_results


async def _value(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def test_gather_results_keeps_the_order() -> None:
    assert await gather_results([_value(1)]) == [1]
    assert await gather_results(map(_value, range(4))) == [0, 1, 2, 3]


async def test_gather_results_raises_first_error_and_cancels_the_rest() -> None:
    cancelled = asyncio.Event()

    async def endless() -> int:
        try:
            return await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def failing() -> int:
        await asyncio.sleep(0)
        raise LookupError

    with pytest.raises(LookupError):
        await gather_results([endless(), failing()])
    assert cancelled.is_set()
