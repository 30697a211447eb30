"""Responses of ``/livez`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from shared.runtime.background import Loop


def metrics_response(registry: Collector) -> Response:
    """Render a registry in Prometheus' text format."""
    # generate_latest needs only collect(), which every Collector has.
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)  # pyright: ignore[reportArgumentType]


def livez_response(loops: Iterable[Loop]) -> JSONResponse:
    """Answer 200 while every loop ticks, else 503 with the stale loops."""
    dead = [loop.name for loop in loops if loop.is_stale()]
    return JSONResponse({"alive": not dead, "stale_loops": dead}, 503 if dead else 200)
