"""DeepL's ``/v2/usage``: the characters of a key this month."""

from __future__ import annotations

from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json

from proxy.api.compat.compat_api import CompatRoute
from proxy.api.compat.deepl.callers import receive_parameters, small_exchange
from proxy.api.compat.deepl.errors import json_answer
from proxy.context import context
from proxy.keys.api_key import ApiKey
from proxy.keys.quota import CHARS_PER_MONTH, UsageResult

# DeepL's own figure for keys without a limit.
UNLIMITED: Final = 1_000_000_000_000


async def serve_usage(request: Request) -> Response:
    """Answer ``/v2/usage``; the request is not counted."""
    with small_exchange(request) as exchange:
        await receive_parameters(exchange)
        key, meter = exchange.key, context(request).keys.authenticator.meter
        usage = None if key is None else await exchange.before_deadline(meter.usage(key))
        return json_answer(request, render_usage(key, usage))


def render_usage(key: ApiKey | None, usage: UsageResult | None) -> bytes:
    """Return the JSON of a key's month; without keys, of nothing used."""
    used = 0
    for window in () if usage is None else usage.windows:
        if window.limit is CHARS_PER_MONTH:
            used = window.used
    most = None if key is None else CHARS_PER_MONTH.of(key)
    return to_json({"character_count": used, "character_limit": UNLIMITED if most is None else most})


ROUTES: Final = (CompatRoute(("GET", "POST"), "/v2/usage", serve_usage, at_root=True),)
