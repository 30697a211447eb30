"""The page ``/docs``: Swagger UI, served from our own files, shows ``/openapi.json``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.routing import Route

from shared.http.static_file import StaticFile

_FOLDER: Final = Path(__file__).parent / "docs_page_files"
_JAVASCRIPT: Final = "text/javascript; charset=utf-8"
# Each path, its file and its media type: nothing else of the folder is served.
_FILES: Final = (
    ("/docs", "index.html", "text/html; charset=utf-8"),
    ("/docs/start.js", "start.js", _JAVASCRIPT),
    ("/docs/swagger-ui.css", "swagger_ui/swagger-ui.css", "text/css; charset=utf-8"),
    ("/docs/swagger-ui-bundle.js", "swagger_ui/swagger-ui-bundle.js", _JAVASCRIPT),
    (
        "/docs/swagger-ui-bundle.js.LICENSE.txt",
        "swagger_ui/swagger-ui-bundle.js.LICENSE.txt",
        "text/plain; charset=utf-8",
    ),
)


def add_docs_page(app: FastAPI) -> None:
    """Add the page to an app without FastAPI's own page."""
    for path, name, media_type in _FILES:
        app.routes.append(Route(path, _static_file(name, media_type).serve, include_in_schema=False))


@cache
def _static_file(name: str, media_type: str) -> StaticFile:
    return StaticFile((_FOLDER / name).read_bytes(), media_type)
