"""HTTP endpoints for operators: change models while serving."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPBearer

from apiserver.changes.reports import Models, ReloadOrder
from apiserver.context import context
from shared.http.body import read_operator_body
from shared.http.openapi import body_documentation, problem_documentation
from shared.http.request_context import request_header
from shared.protocol.errors import OperatorOffError
from shared.protocol.headers import authenticate

routes = APIRouter()

_SCHEME: Final = Depends(HTTPBearer(scheme_name="operator", description="APISERVER_OPERATOR_TOKEN.", auto_error=False))


async def require_operator(request: Request, _: Any = _SCHEME) -> None:
    """Require the operator's token; a proxy's is refused.

    Raises:
        PairwayError: no token is configured (OperatorOffError), or it is missing or wrong.
    """
    token = context(request).settings.operator_token
    if not token.get_secret_value():
        raise OperatorOffError(
            "To change models while serving, start this API server with APISERVER_OPERATOR_TOKEN set."
        )
    shown = request_header(request, "authorization")
    authenticate(token, shown, subject="The calls of an operator", owner="this API server's operator")


_OPERATOR: Final[dict[str, Any]] = {"dependencies": [Depends(require_operator)]}
_READ: Final[dict[str, Any]] = {**_OPERATOR, "responses": problem_documentation((401, 403))}
_CHANGE: Final[dict[str, Any]] = {
    **_OPERATOR,
    "status_code": 202,
    "responses": problem_documentation((400, 401, 403, 408, 409, 413, 415, 422, 431, 503)),
}


@routes.get("/models", **_READ)
async def models(request: Request) -> Models:
    """Return what serves, what the catalog on disk says, and the reloads."""
    return await context(request).reloader.models()


@routes.post("/models/reload", openapi_extra=body_documentation(ReloadOrder), **_CHANGE)
async def reload(request: Request) -> Models:
    """Serve what the catalog on disk says.

    Each entry that differs is loaded beside what serves its pairs, proven by canaries, and takes their place.
    """
    reloader = context(request).reloader
    await reloader.reload(await read_operator_body(request, ReloadOrder, context(request).bodies))
    return await reloader.models()


@routes.delete("/models/reload", **_CHANGE)
async def cancel(request: Request) -> Models:
    """End the reload that runs; the old models serve on."""
    reloader = context(request).reloader
    reloader.cancel()
    return await reloader.models()
