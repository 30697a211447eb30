"""The feed: one rendering for all viewers, at once where that is urgent."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from proxy.status import feed as feed_module
from proxy.status.feed import (
    LONGEST_PAUSE_SECONDS,
    MAX_VIEWERS,
    RENDER_SHARE,
    ROUTINE_SECONDS,
    URGENT_SECONDS,
    StatusFeed,
)
from shared.protocol.errors import OverloadedError
from tests.support.clock import HandClock
from tests.support.waiting import wait_until


class Source:
    """What is rendered."""

    def __init__(self, clock: HandClock) -> None:
        self.content = b'{"a":1}'
        self.renders = 0
        self.takes = 0.0
        self.behind = 0.0
        self._clock = clock

    def times(self, behind: float) -> bytes:
        self.behind = behind
        return b'{"now":%d}' % self._clock.now

    def render(self) -> bytes:
        self.renders += 1
        self._clock.now += self.takes
        if self.content == b"":
            raise ValueError("cannot render")
        return self.content


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def feed(clock: HandClock) -> StatusFeed:
    return StatusFeed(clock)


@pytest.fixture
def source(clock: HandClock) -> Source:
    return Source(clock)


def test_polls_within_a_second_share_a_rendering(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    assert [feed.current(source) for _ in range(3)] == [b'{"now":1000,"a":1}'] * 3
    assert source.renders == 1
    clock.now += URGENT_SECONDS
    source.content = b'{"a":2}'
    assert feed.current(source) == b'{"now":1001,"a":2}'


def test_poll_has_the_time_of_now_though_nothing_changed(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    feed.current(source)
    clock.now += 7
    assert feed.current(source) == b'{"now":1007,"a":1}'
    assert (source.renders, feed.version) == (2, 1)


def test_poll_between_slow_renderings_has_the_time_too(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    source.takes = 1.0
    feed.current(source)
    clock.now += 3
    assert feed.current(source) == b'{"now":1004,"a":1}'
    assert (source.renders, source.behind) == (1, 4 - ROUTINE_SECONDS)


def test_slow_rendering_is_rare(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    source.takes = 0.03
    feed.current(source)
    for is_urgent in (True, False):
        assert feed.next_render_at(urgent=is_urgent) == pytest.approx(clock.now + RENDER_SHARE * 0.03)


@pytest.mark.parametrize("takes", [0.2, 10.0])
def test_no_rendering_puts_the_next_far_away(feed: StatusFeed, source: Source, clock: HandClock, takes: float) -> None:
    source.takes = takes
    feed.current(source)
    for is_urgent in (True, False):
        assert feed.next_render_at(urgent=is_urgent) == clock.now + LONGEST_PAUSE_SECONDS


def test_pause_within_a_rendering_makes_its_content_old(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    source.takes = 10.0
    feed.current(source)
    assert source.behind == 10 - ROUTINE_SECONDS
    source.takes = 0.0
    clock.now += LONGEST_PAUSE_SECONDS
    feed.current(source)
    assert (source.renders, source.behind) == (2, 0)


def test_routine_waits_longer_than_urgent_changes(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    feed.current(source)
    assert feed.next_render_at(urgent=True) == clock.now + URGENT_SECONDS
    assert feed.next_render_at(urgent=False) == clock.now + ROUTINE_SECONDS


async def test_viewers_share_messages(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(feed.viewing(source))
        assert {await feed.after(0, source) for _ in range(50)} == {("status", b'{"now":1000,"a":1}', 1)}
        waiting = [asyncio.create_task(feed.after(1, source)) for _ in range(50)]
        await asyncio.sleep(0)
        renders, source.content = source.renders, b'{"a":2}'
        clock.now += URGENT_SECONDS  # so that it is due at once
        feed.wake()
        assert set(await asyncio.gather(*waiting)) == {("status", b'{"now":1001,"a":2}', 2)}
        assert source.renders == renders + 1


async def test_failed_rendering_ends_no_stream(feed: StatusFeed, source: Source, clock: HandClock) -> None:
    async with feed.viewing(source):
        source.content = b""
        clock.now += URGENT_SECONDS
        feed.wake()
        await wait_until(lambda: source.renders > 1, 5)
        source.content = b'{"a":2}'
        clock.now += URGENT_SECONDS
        feed.wake()
        assert await feed.after(1, source) == ("status", b'{"now":1002,"a":2}', 2)


async def test_sign_of_life_needs_no_rendering(
    feed: StatusFeed, source: Source, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "LIFE_SECONDS", 0.01)
    monkeypatch.setattr(feed_module, "LONGEST_PAUSE_SECONDS", 100.0)
    source.takes = 1.0  # so that the next rendering is far away
    async with feed.viewing(source):
        await wait_until(lambda: source.renders == 2, 5)
        clock.now += 5
        assert await feed.after(1, source) == ("alive", b'{"now":1007}', 1)
        assert (source.renders, source.behind) == (2, 6 - ROUTINE_SECONDS)


async def test_late_viewer_gets_the_times_of_now(
    feed: StatusFeed, source: Source, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "LONGEST_PAUSE_SECONDS", 100.0)
    source.takes = 1.0  # so that the next rendering is far away
    async with feed.viewing(source), feed.viewing(source):
        await wait_until(lambda: source.renders == 2, 5)
        clock.now += 50
        assert await feed.after(0, source) == ("status", b'{"now":1052,"a":1}', 1)
        assert (source.renders, source.behind) == (2, 51 - ROUTINE_SECONDS)


async def test_status_that_cannot_be_rendered_looks_dead(
    feed: StatusFeed, source: Source, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_module, "LIFE_SECONDS", 0.01)
    async with feed.viewing(source):
        await feed.after(0, source)
        renders, source.content = source.renders, b""
        clock.now += URGENT_SECONDS
        feed.wake()
        await wait_until(lambda: source.renders > renders, 5)
        waiting = [asyncio.create_task(feed.after(version, source)) for version in (0, 1)]
        await asyncio.sleep(0.05)  # several times LIFE_SECONDS
        assert not any(each.done() for each in waiting)
        with pytest.raises(ValueError, match="cannot"):
            feed.current(source)
        source.content = b'{"a":1}'
        clock.now += URGENT_SECONDS
        feed.wake()
        assert await asyncio.gather(*waiting) == [("status", b'{"now":1002,"a":1}', 1), ("alive", b'{"now":1002}', 1)]


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
        assert await feed.after(0, source) == ("status", b'{"now":1100,"a":1}', feed.version)
        assert source.renders > renders, "not what the last viewer saw"


async def test_closed_feed_ends_streams(feed: StatusFeed, source: Source) -> None:
    async with feed.viewing(source):
        waiting = asyncio.create_task(feed.after(1, source))
        await asyncio.sleep(0)
        await feed.close()
        assert await waiting is None
        assert await feed.after(0, source) is None


async def test_viewers_are_bounded(feed: StatusFeed, source: Source) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(MAX_VIEWERS):
            await stack.enter_async_context(feed.viewing(source))
        with pytest.raises(OverloadedError) as refused:
            await stack.enter_async_context(feed.viewing(source))
        assert refused.value.retry_after
    async with feed.viewing(source):
        pass
