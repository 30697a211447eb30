"""Authentication of callers and operators; adds the key's id to the log."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from proxy.context import context
from proxy.glossaries.glossary import GlossaryOwner, owner_of_key, owner_of_word
from proxy.keys.authenticator import Authentication
from proxy.keys.caller import at_address
from shared.http.request_context import add_log_fields, add_response_headers
from shared.protocol.deadline import Deadline
from shared.protocol.errors import KeyRequiredError
from shared.protocol.headers import BEARER, parse_bearer

# OpenAPI of the header that authenticate() and identify() read; NO_KEY says that it may not be needed.
KEY: Final = Depends(
    HTTPBearer(scheme_name="key", description="An API key; needed if keys are on (PROXY_KEYS).", auto_error=False)
)
NO_KEY: Final[dict[str, Any]] = {"security": [{}]}


async def authenticate(
    request: Request, deadline: Deadline, authorization: str | None, *, counts: bool = True
) -> Authentication:
    """Identify a caller of translations before the deadline.

    If it ``counts``, the request is counted.

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
            authentication = await authenticator.authenticate(
                authorization, partial(url_contains, request), counts=counts
            )
    except TimeoutError:
        raise deadline.exceeded_error() from None
    if authentication.key is not None:
        add_log_fields(request, key=authentication.key.id)
        add_response_headers(request, authentication.headers)
    return authentication


def url_contains(request: Request, key: str) -> bool:
    """Return whether the path or the query contains the key."""
    return key in request.scope["path"] or key.encode() in unquote_to_bytes(request.scope["query_string"])


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
