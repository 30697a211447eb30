"""Lists of languages: rendered once for each state of the fleet, whoever asks."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import MappingProxyType

import pytest

from proxy.fleet.snapshot import Snapshot
from proxy.routing.language_lists import LanguageLists, Languages, RequestLimits, languages_render
from proxy.routing.pivots import PivotOrder
from tests.proxy.samples import replica, snapshot

PIVOTS = PivotOrder(("en",), lambda _: 0.0)
LIMITS = RequestLimits(texts=2, characters=3, bytes=4, targets=5)
FLEET = snapshot(replica("a", "de>en"))


class Renderer:
    """Renders the sources; counts, and waits until it may."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self, fleet: Snapshot, pivots: PivotOrder | None) -> bytes:
        assert pivots is PIVOTS
        self.calls += 1
        assert self.may_go_on.wait(30)
        return " ".join(sorted(fleet.by_source)).encode()


async def test_list_is_kept_until_ready_pairs_change() -> None:
    lists, render, other = LanguageLists(PIVOTS), Renderer(), Renderer()
    for _ in range(3):
        same_pairs = replace(FLEET, replicas=MappingProxyType({}))
        assert await lists.get(render, FLEET) == await lists.get(render, same_pairs) == b"de"
    assert (render.calls, await lists.get(other, FLEET), other.calls) == (1, b"de", 1)
    assert await lists.get(render, snapshot(replica("a", "fr>en"))) == b"fr"
    assert (await lists.get(render, FLEET), render.calls) == (b"de", 3)


async def test_requests_at_once_wait_for_one_rendering() -> None:
    lists, render = LanguageLists(PIVOTS), Renderer()
    render.may_go_on.clear()
    waiting = [asyncio.create_task(lists.get(render, FLEET)) for _ in range(20)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting[0]
    render.may_go_on.set()
    assert await asyncio.gather(*waiting[1:]) == [b"de"] * 19
    assert render.calls == 1


async def test_failed_rendering_is_not_kept() -> None:
    lists, calls = LanguageLists(PIVOTS), 0

    def render(fleet: Snapshot, pivots: PivotOrder | None) -> bytes:
        nonlocal calls
        del fleet, pivots
        calls += 1
        if calls == 1:
            raise RuntimeError("no thread")
        return b"de"

    with pytest.raises(RuntimeError, match="no thread"):
        await lists.get(render, FLEET)
    assert await lists.get(render, FLEET) == await lists.get(render, FLEET) == b"de"
    assert calls == 2


def test_languages_are_grouped_by_source() -> None:
    fleet = snapshot(replica("http://a", "en>de", "de>en"), remembered=("en>fr",))
    found = Languages.model_validate_json(languages_render(LIMITS)(fleet, None))
    assert [(each.lang, [(to.lang, to.ready) for to in each.targets]) for each in found.languages] == [
        ("de", [("en", True)]),
        ("en", [("de", True), ("fr", False)]),
    ]
