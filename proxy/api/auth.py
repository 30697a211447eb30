"""Authentication of operators and watchers; the key's id in the log."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from proxy.context import context
from shared.http.request_context import add_log_fields

# Documents what require_operator() reads by itself.
OPERATOR: Final = Depends(
    HTTPBearer(scheme_name="operator", description="PROXY_OPERATOR_TOKEN, or a key to operate.", auto_error=False)
)
# Documents what authenticate() and identify() read; the empty one beside it says that it may not be needed.
KEY: Final = Depends(HTTPBearer(scheme_name="key", description="Where keys are on (PROXY_KEYS).", auto_error=False))
NO_KEY: Final[dict[str, Any]] = {"security": [{}]}


def note_key(request: Request, key_id: str) -> None:
    """Put who asks on the request's log line: the id of their key, which opens nothing."""
    add_log_fields(request, key=key_id)


async def require_operator(request: Request) -> None:
    """Let in an operator.

    Raises:
        PairwayError: nothing was shown that opens this.
    """
    authenticator = context(request).keys.authenticator
    await authenticator.require_operator(request.headers.get("authorization"), partial(note_key, request))


async def require_watcher(request: Request) -> None:
    """Let in who only looks: operators where keys are on, else anybody.

    Raises:
        PairwayError: keys are on, and nothing was shown that opens this.
    """
    authenticator = context(request).keys.authenticator
    await authenticator.require_watcher(request.headers.get("authorization"), partial(note_key, request))
