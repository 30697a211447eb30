"""Server information: settings, health, and what is off."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse
from pydantic_core import to_json

from proxy.api.compat.libretranslate.languages import code_of, name_of
from proxy.context import ProxyContext, context
from shared.http.problems import JsonBytesResponse
from shared.protocol.translate_request import AUTO

NO_SUGGESTIONS: Final = "Suggestions are disabled on this server."
NO_FILES: Final = "Files translation are disabled on this server."
# Milliseconds from typing to translating, in LibreTranslate's own web page.
FRONTEND_TIMEOUT: Final = 500


async def serve_settings(request: Request) -> Response:
    """Answer ``GET /frontend/settings``."""
    parts = context(request)
    keys_on, target = parts.keys.authenticator.on, code_of(_default_target(parts))
    return JsonBytesResponse(
        to_json(
            {
                "apiKeys": keys_on,
                "charLimit": parts.settings.limits.text_chars,
                "filesTranslation": False,
                "frontendTimeout": FRONTEND_TIMEOUT,
                "keyRequired": keys_on,
                "language": {
                    "source": {"code": AUTO, "name": "Auto Detect"},
                    "target": {"code": target, "name": name_of(target)},
                },
                "suggestions": False,
                "supportedFilesFormat": [],
            }
        )
    )


def _default_target(parts: ProxyContext) -> str:
    """Return the first preferred pivot that is served, else any target."""
    targets = parts.fleet.registry.snapshot.by_target
    preferred = (tag for tag in parts.settings.preferred_pivots if tag in targets)
    return next(preferred, None) or next(iter(targets), "en")


async def serve_health(request: Request) -> Response:
    """Answer ``GET /health``: 200 while a pair can be served, else 503."""
    parts = context(request)
    if parts.process.draining.is_set():
        return _error(503, "This proxy is stopping.")
    if not any(parts.fleet.registry.snapshot.ready.values()):
        return _error(503, "No language pair is ready.")
    return JsonBytesResponse(b'{"status":"ok"}')


async def refuse_suggestion(_: Request) -> Response:
    """Answer ``POST /suggest``."""
    return _error(403, NO_SUGGESTIONS)


async def refuse_file(_: Request) -> Response:
    """Answer ``POST /translate_file``."""
    return _error(403, NO_FILES)


def _error(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)
