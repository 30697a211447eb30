"""Compatible API: its name, paths, and format of errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from shared.http.problems import ErrorRenderer, retry_headers
from shared.protocol.errors import PairwayError

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class CompatRoute:
    """One path of an API, without its prefix.

    ``{name}`` in the path stands for one segment. ``at_root``: the path is served without the prefix too.
    """

    methods: tuple[str, ...]
    path: str
    handler: Handler
    at_root: bool = False

    @property
    def is_fast(self) -> bool:
        """Whether POSTs may go past FastAPI's layers."""
        return "POST" in self.methods and "{" not in self.path


@dataclass(frozen=True, slots=True)
class CompatApi:
    """One API; its name in ``PROXY_COMPAT`` is its prefix without the slash."""

    name: str
    routes: Sequence[CompatRoute]
    render_error: ErrorRenderer

    @property
    def prefix(self) -> str:
        """The path under which all its paths are served."""
        return f"/{self.name}"


def render_code_and_message(_: Request, error: PairwayError) -> Response:
    """Render an error as ``{"error": code, "message": …}``, with our status.

    For APIs without a format of their own.
    """
    return JSONResponse({"error": error.code, "message": error.detail}, error.http_status, retry_headers(error))
