"""FastPath: ``POST /translate`` from the socket to the answer, without the layers that FastAPI has for all paths.

What a translation costs beside its model is mostly framework: matching of routes, dependencies, stacks of contexts, three
layers of middleware (docs/decisions/0018-hot-path.md has the figures). Both servers therefore answer this one path
here, with the same function that FastAPI's route of the path calls. That route documents the path, and serves pages of
other origins, for which FastAPI's middleware knows the rules.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from shared.http.problems import logged_problem_response
from shared.http.request_context import RequestContext, route_path
from shared.protocol.errors import PairwayError

TRANSLATE_PATH: Final = "/translate"


class FastPath:
    """ASGI middleware, the outermost: answers ``POST /translate`` and passes everything else on."""

    def __init__(self, app: ASGIApp, handler: Callable[[Request], Awaitable[Response]]) -> None:
        """Wrap the app; ``handler`` is the function that its route of the path calls."""
        self._app = app
        self._handler = handler
        self._fast_app = RequestContext(self._serve)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        await (self._fast_app if _takes_fast_path(scope) else self._app)(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; what is no PairwayError is for the app's outermost layer, which is before us."""
        request = Request(scope, receive, send)
        try:
            response = await self._handler(request)
            await response(scope, receive, send)
        except PairwayError as error:  # before anything was sent: a stream that has begun says itself how it ended
            await logged_problem_response(request, error)(scope, receive, send)


def _takes_fast_path(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "POST" or route_path(scope) != TRANSLATE_PATH:
        return False
    return all(name != b"origin" for name, _ in scope["headers"])
