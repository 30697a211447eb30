"""Request exchange: the entry of a request, in every API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Final, Self, TypeVar

from fastapi import Request

from proxy.admission.keyless_bodies import FIRST_SECONDS, KeylessBody, do_nothing
from proxy.api import auth
from proxy.context import context
from proxy.glossaries.glossary import GlossaryOwner
from proxy.keys.api_key import ApiKey
from proxy.keys.authenticator import Authentication
from proxy.keys.caller import at_address
from shared.http.body import WHOLE_BODY_EXTENSION, Reservation, read_body, require_json
from shared.http.request_context import add_log_fields, request_header
from shared.parsing.long_bodies import FREE_BYTES
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline

T = TypeVar("T")

# Finds what the header Authorization would be in a body, of which nothing else is read yet.
FindKey = Callable[[bytes], str | None]
# A request about keys and lists, with a small body.
SMALL_SECONDS: Final = 5.0


class RequestExchange:
    """Context manager of a request: deadline, then caller and body.

    Where keys are on, a body that is read before its caller is known is a keyless one; once the key is known it counts
    among those of known callers. The body's bytes stay reserved until the block ends. ``seconds``: the longest time,
    without it the settings' for a short text. ``counts``: whether the request counts for the key's limits.
    """

    __slots__ = (
        "_authentication",
        "_authorization",
        "_counts",
        "_is_known",
        "_parts",
        "_reservation",
        "_seconds",
        "deadline",
        "request",
    )

    def __init__(self, request: Request, seconds: float | None = None, *, counts: bool = True) -> None:
        self._parts = parts = context(request)
        self.request = request
        self._seconds = parts.settings.time_limits.base if seconds is None else seconds
        self._counts = counts
        self._is_known = not parts.keys.authenticator.on
        self._authentication: Authentication | None = None
        self._authorization: str | None = None
        self._reservation: Reservation | None = None

    def __enter__(self) -> Self:
        header = request_header(self.request, TIMEOUT_HEADER)
        self.deadline = Deadline.from_header(header, self._seconds, time.monotonic)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reservation is not None:
            self._reservation.release()

    @property
    def authentication(self) -> Authentication:
        """The caller, who must be known."""
        if self._authentication is None:
            raise RuntimeError("an exchange has a caller only after it authenticated one")
        return self._authentication

    @property
    def key(self) -> ApiKey | None:
        """The caller's key, None if keys are off."""
        return self.authentication.key

    @property
    def glossary_owner(self) -> GlossaryOwner:
        """The owner of the caller's glossaries; raises KeyRequiredError without a word."""
        return auth.glossary_owner(self.authentication, self._authorization)

    async def receive(
        self, authorization: str | None, find_key: FindKey | None = None, limit: int = 0, *, is_json: bool = False
    ) -> bytes:
        """Authenticate the caller, and read the body.

        This is the order of every request: the body is read first only if its key may be in it, and ``find_key`` is all
        that sees it until then. ``authorization`` is what is known without the body, whose other arguments are those of
        :meth:`read_body`.

        Raises:
            PairwayError: as :meth:`authenticate` and :meth:`read_body`.
        """
        if authorization is not None or find_key is None:
            await self.authenticate(authorization)
            return await self.read_body(limit, is_json=is_json)
        body = await self.read_body(limit, is_json=is_json)
        await self.authenticate(find_key(body))
        return body

    async def authenticate(self, authorization: str | None) -> None:
        """Identify the caller.

        Raises:
            PairwayError: the key is missing, refused or over its limit, the deadline has passed, or bodies fill the budget.
        """
        self._authorization = authorization
        self._authentication = await self._identify(authorization)
        self.request.scope["state"]["caller"] = self._authentication.caller.identity
        self._is_known = True
        if isinstance(self._reservation, KeylessBody):
            self._count_as_known(self._reservation)

    def _identify(self, authorization: str | None) -> Awaitable[Authentication]:
        return auth.authenticate(self.request, self.deadline, authorization, counts=self._counts)

    async def require_operator(self) -> None:
        """Identify an operator, by the header Authorization alone.

        Raises:
            PairwayError: the token or key is missing or refused, or the deadline has passed.
        """
        authenticator, shown = self._parts.keys.authenticator, request_header(self.request, "authorization")
        work = authenticator.require_operator(shown, partial(auth.url_contains, self.request))
        add_log_fields(self.request, key=await self.before_deadline(work))
        self._is_known = True

    async def read_body(self, limit: int = 0, *, is_json: bool = False) -> bytes:
        """Read a body of any type.

        It has at most ``limit`` bytes (0: as in the settings).

        ``is_json``: it must be declared as JSON; otherwise any type will do.

        Raises:
            PairwayError: the body is compressed, too large or too slow, or other bodies fill the budget.
        """
        if is_json:
            require_json(self.request)
        limit = limit or self._parts.settings.max_body_bytes
        if self._is_known:
            self._reservation = self._parts.process.body_budget.reserve()
            return await read_body(self.request, limit, self.deadline, self._reservation)
        return await self._read_keyless(limit)

    async def before_deadline(self, work: Awaitable[T]) -> T:
        """Await work; raise DeadlineExceededError if it takes too long."""
        try:
            async with asyncio.timeout(self.deadline.remaining()):
                return await work
        except TimeoutError:
            raise self.deadline.exceeded_error() from None

    async def _read_keyless(self, limit: int) -> bytes:
        client = self.request.scope["client"]
        self._reservation = body = self._parts.process.keyless_bodies.admit(client[0] if client else "")
        if WHOLE_BODY_EXTENSION in self.request.scope.get("extensions", ()):
            content = await read_body(self.request, limit, self.deadline, body)
        else:
            content = await self._read_unfinished(limit, body)
        body.is_whole = True
        return content

    async def _read_unfinished(self, limit: int, body: KeylessBody) -> bytes:
        """Read until the body is refused in favour of others."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(FIRST_SECONDS, body.refuse_if_small)
        try:
            async with asyncio.timeout(None) as reading:
                body.interrupt = lambda: reading.reschedule(loop.time())
                content = await read_body(self.request, limit, self.deadline, body)
            if body.refusal is None:
                return content
            del content  # refused in the turn in which it became whole
        except TimeoutError:
            if body.refusal is None:
                raise
        finally:
            body.interrupt = do_nothing
            timer.cancel()
        raise body.error_of(body.refusal)  # here, because its context would keep the bytes

    def _count_as_known(self, body: KeylessBody) -> None:
        """Count a body read before its key among those of known callers."""
        size = body.size
        body.release()
        self._reservation = self._parts.process.body_budget.reserve()
        self._reservation.take(size)


async def parse_in_turn(request: Request, body: bytes, parse: Callable[[], T]) -> T:
    """Parse a body at its turn; the shortest at once."""
    if len(body) <= FREE_BYTES:  # nearly all: before their caller is looked up
        return parse()
    client = request.scope["client"]
    caller = request.scope["state"].get("caller") or at_address(client[0] if client else "").identity
    return await context(request).process.long_bodies.parse(caller, len(body), parse)
