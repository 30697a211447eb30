"""Request exchange: the deadline, caller, budget and body of one request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

from pydantic import BaseModel

from proxy.admission.keyless_bodies import FIRST_SECONDS, KeylessBody, do_nothing
from proxy.admission.transient_faults import is_transient
from proxy.context import ProxyContext
from proxy.exchange.key_places import HEADER, KeyPlaces
from proxy.exchange.peer import Peer
from proxy.glossaries.glossary import GlossaryOwner, owner_of_key, owner_of_word
from proxy.keys.api_key import ApiKey
from proxy.keys.authenticator import Authentication, UrlContains
from proxy.keys.caller import at_address
from shared.parsing.byte_budget import Reservation
from shared.parsing.json_reader import ModelReader, require_json
from shared.parsing.long_bodies import FREE_BYTES
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.errors import KeyRequiredError, PairwayError
from shared.protocol.headers import BEARER, parse_bearer
from shared.runtime.turns import Steps

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)

# A request about keys and lists, with a small body.
SMALL_SECONDS: Final = 5.0
_TIMEOUT: Final = TIMEOUT_HEADER.lower()


class WaitPolicy(NamedTuple):
    """Seconds that a request waits for what passes.

    ``queue_seconds``: after its beginning, a request that met a transient fault is tried again so long, for clients that
    cannot bear a refusal. ``linger_seconds``: a translation goes on so long without its client, for clients that time out
    and repeat their request.
    """

    queue_seconds: float = 0.0
    linger_seconds: float = 0.0


NO_WAIT: Final = WaitPolicy()


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
        "_reservation",
        "_seconds",
        "deadline",
        "parts",
        "peer",
        "waits",
    )

    def __init__(
        self,
        peer: Peer,
        parts: ProxyContext,
        *,
        seconds: float | None = None,
        counts: bool = True,
        waits: WaitPolicy = NO_WAIT,
    ) -> None:
        self.peer = peer
        self.parts = parts
        self.waits = waits
        self._seconds = parts.settings.time_limits.base if seconds is None else seconds
        self._counts = counts
        self._is_known = not parts.keys.authenticator.on
        self._authentication: Authentication | None = None
        self._authorization: str | None = None
        self._reservation: Reservation | None = None

    def __enter__(self) -> Self:
        self.deadline = Deadline.from_header(self.peer.headers.get(_TIMEOUT), self._seconds, time.monotonic)
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
            raise RuntimeError("an exchange has a caller only after it identified one")
        return self._authentication

    @property
    def key(self) -> ApiKey | None:
        """The caller's key, None if keys are off."""
        return self.authentication.key

    @property
    def glossary_owner(self) -> GlossaryOwner:
        """The owner of the caller's glossaries: a key, or a word.

        Raises:
            KeyRequiredError: keys are off, and no word was sent.
        """
        if self.key is not None:
            return owner_of_key(self.key.id)
        word = parse_bearer(self._authorization)
        if word is None:
            raise KeyRequiredError(
                f"Glossaries need the header Authorization: {BEARER} WORD. Keys are off here, so any word of your choice "
                "will do; whoever knows it can use and change your glossaries."
            )
        return owner_of_word(word)

    async def receive(self, keys: KeyPlaces = HEADER, limit: int = 0, *, only_json: bool = False) -> bytes:
        """Identify the caller, and read the body.

        This is the order of every request: the body is read first only if its key may be in it. Nobody waits for a
        transient fault before the body was read: the connection is not watched then. Arguments as for :meth:`read_body`.

        Raises:
            PairwayError: as :meth:`identify` and :meth:`read_body`.
        """
        authorization = keys.in_head(self.peer)
        if authorization is None and keys.in_body is not None:
            body = await self.read_body(limit, only_json=only_json)
            # In turn: of many bodies at once the searches, too, are much.
            await self.identify(await self.in_turn(body, partial(keys.in_body, self.peer, body)))
            return body
        waits, self.waits = self.waits, NO_WAIT
        try:
            await self.identify(authorization)
        except PairwayError as error:
            if authorization is None or not is_transient(error, waits.queue_seconds):
                raise
        self.waits = waits
        body = await self.read_body(limit, only_json=only_json)
        if self._authentication is None:
            await self.identify(authorization)
        return body

    async def identify(self, authorization: str | None) -> None:
        """Identify the caller, and count the request.

        ``authorization`` is the header, or the same made of a key from another place. Only compatible APIs read keys in
        URLs, where they have no other place.

        Raises:
            PairwayError: the key is missing, refused or over its limit, the deadline has passed, or bodies fill the budget.
        """
        self._authorization = authorization
        authenticator = self.parts.keys.authenticator
        if not authenticator.on:
            self._authentication = at_network(self.peer.address)
            return
        authenticate = partial(authenticator.authenticate, authorization, self.peer.shows_in_url, counts=self._counts)
        found = await self.retry(lambda: self.before_deadline(authenticate()))
        self._authentication = found
        if found.key is not None:
            self.peer.add_log_fields(key=found.key.id)
            self.peer.add_answer_headers(found.headers)
        self._is_known = True
        if isinstance(self._reservation, KeylessBody):
            self._count_as_known(self._reservation)

    async def require_operator(self) -> None:
        """Identify an operator, by the header Authorization alone.

        Raises:
            PairwayError: the token or key is missing or refused, or the deadline has passed.
        """
        await self._require(self.parts.keys.authenticator.require_operator)

    async def require_observer(self) -> None:
        """Identify an observer or operator, by the header Authorization alone.

        Raises:
            PairwayError: as :meth:`require_operator`.
        """
        await self._require(self.parts.keys.authenticator.require_observer)

    async def _require(self, role: Callable[[str | None, UrlContains], Awaitable[str]]) -> None:
        shown = self.peer.headers.get("authorization")
        self.peer.add_log_fields(key=await self.before_deadline(role(shown, self.peer.shows_in_url)))
        self._is_known = True

    async def read_body(self, limit: int = 0, *, only_json: bool = False) -> bytes:
        """Read a body of any type.

        It has at most ``limit`` bytes (0: as in the settings). ``only_json``: it must be declared as JSON; otherwise any type will do.

        Raises:
            PairwayError: the body is compressed, too large or too slow, or other bodies fill the budget.
        """
        if only_json:
            require_json(self.peer.headers.get("content-type"))
        limit = limit or self.parts.settings.max_body_bytes
        if self._is_known:
            self._reservation = self.parts.process.body_budget.reserve()
            return await self.peer.read_body(limit, self.deadline, self._reservation)
        return await self._read_keyless(limit)

    async def read_model(self, reader: ModelReader, model: type[M], limit: int) -> M:
        """Read a JSON body as a model.

        Raises:
            PairwayError: as :meth:`read_body`, or the body is not JSON, or a field is wrong.
        """
        body = await self.read_body(limit, only_json=True)
        return await self.in_turn(body, partial(reader.read, body, model))

    async def in_turn(self, body: bytes, parse: Callable[[], T]) -> T:
        """Parse a body at its turn; the shortest at once."""
        if len(body) <= FREE_BYTES:  # nearly all: before their caller is looked up
            return parse()
        return await self.parts.process.long_bodies.parse(self.caller_identity, len(body), parse)

    async def in_steps(self, body: bytes, steps: Steps[T]) -> T:
        """Parse a body in steps, between which other callers have turns."""
        return await self.parts.process.long_bodies.parse_steps(self.caller_identity, len(body), steps)

    async def before_deadline(self, work: Awaitable[T]) -> T:
        """Await work; raise DeadlineExceededError if it takes too long."""
        try:
            async with asyncio.timeout(self.deadline.remaining()):
                return await work
        except TimeoutError:
            raise self.deadline.exceeded_error() from None

    def retry(self, attempt: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Return the first result of attempts, while transient faults are waited for.

        Who disconnects waits no longer.
        """
        if not self.waits.queue_seconds:
            return attempt()
        deadline = self.deadline
        return self.parts.translation.fault_retry.run(
            attempt,
            until=min(deadline.expires_at, deadline.expires_at - deadline.seconds + self.waits.queue_seconds),
            size=0 if self._reservation is None else self._reservation.size,
            sleep=lambda seconds: self.peer.while_connected(asyncio.sleep(seconds)),
        )

    @property
    def caller_identity(self) -> str:
        """Whose turn a request takes: its key's, before that its network's."""
        return (self._authentication or at_network(self.peer.address)).caller.identity

    async def _read_keyless(self, limit: int) -> bytes:
        self._reservation = body = self.parts.process.keyless_bodies.admit(self.peer.address)
        if self.peer.has_whole_body:
            content = await self.peer.read_body(limit, self.deadline, body)
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
                content = await self.peer.read_body(limit, self.deadline, body)
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
        self._reservation = self.parts.process.body_budget.reserve()
        self._reservation.take(size)


def at_network(address: str) -> Authentication:
    """Return the caller without a key: a network."""
    return Authentication(at_address(address))
