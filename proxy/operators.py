"""HTTP surface for operators: the fleet to look at, and its changes behind the operator token."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Final, TypeVar, cast

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictStr, ValidationError
from pydantic_core import from_json

from proxy import fleet_view as view
from proxy.replica_url import MAX_CHARS, replica_url
from shared import token, web
from shared.deadline import Deadline
from shared.errors import (
    BadRequestError,
    InvalidRequestError,
    OperatorOffError,
)

if TYPE_CHECKING:
    from pydantic import SecretStr

    from proxy.app import Parts

M = TypeVar("M", bound=BaseModel)

# A URL and a weight; whatever is longer is no order of an operator's.
MAX_BODY_BYTES: Final = 4096
BODY_SECONDS: Final = 5.0
MAX_FIELDS_NAMED: Final = 10
# A hundred times an ordinary one's share, or a hundredth: beyond that somebody mistyped.
MAX_WEIGHT: Final = 100.0

Url = Annotated[
    StrictStr,
    Field(description="http://HOST:PORT; a host name stands for all its addresses.", max_length=MAX_CHARS),
    AfterValidator(replica_url),
]


class Addressed(BaseModel):
    """What is to be drained or resumed."""

    model_config = ConfigDict(extra="forbid")

    url: Url


class Added(Addressed):
    """What is to be added, or changed; a weight of null is the one that it reports, without any it keeps what it has."""

    weight: Annotated[float | None, Field(ge=1 / MAX_WEIGHT, le=MAX_WEIGHT, strict=True)] = None


routes = APIRouter()

CHANGE_PROBLEMS: Final = web.problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 431, 503, 504))


def _parts(request: Request) -> Parts:
    return request.app.state.parts


@routes.get("/fleet")
async def fleet(request: Request) -> view.Fleet:
    """Every replica: state, score, breakers, texts in flight, last report, and why it is out. Open, as /health is."""
    return _parts(request).control.fleet()


@routes.get("/metrics", response_class=PlainTextResponse, responses=web.METRICS_DOC)
async def metrics(request: Request) -> Response:
    """This proxy's metrics in Prometheus' text format."""
    parts = _parts(request)
    for loop in parts.loops:
        parts.metrics.loop_age.labels(loop.name).set(loop.age())
    snapshot = parts.registry.snapshot
    parts.metrics.pair_failing.clear()
    for pair, urls in snapshot.ready.items():
        if urls:
            parts.metrics.pair_failing.labels(str(pair)).set(len(parts.evidence.out(pair, snapshot)))
    return web.metrics_response(parts.metrics.registry)


@routes.post(
    "/fleet/replicas",
    response_model=view.Changed,
    responses=CHANGE_PROBLEMS,
    openapi_extra=web.body_documentation(Added),
)
async def add(request: Request) -> view.Changed:
    """Add a replica, or all addresses of a host name; one that is there already gets the weight, if one is given."""
    _authorize(request)
    asked = await _body(request, Added)
    keeps = "weight" not in asked.model_fields_set
    return await _parts(request).control.add(asked.url, asked.weight, keeps_weight=keeps)


@routes.delete(
    "/fleet/replicas",
    response_model=view.Changed,
    responses=CHANGE_PROBLEMS,
    openapi_extra={
        "parameters": [
            {"name": "url", "in": "query", "required": True, "schema": {"type": "string", "maxLength": MAX_CHARS}}
        ]
    },
)
async def remove(request: Request) -> view.Changed:
    """Remove a replica, or all addresses of a host name, also one of the settings, until it is added again."""
    _authorize(request)
    asked = _validated(Addressed, dict(request.query_params))
    return await _parts(request).control.remove(asked.url)


@routes.post(
    "/fleet/replicas/drain",
    response_model=view.Changed,
    responses=CHANGE_PROBLEMS,
    openapi_extra=web.body_documentation(Addressed),
)
async def drain(request: Request) -> view.Changed:
    """Send no new requests there; what is in flight goes on."""
    _authorize(request)
    asked = await _body(request, Addressed)
    return await _parts(request).control.drain(asked.url)


@routes.post(
    "/fleet/replicas/resume",
    response_model=view.Changed,
    responses=CHANGE_PROBLEMS,
    openapi_extra=web.body_documentation(Addressed),
)
async def resume(request: Request) -> view.Changed:
    """Send requests there again."""
    _authorize(request)
    asked = await _body(request, Addressed)
    return await _parts(request).control.resume(asked.url)


def _authorize(request: Request) -> None:
    check_token(_parts(request).settings.operator_token, request.headers.get("authorization"))


def check_token(operator: SecretStr, authorization: str | None) -> None:
    """Let in who has the operator token.

    Raises:
        OperatorOffError: there is none to have.
        KeyRequiredError: none was shown.
        KeyRefusedError: another one was shown.
    """
    if not operator.get_secret_value():
        raise OperatorOffError("To change the fleet at run time, start every proxy with PROXY_OPERATOR_TOKEN set.")
    token.check(operator, authorization, what="Changes of the fleet", whose="the operator")


async def _body(request: Request, model: type[M]) -> M:
    """Read an operator's order.

    Raises:
        PairwayError: it is too large, too slow, no JSON, or a field of it is wrong.
    """
    deadline = Deadline.after(BODY_SECONDS, time.monotonic)
    with _parts(request).bodies.hold() as hold:
        body = await web.read_body(request, MAX_BODY_BYTES, deadline, hold)
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequestError(f"The body is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadRequestError("The body is JSON, but not an object with a url.")
    return _validated(model, cast("dict[str, object]", value))


def _validated(model: type[M], members: dict[str, object]) -> M:
    try:
        return model.model_validate(members)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[:MAX_FIELDS_NAMED]
        told = [(str(item["loc"][0])[:64], item["msg"].removeprefix("Value error, ")) for item in found]
        raise InvalidRequestError(told) from None
