"""Endpoints for operators: the fleet, its overrides, live status, and metrics."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel, StrictStr

from proxy.api import operators
from proxy.api.views import fleet_view
from proxy.context import ProxyContext, context
from proxy.fleet.admin import AppliedOverride
from proxy.fleet.expected_replicas import ReplicaCount
from proxy.urls import MAX_CHARS, replica_url
from shared.http.body import OPERATOR_READER
from shared.http.event_stream import EventSeries
from shared.http.openapi import METRICS_DOCUMENTATION, body_documentation, problem_documentation
from shared.http.probes import metrics_response
from shared.http.problems import JsonBytesResponse
from shared.protocol import sse_format
from shared.protocol.errors import InvalidRequestError
from shared.protocol.report import MAX_WEIGHT

Url = Annotated[
    StrictStr,
    Field(description="http://HOST:PORT; a host name means all its addresses.", max_length=MAX_CHARS),
    AfterValidator(replica_url),
]


class Addressed(BaseModel):
    """The replica, or the host name of several, to drain or resume."""

    model_config = ConfigDict(extra="forbid")

    url: Url


class Added(Addressed):
    """The replica to add or change.

    A weight of null means the weight that the replica reports; without the field the weight does not change.
    """

    weight: Annotated[float | None, Field(ge=1 / MAX_WEIGHT, le=MAX_WEIGHT, strict=True)] = None


class ExpectedCounts(RootModel[dict[str, ReplicaCount | None]]):
    """Expected replicas by service, such as {"apiserver-de": 3}; null: no number."""


routes = APIRouter()

# The empty requirement in addition to the observer's says that neither may be needed.
WATCH: Final[dict[str, Any]] = {"dependencies": [operators.WATCHER], "openapi_extra": {"security": [{}]}}
WATCH_PROBLEMS: Final = problem_documentation((401, 403, 503))
CHANGE: Final[dict[str, Any]] = {
    "dependencies": [operators.OPERATOR],
    "responses": problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 431, 503, 504)),
}
URL_DOCUMENTATION: Final = {"name": "url", "in": "query", "required": True}


def _view(parts: ProxyContext) -> fleet_view.FleetView:
    return fleet_view.FleetView(parts.fleet.registry, parts.local_stats, time.time())


def _changed(request: Request, applied: AppliedOverride) -> fleet_view.Changed:
    return _view(context(request)).changed(applied)  # a new view, because the change may have taken time


@routes.get("/fleet", response_model=fleet_view.Fleet, responses=WATCH_PROBLEMS, **WATCH)
async def fleet(request: Request) -> Response:
    """List every replica as this proxy sees it.

    Each has its state, score, circuit breakers, texts in flight, last report, and the reason why it gets no requests.
    Needs no key if keys are off.
    """
    parts = context(request)
    return JsonBytesResponse(await parts.renderings.fleet.get(lambda: _view(parts).fleet()))


@routes.get("/metrics", response_class=PlainTextResponse, responses=METRICS_DOCUMENTATION | WATCH_PROBLEMS, **WATCH)
async def metrics(request: Request) -> Response:
    """Return this proxy's metrics in Prometheus' text format.

    Needs no key if keys are off.
    """
    parts = context(request)
    return await metrics_response(parts.renderings.metrics, parts.process.metrics.registry)


@routes.post("/fleet/replicas", openapi_extra=body_documentation(Added), **CHANGE)
async def add(request: Request, exchange: operators.Entered) -> fleet_view.Changed:
    """Add a replica, or all addresses of a host name.

    A replica that exists already gets the weight, if one is given.
    """
    body = await operators.read(exchange, Added)
    keeps = "weight" not in body.model_fields_set
    return _changed(request, await context(request).fleet.admin.add(body.url, body.weight, keeps_weight=keeps))


@routes.delete(
    "/fleet/replicas",
    openapi_extra={"parameters": [URL_DOCUMENTATION | {"schema": {"type": "string", "maxLength": MAX_CHARS}}]},
    **CHANGE,
)
async def remove(request: Request) -> fleet_view.Changed:
    """Remove a replica, or all addresses of a host name.

    It stays removed until it is added again, also if it is in the settings.
    """
    if not set(request.query_params) <= Addressed.model_fields.keys():  # unnamed: an answer repeats no query
        raise InvalidRequestError([("query", "has another parameter than url")])
    query = OPERATOR_READER.validated(dict(request.query_params), Addressed)
    return _changed(request, await context(request).fleet.admin.remove(query.url))


@routes.post("/fleet/replicas/drain", openapi_extra=body_documentation(Addressed), **CHANGE)
async def drain(request: Request, exchange: operators.Entered) -> fleet_view.Changed:
    """Send a replica no new requests; those in flight continue."""
    body = await operators.read(exchange, Addressed)
    return _changed(request, await context(request).fleet.admin.drain(body.url))


@routes.post("/fleet/replicas/resume", openapi_extra=body_documentation(Addressed), **CHANGE)
async def resume(request: Request, exchange: operators.Entered) -> fleet_view.Changed:
    """Send requests to a drained replica again."""
    body = await operators.read(exchange, Addressed)
    return _changed(request, await context(request).fleet.admin.resume(body.url))


@routes.put("/fleet/expected", openapi_extra=body_documentation(ExpectedCounts), **CHANGE)
async def expect(request: Request, exchange: operators.Entered) -> fleet_view.ExpectedServices:
    """Set how many ready replicas a service should have.

    Services are the host names in PROXY_REPLICAS; those not named do not change. With fewer, /health is degraded.
    """
    body, parts = await operators.read(exchange, ExpectedCounts), context(request).fleet
    shared = await parts.admin.expect(body.root)
    return fleet_view.ExpectedServices(shared=shared, services=fleet_view.service_lines(parts.registry.services))


# Then a viewer connects again, and shows the key again.
MAX_STREAM_SECONDS: Final = 600.0


@routes.get("/status/data", response_model=fleet_view.FleetStatus, responses=WATCH_PROBLEMS, **WATCH)
async def status_data(request: Request) -> Response:
    """Return the live status of the fleet: pairs, replicas, traffic, events.

    At most a few seconds old. Needs no key if keys are off.
    """
    parts = context(request)
    return JsonBytesResponse(parts.status.feed.current(fleet_view.LiveStatus(parts)))


@routes.get("/status/stream", responses=WATCH_PROBLEMS | {200: {"content": {sse_format.EVENT_STREAM: {}}}}, **WATCH)
async def status_stream(request: Request) -> Response:
    """Stream the live status: events ``status``, the JSON of ``/status/data``.

    One comes when something changed, at most one a second. After 5 seconds without, one named ``alive`` has the times ``now`` and ``known_at`` alone.
    The stream ends after 10 minutes.
    """
    return EventSeries(request, _events(context(request)))


async def _events(parts: ProxyContext) -> AsyncGenerator[bytes]:
    feed, version = parts.status.feed, 0
    source = fleet_view.LiveStatus(parts)
    until = time.monotonic() + MAX_STREAM_SECONDS
    async with feed.viewing(source):
        while time.monotonic() < until and (event := await feed.after(version, source)) is not None:
            version = event.version
            yield sse_format.encode(event.name, event.data)
