"""LibreTranslate's paths."""

from __future__ import annotations

from typing import Final

from proxy.api.compat.compat_api import CompatApi, CompatRoute
from proxy.api.compat.libretranslate.detect import serve_detect
from proxy.api.compat.libretranslate.errors import render_error
from proxy.api.compat.libretranslate.languages import serve_languages
from proxy.api.compat.libretranslate.server_info import refuse_file, refuse_suggestion, serve_health, serve_settings
from proxy.api.compat.libretranslate.translate import serve_translate

# At the root ``/translate`` is shared with the native API, and the other paths are native or of nobody.
API: Final = CompatApi(
    "libretranslate",
    (
        CompatRoute(("POST",), "/translate", serve_translate),
        CompatRoute(("POST",), "/detect", serve_detect),
        CompatRoute(("GET",), "/languages", serve_languages),
        CompatRoute(("GET",), "/frontend/settings", serve_settings),
        CompatRoute(("GET",), "/health", serve_health),
        CompatRoute(("POST",), "/suggest", refuse_suggestion),
        CompatRoute(("POST",), "/translate_file", refuse_file),
    ),
    render_error,
)
