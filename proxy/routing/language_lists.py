"""Language lists: what a fleet translates, in the forms of all APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder

# Renders one form of the list; each is a function of a module.
Render = Callable[[Snapshot, PivotOrder | None], bytes]


class LanguageLists:
    """Rendered lists of languages, kept until the ready pairs change."""

    def __init__(self, pivots: PivotOrder | None) -> None:
        self._pivots = pivots
        self._ready: object = None
        self._lists: dict[Render, asyncio.Task[bytes]] = {}

    async def get(self, render: Render, snapshot: Snapshot) -> bytes:
        """Return the list in this form; requests at once share one rendering."""
        if self._ready is not snapshot.ready:
            self._ready, self._lists = snapshot.ready, {}
        rendering = self._lists.get(render)
        if rendering is None or has_failed(rendering):
            # In a thread, because 100 languages take 50 ms; it is Python, which lets the event loop in every 5 ms.
            rendering = asyncio.create_task(asyncio.to_thread(render, snapshot, self._pivots))
            self._lists[render] = rendering
        return await asyncio.shield(rendering)  # whose client leaves, does not take the list from others


def has_failed(rendering: asyncio.Task[bytes]) -> bool:
    """Return whether a rendering ended without a list."""
    return rendering.done() and (rendering.cancelled() or rendering.exception() is not None)
