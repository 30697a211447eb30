"""Authentication of callers and operators; adds the key's id to the log."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from proxy.context import context
from proxy.glossaries.owner import GlossaryOwner, owner_of_key, owner_of_word
from proxy.keys.authenticator import Authentication
from proxy.keys.caller import at_address
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol.deadline import Deadline
from shared.protocol.errors import KeyRequiredError
from shared.protocol.headers import BEARER, parse_bearer

# OpenAPI of the header that authenticate() and identify() read; NO_KEY says that it may not be needed.
KEY: Final = Depends(
    HTTPBearer(scheme_name="key", description="An API key; needed if keys are on (PROXY_KEYS).", auto_error=False)
)
NO_KEY: Final[dict[str, Any]] = {"security": [{}]}
# OpenAPI of the header that require_operator() and require_watcher() read.
_OPERATOR_SCHEME: Final = Depends(
    HTTPBearer(
        scheme_name="operator", description="PROXY_OPERATOR_TOKEN, or an API key of scope operate.", auto_error=False
    )
)


async def authenticate(request: Request, deadline: Deadline, authorization: str | None) -> Authentication:
    """Identify a caller of translations before the deadline, and count the request.

    ``authorization`` is the header, or the same made of a key from another place. Only compatible APIs
    read keys in URLs, where they have no other place.

    Raises:
        PairwayError: the key is refused or over its limit, or the deadline has passed.
    """
    authenticator = context(request).keys.authenticator
    if not authenticator.on:
        client = request.scope["client"]
        return Authentication(at_address(client[0] if client else ""))
    try:
        async with asyncio.timeout(deadline.remaining()):
            authentication = await authenticator.authenticate(authorization, in_url=is_in_url(request, authorization))
    except TimeoutError:
        raise deadline.exceeded_error() from None
    if authentication.key is not None:
        add_log_fields(request, key=authentication.key.id)
        add_response_headers(request, authentication.headers)
    return authentication


def is_in_url(request: Request, authorization: str | None) -> bool:
    """Return whether the query contains the key, wherever it was read."""
    query: bytes = request.scope["query_string"]
    key = parse_bearer(authorization) if query else None
    return key is not None and key.encode() in unquote_to_bytes(query)


def glossary_owner(authentication: Authentication, authorization: str | None) -> GlossaryOwner:
    """Return the owner of a caller's glossaries: a key or word.

    Raises:
        KeyRequiredError: keys are off, and no word was sent.
    """
    if authentication.key is not None:
        return owner_of_key(authentication.key.id)
    word = parse_bearer(authorization)
    if word is None:
        raise KeyRequiredError(
            f"Glossaries need the header Authorization: {BEARER} WORD. Keys are off here, so any word of your choice will "
            "do; whoever knows it can use and change your glossaries."
        )
    return owner_of_word(word)


async def require_operator(request: Request, _: Any = _OPERATOR_SCHEME) -> None:
    """Identify an operator; raise PairwayError without a valid token or key."""
    operator = await context(request).keys.authenticator.require_operator(request_header(request, "authorization"))
    add_log_fields(request, key=operator)


async def require_watcher(request: Request, scheme: Any = _OPERATOR_SCHEME) -> None:
    """Require an operator if keys are on; otherwise anybody may read."""
    if context(request).keys.authenticator.on:
        await require_operator(request, scheme)


OPERATOR: Final = Depends(require_operator)
WATCHER: Final = Depends(require_watcher)
