"""HTTP endpoints for operators: change models while serving."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPBearer

from apiserver.changes.model_list import Models
from apiserver.changes.orders import ChangeOrder, ReloadOrder, RollbackOrder
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
    "responses": problem_documentation((400, 401, 403, 404, 408, 409, 413, 415, 422, 431, 503)),
}


@routes.get("/models", **_READ)
async def models(request: Request) -> Models:
    """List this server's models, the change that runs, and the last one."""
    return await context(request).changer.models()


@routes.post("/models/changes", openapi_extra=body_documentation(ChangeOrder), **_CHANGE)
async def change(request: Request) -> Models:
    """Replace a model by an entry of the catalog on disk.

    The new model is loaded beside the old one, proven by canaries, switched to; then the old one is unloaded.
    """
    changer = context(request).changer
    await changer.change(await read_operator_body(request, ChangeOrder, context(request).bodies))
    return await changer.models()


@routes.post("/models/changes/current/switch", **_CHANGE)
async def switch(request: Request) -> Models:
    """Let the held, proven candidate serve."""
    changer = context(request).changer
    changer.switch()
    return await changer.models()


@routes.delete("/models/changes/current", **_CHANGE)
async def abandon(request: Request) -> Models:
    """Unload the candidate; the old model serves on."""
    changer = context(request).changer
    changer.abandon()
    return await changer.models()


@routes.post("/models/rollback", openapi_extra=body_documentation(RollbackOrder), **_CHANGE)
async def rollback(request: Request) -> Models:
    """Return to the model that served before, by the same steps."""
    changer = context(request).changer
    await changer.rollback(await read_operator_body(request, RollbackOrder, context(request).bodies))
    return await changer.models()


@routes.post("/models/reload", openapi_extra=body_documentation(ReloadOrder), **_CHANGE)
async def reload(request: Request) -> Models:
    """Replace, one after the other, models whose files on disk differ."""
    changer = context(request).changer
    await changer.reload(await read_operator_body(request, ReloadOrder, context(request).bodies))
    return await changer.models()
