"""SharedRendering: requests at once share one rendering, and none gets an answer that is older than itself."""

from __future__ import annotations

import asyncio
import threading

import pytest

from shared.runtime.shared_rendering import MAX_PAUSE_SECONDS, SharedRendering, pause_after

# The clock of most tests stands still, so no rendering takes time, and none is followed by a pause.
STILL = 0.0


class Renderer:
    """Counts its calls, each of which waits until it may go on."""

    def __init__(self) -> None:
        self.calls = 0
        self.began, self.may_go_on = threading.Event(), threading.Event()
        self.may_go_on.set()

    def __call__(self) -> int:
        self.calls += 1
        self.began.set()
        assert self.may_go_on.wait(60)
        return self.calls


def shared(clock: float = STILL) -> SharedRendering[int]:
    return SharedRendering("test", lambda: clock)


async def test_requests_at_once_share_one_rendering() -> None:
    rendering, render = shared(), Renderer()
    assert set(await asyncio.gather(*(rendering.get(render) for _ in range(64)))) == {1}
    assert await rendering.get(render) == 2


async def test_later_request_gets_no_earlier_rendering() -> None:
    rendering, render = shared(), Renderer()
    render.may_go_on.clear()
    first = asyncio.create_task(rendering.get(render))
    await asyncio.to_thread(render.began.wait, 60)
    later = [asyncio.create_task(rendering.get(render)) for _ in range(3)]
    await asyncio.sleep(0)
    render.may_go_on.set()
    assert await asyncio.gather(first, *later) == [1, 2, 2, 2]


async def test_client_that_leaves_takes_it_from_nobody() -> None:
    rendering, render = shared(), Renderer()
    render.may_go_on.clear()
    waiting = [asyncio.create_task(rendering.get(render)) for _ in range(3)]
    await asyncio.to_thread(render.began.wait, 60)
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    render.may_go_on.set()
    assert await asyncio.gather(*waiting[1:]) == [1, 1]


async def test_failed_rendering_is_followed_by_another() -> None:
    rendering = shared()

    def fail() -> int:
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError, match="no memory"):
        await rendering.get(fail)
    assert await rendering.get(lambda: 1) == 1


def test_renderings_take_a_tenth_of_a_core_at_most() -> None:
    assert pause_after(0.03) == pytest.approx(0.27)
    assert pause_after(60.0) == MAX_PAUSE_SECONDS
