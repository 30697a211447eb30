"""Runbooks, and operators' other documents: Markdown files, served from memory."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response

from shared.http.static_file import StaticFile
from shared.protocol.errors import NotFoundError
from shared.protocol.headers import mask_secrets

# The status page shows them; the path is relative to the page's.
PREFIX: Final = "/status/docs"
FOLDER: Final = Path(__file__).parents[2] / "docs/operations"
_MARKDOWN: Final = "text/markdown; charset=utf-8"


def add_runbooks(app: FastAPI) -> None:
    """Add the documents of ``FOLDER`` to an app."""
    app.router.add_route(f"{PREFIX}/{{path:path}}", _serve, include_in_schema=False)


async def _serve(request: Request) -> Response:
    path = request.path_params["path"]
    document = _documents().get(path)
    if document is None:
        raise NotFoundError(f"The document {mask_secrets(path)} does not exist; runbooks/README.md lists the runbooks.")
    return await document.serve(request)


@cache
def _documents() -> dict[str, StaticFile]:
    paths = sorted(FOLDER.rglob("*.md"))
    return {path.relative_to(FOLDER).as_posix(): StaticFile(path.read_bytes(), _MARKDOWN) for path in paths}
