"""Endpoints for health, languages, probes and usage."""

from __future__ import annotations

import time

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from proxy.api.http_exchange import KEY, NO_KEY, exchange_of
from proxy.api.views import fleet_view
from proxy.context import ProxyContext, context
from proxy.exchange.exchange import SMALL_SECONDS
from proxy.exchange.key_places import HEADER
from proxy.keys.quota import limit_headers
from proxy.keys.usage import Usage
from proxy.routing import language_lists
from shared.http.openapi import PROBE_DOCUMENTATION, problem_documentation
from shared.http.probes import livez_response, startupz_response
from shared.http.request_context import add_response_headers
from shared.protocol.errors import NotFoundError

routes = APIRouter()


@routes.get("/usage", responses=problem_documentation((401, 403, 404, 503)), dependencies=[KEY], openapi_extra=NO_KEY)
async def usage(request: Request) -> Usage:
    """Show a caller their key and its usage.

    This request is not counted. The answer is 404 if keys are off.
    """
    with exchange_of(request, SMALL_SECONDS, counts=False) as exchange:
        await exchange.identify(HEADER.in_head(exchange.peer))
        key = exchange.key
        if key is None:
            raise NotFoundError("Keys are off on this proxy: it counts no usage and limits nobody.")
        used = await exchange.before_deadline(context(request).keys.authenticator.meter.usage(key))
    add_response_headers(request, limit_headers(key, used))
    return Usage.of(key.view, used)


@routes.head("/health", include_in_schema=False)
@routes.get("/health", response_model=fleet_view.Health, responses={503: {"model": fleet_view.Health}})
async def health(request: Request) -> Response:
    """Return the fleet's health: 200 for ok and degraded, 503 for down.

    The answer never waits for Redis or a replica.
    """
    parts = context(request)
    status, body = await parts.renderings.health.get(lambda: _health(parts))
    return Response(body, status, media_type="application/json")


def _health(parts: ProxyContext) -> tuple[int, bytes]:
    """Return status and body of the fleet's health; in another thread."""
    registry = parts.fleet.registry
    status, body = fleet_view.health(
        registry.snapshot,
        registry.services,
        parts.local_stats,
        parts.status.monitor.issues(registry.snapshot),
        redis_error=registry.redis_error,
        leading=registry.is_leader,
        uptime=time.time() - parts.process.started_at,
        now=time.time(),
    )
    return 503 if status == "down" else 200, body


@routes.get("/languages", response_model=language_lists.Languages)
async def languages(request: Request) -> Response:
    """List every source language, its targets, and whether they are ready now.

    ``limits`` are those of a request.
    """
    parts = context(request)
    lists, render = parts.translation.language_lists, parts.translation.languages_render
    body = await lists.get(render, parts.fleet.registry.snapshot)
    return Response(body, media_type="application/json")


@routes.head("/livez", include_in_schema=False)
@routes.get("/livez", responses=PROBE_DOCUMENTATION)
async def livez(request: Request) -> Response:
    """Answer 200 while the background loops run; independent of Redis and load."""
    return livez_response(context(request).process.loops)


@routes.head("/readyz", include_in_schema=False)
@routes.get("/readyz", responses=PROBE_DOCUMENTATION)
async def readyz(request: Request) -> Response:
    """Answer 200 after the first sweep and until draining, otherwise 503."""
    parts = context(request)
    draining = parts.process.draining.is_set()
    ready = parts.fleet.registry.swept.is_set() and not draining
    return JSONResponse({"ready": ready, "draining": draining}, 200 if ready else 503)


@routes.head("/startupz", include_in_schema=False)
@routes.get("/startupz", responses=PROBE_DOCUMENTATION)
async def startupz(request: Request) -> Response:
    """Answer 200 once every pair was ready, otherwise 503.

    These are the pairs of all replicas that answer.
    """
    fleet = context(request).fleet
    return startupz_response(fleet.startup, swept=fleet.registry.swept.is_set())
