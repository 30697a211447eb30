"""Endpoints of the status page's data."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Final

from fastapi import APIRouter, Request, Response

from proxy.api.fleet import WATCH, WATCH_PROBLEMS
from proxy.api.views.status_view import FleetStatus, StatusView
from proxy.context import ProxyContext, context
from shared.http.event_stream import EventSeries
from shared.http.problems import JsonBytesResponse
from shared.protocol import sse

# The name of the stream's events.
STATUS: Final = "status"
# Then a viewer connects again, and shows the key again.
MAX_STREAM_SECONDS: Final = 600.0

routes = APIRouter()


@routes.get("/status/data", response_model=FleetStatus, responses=WATCH_PROBLEMS, **WATCH)
async def status_data(request: Request) -> Response:
    """Return the live status of the fleet: pairs, replicas, traffic, events.

    At most a few seconds old. Needs no key if keys are off.
    """
    parts = context(request)
    return JsonBytesResponse(parts.status.feed.current(lambda: _render(parts)))


@routes.get("/status/stream", responses=WATCH_PROBLEMS | {200: {"content": {sse.EVENT_STREAM: {}}}}, **WATCH)
async def status_stream(request: Request) -> Response:
    """Stream the live status as events named ``status``.

    Each is the JSON of ``/status/data``. One when something changed, at most one a second, and one every 10 seconds. It ends after 10 minutes.
    """
    return EventSeries(request, _events(context(request)))


async def _events(parts: ProxyContext) -> AsyncGenerator[bytes]:
    feed, version = parts.status.feed, 0
    until = time.monotonic() + MAX_STREAM_SECONDS
    async with feed.viewing(lambda: _render(parts)):
        while time.monotonic() < until and (latest := await feed.after(version)) is not None:
            version, message = latest
            yield sse.encode(STATUS, message)


def _render(parts: ProxyContext) -> bytes:
    return StatusView(parts, time.time()).render()
