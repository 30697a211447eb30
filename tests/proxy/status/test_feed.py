"""The feed: one rendering for all viewers, at once where that is urgent."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from proxy.status.feed import IDLE_SECONDS, MAX_VIEWERS, RENDER_SHARE, ROUTINE_SECONDS, URGENT_SECONDS, StatusFeed
from shared.protocol.errors import OverloadedError
from tests.support.clock import HandClock
from tests.support.waiting import wait_until


class Source:
    """What is rendered."""

    def __init__(self, clock: HandClock) -> None:
        self.content = b"{}"
        self.renders = 0
        self.takes = 0.0
        self._clock = clock

    def __call__(self) -> bytes:
        self.renders += 1
        self._clock.now += self.takes
        if self.content == b"":
            raise ValueError
        return self.content


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def feed(clock: HandClock) -> StatusFeed:
    return StatusFeed(clock, lambda content: b"now " + content)


@pytest.fixture
def source(clock: HandClock) -> Source:
    return Source(clock)


def test_polls_within_a_second_share_a_rendering(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    assert [feed.current(source) for _ in range(3)] == [b"now {}"] * 3
    assert source.renders == 1
    clock.now += URGENT_SECONDS
    source.content = b"[]"
    assert feed.current(source) == b"now []"


def test_same_content_is_a_message_when_idle(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    feed.current(source)
    clock.now += IDLE_SECONDS / 2
    feed.current(source)
    assert (source.renders, feed.version) == (2, 1)
    clock.now += IDLE_SECONDS / 2
    feed.current(source)
    assert feed.version == 2


def test_slow_rendering_is_rare(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    source.takes = 0.1
    feed.current(source)
    for is_urgent in (True, False):
        assert feed.next_render_at(urgent=is_urgent) == pytest.approx(clock.now + RENDER_SHARE * 0.1)


def test_routine_waits_longer_than_urgent_changes(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    feed.current(source)
    assert feed.next_render_at(urgent=True) == clock.now + URGENT_SECONDS
    assert feed.next_render_at(urgent=False) == clock.now + ROUTINE_SECONDS


async def test_viewers_share_messages(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(feed.viewing(source))
        assert {await feed.after(0) for _ in range(50)} == {(1, b"now {}")}
        waiting = [asyncio.create_task(feed.after(1)) for _ in range(50)]
        await asyncio.sleep(0)
        renders, source.content = source.renders, b"[]"
        clock.now += URGENT_SECONDS  # so that it is due at once
        feed.wake()
        assert set(await asyncio.gather(*waiting)) == {(2, b"now []")}
        assert source.renders == renders + 1


async def test_failed_rendering_ends_no_stream(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    async with feed.viewing(source):
        source.content = b""
        clock.now += URGENT_SECONDS
        feed.wake()
        await wait_until(lambda: source.renders > 1, 5)
        source.content = b"[]"
        clock.now += URGENT_SECONDS
        feed.wake()
        assert await feed.after(1) == (2, b"now []")


async def test_nothing_is_rendered_without_viewers(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    async with feed.viewing(source):
        pass
    renders = source.renders
    clock.now += 100.0
    feed.wake()
    for _ in range(5):
        await asyncio.sleep(0)
    assert source.renders == renders
    async with feed.viewing(source):
        assert await feed.after(0) == (feed.version, b"now {}")
        assert source.renders > renders, "not what the last viewer saw"


async def test_closed_feed_ends_streams(feed: StatusFeed, source: Source) -> None:
    async with feed.viewing(source):
        waiting = asyncio.create_task(feed.after(1))
        await asyncio.sleep(0)
        await feed.close()
        assert await waiting is None
        assert await feed.after(0) is None


async def test_viewers_are_bounded(feed: StatusFeed, source: Source) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MAX_VIEWERS):
            await stack.enter_async_context(feed.viewing(source))
        with pytest.raises(OverloadedError) as refused:
            await stack.enter_async_context(feed.viewing(source))
        assert refused.value.retry_after
    async with feed.viewing(source):
        pass
