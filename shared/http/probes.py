"""Responses of ``/livez``, ``/startupz`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from shared.runtime.background import Loop, StartupCheck
from shared.runtime.shared_rendering import SharedRendering


async def metrics_response(page: SharedRendering[bytes], registry: Collector) -> Response:
    """Render a registry in Prometheus' text format.

    Once for all who ask meanwhile, in a thread: thousands of series take 200 ms.
    """
    # generate_latest needs only collect(), which every Collector has.
    text = await page.get(lambda: generate_latest(registry))  # pyright: ignore[reportArgumentType]
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def livez_response(loops: Iterable[Loop]) -> JSONResponse:
    """Answer 200 while every loop ticks, else 503 with the stale loops."""
    dead = [loop.name for loop in loops if loop.is_stale()]
    return JSONResponse({"alive": not dead, "stale_loops": dead}, 503 if dead else 200)


def startupz_response(check: StartupCheck, *, swept: bool = True) -> JSONResponse:
    """Answer 200 once every known pair was ready, otherwise 503."""
    started = check.complete and swept
    return JSONResponse({"started": started, "missing": check.missing}, 200 if started else 503)
