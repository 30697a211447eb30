"""A server in a process of its own, which answers commands on its standard input with JSON, one line each.

``python -m tests.bounds.server_process proxy '{"replicas": [...]}'``. Commands: ``routes``, ``fill``, ``memory``, ``growth``.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import inspect
import json
import logging
import os
import sys
from collections import deque
from collections.abc import Sequence
from functools import _lru_cache_wrapper  # pyright: ignore[reportPrivateUsage] - the type of all such caches
from pathlib import Path
from typing import Any, cast

from fastapi import FastAPI
from starlette.routing import Route

from tests.bounds.places import Place, shared_places
from tests.support.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.support.serving import serving

# Entries by which a container has grown that is worth a line.
GROWN = 1000


def build(server: str, settings: dict[str, Any]) -> tuple[FastAPI, Sequence[Place]]:
    """Return the app and its places; only this server's code is imported."""
    if server == "proxy":
        from proxy.app import create_app  # noqa: PLC0415 - see above
        from proxy.settings import ProxySettings  # noqa: PLC0415
        from tests.bounds.proxy_places import proxy_places  # noqa: PLC0415

        return create_app(ProxySettings(**settings)), (*shared_places(), *proxy_places())
    from apiserver.app import create_app as create_apiserver  # noqa: PLC0415
    from apiserver.settings import ApiServerSettings  # noqa: PLC0415
    from tests.bounds.apiserver_places import apiserver_places  # noqa: PLC0415

    factory = ScriptedFactory(prepare=_forgets)
    app = create_apiserver(ApiServerSettings.model_validate(settings), cast("Any", factory))
    return app, (*shared_places(), *apiserver_places())


def _forgets(engine: ScriptedEngine) -> None:
    engine.asked = cast("list[Any]", deque[Any](maxlen=1))


async def fill(places: Sequence[Place]) -> dict[str, tuple[int | None, int]]:
    """Offer each place more than it may keep; return sizes and bounds."""
    found: dict[str, tuple[int | None, int]] = {}
    for place in places:
        for number in range(place.offers or place.bound + place.bound // 10 + 10):
            filled = place.fill(number)
            if inspect.isawaitable(filled):
                await filled
        found[place.name] = place.size() if place.size is not None else None, place.bound
    return found


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Return each method and path of the app."""
    found = [each for each in app.routes if isinstance(each, Route)]
    return sorted({(method, each.path) for each in found for method in each.methods or ()})


def resident_bytes() -> int:
    """Return this process' resident memory, without what it has freed."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sizes() -> dict[int, tuple[str, int]]:
    """Return each container of the process with its size, and each cache of functools; for messages."""
    found: dict[int, tuple[str, int]] = {}
    gc.unfreeze()  # the servers freeze what they have loaded, and frozen objects are not listed
    for each in gc.get_objects():
        if isinstance(each, _lru_cache_wrapper):
            cache = cast("Any", each)
            found[id(cache)] = str(getattr(cache, "__qualname__", cache)), cache.cache_info().currsize
        elif isinstance(each, dict | list | set | deque):
            container = cast("Any", each)
            if len(container) >= GROWN:
                first = next(iter(container))
                shown = repr(first)[:80] if isinstance(first, str | bytes | int) else type(first).__name__
                found[id(container)] = f"{type(container).__name__} with {shown}", len(container)
    return found


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def main(server: str, settings: dict[str, Any]) -> None:
    """Serve until the standard input ends."""
    logging.getLogger().setLevel(logging.CRITICAL)
    app, places = build(server, settings)
    before: dict[int, tuple[str, int]] = {}
    async with serving(app, trusted_proxies=("127.0.0.1",)) as served:
        _say(served.port)
        while command := (await asyncio.to_thread(sys.stdin.readline)).strip():
            answer: object = None
            match command:
                case "routes":
                    answer = routes(app)
                case "fill":
                    answer = await fill(places)
                case "memory":
                    answer = resident_bytes()
                case _:
                    now = sizes()
                    grown = {name: size - before.get(key, (name, 0))[1] for key, (name, size) in now.items()}
                    answer = {name: more for name, more in grown.items() if more >= GROWN}
                    before = now
            _say(answer)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
