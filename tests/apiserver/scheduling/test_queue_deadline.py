"""The queue deadline: the limit of a request's wait for a first slot, then its deadline."""

from __future__ import annotations

import asyncio
import time

import pytest

from apiserver.scheduling.queue_deadline import QueueDeadline, QueueTimeoutError
from shared.protocol.deadline import Deadline
from shared.protocol.errors import DeadlineExceededError


def deadline_of(seconds: float, limit: float | None = None) -> QueueDeadline:
    queue = QueueDeadline(Deadline.after(seconds, time.monotonic))
    if limit is not None:
        queue.limit(limit)
    return queue


async def wait_for_ever(queue: QueueDeadline, *, begins: bool = False) -> None:
    async with queue.enforced():
        queue.wait()
        if begins:
            queue.begin()
        await asyncio.Event().wait()


async def test_wait_ends_at_the_queue_deadline() -> None:
    with pytest.raises(QueueTimeoutError):
        await wait_for_ever(deadline_of(60, limit=0.01))


async def test_request_that_began_has_its_whole_deadline() -> None:
    queue = deadline_of(60, limit=0.01)
    async with queue.enforced():
        queue.wait()
        queue.begin()
        queue.wait()
        await asyncio.sleep(0.05)
    assert queue.begun_at is not None


async def test_request_that_began_ends_at_its_deadline() -> None:
    with pytest.raises(DeadlineExceededError):
        await wait_for_ever(deadline_of(0.02, limit=0.01), begins=True)


@pytest.mark.parametrize("limit", [None, 60.0])
async def test_wait_without_an_earlier_limit_ends_at_the_deadline(limit: float | None) -> None:
    with pytest.raises(DeadlineExceededError):
        await wait_for_ever(deadline_of(0.01, limit))


async def test_canary_that_is_not_enforced_waits_on() -> None:
    queue = deadline_of(0.0, limit=0.0)
    queue.wait()
    await asyncio.sleep(0.01)
    queue.begin()
    assert queue.begun_at is not None
