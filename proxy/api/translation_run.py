"""Translation run: the steps of one HTTP request, in every API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from fastapi import Request

from proxy.api import auth
from proxy.call import TranslationCall
from proxy.context import context
from proxy.glossaries.glossary import parse_id
from proxy.glossaries.term_finder import TRUNCATED, RequestWithTerms
from proxy.keys.authenticator import Authentication
from proxy.request_cost import RequestCost
from proxy.translation.results import targets_with_warning, with_warning
from proxy.translation.service import CACHE_HEADER
from shared.http.body import BodyReservation, read_body, read_json_body
from shared.http.disconnect import while_connected
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.sse import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import NO_ROUTE

T = TypeVar("T")


class TranslationRun:
    """Context manager: its block authenticates the caller, reads the body and translates.

    The metrics count the block as one request. The body's bytes stay reserved until it ends. A compatible API may set,
    once the body is read: ``linger_seconds``, how long a translation goes on without its client, for clients that time
    out and repeat their request; ``queue_seconds``, how long after its beginning a request that met a transient fault is
    tried again, for clients that cannot bear a refusal.
    """

    __slots__ = (
        "_authentication",
        "_authorization",
        "_parts",
        "_reservation",
        "_sample",
        "_timer",
        "deadline",
        "linger_seconds",
        "queue_seconds",
        "request",
    )

    def __init__(self, request: Request) -> None:
        self._parts = parts = context(request)
        self.request = request
        self._timer = parts.process.metrics.request_timer(time.monotonic)
        self._authentication: Authentication | None = None
        self._authorization: str | None = None
        self._reservation: BodyReservation | None = None
        self.linger_seconds = 0.0
        self.queue_seconds = 0.0

    def __enter__(self) -> Self:
        self._sample = self._timer.__enter__()
        base = self._parts.settings.time_limits.base
        try:
            self.deadline = Deadline.from_header(request_header(self.request, TIMEOUT_HEADER), base, time.monotonic)
        except BaseException as error:
            self._timer.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reservation is not None:
            self._reservation.release()
        self._timer.__exit__(kind, error, trace)

    @property
    def is_authenticated(self) -> bool:
        """Whether the caller is known."""
        return self._authentication is not None

    async def authenticate(self, authorization: str | None) -> None:
        """Identify the caller, and count the request.

        Raises:
            PairwayError: the key is missing, refused or over its limit, the deadline has passed, or bodies fill the budget.
        """
        self._authorization = authorization
        if self.queue_seconds:
            work = partial(auth.authenticate, self.request, self.deadline, authorization)
            self._authentication = await self._retry(work)
        else:
            self._authentication = await auth.authenticate(self.request, self.deadline, authorization)
        if self._reservation is not None and self._parts.keys.authenticator.on:
            self._move_reservation(self._reservation)

    async def add_terms(
        self, glossary_id: str, translate_request: TranslateRequest, *, for_variants: bool = False
    ) -> RequestWithTerms:
        """Add the found entries of the caller's glossary, as ``TermFinder.add_terms``.

        If it is ``truncated``, warn in the answer: :func:`proxy.translation.results.with_warning` with ``TRUNCATED``.

        Raises:
            PairwayError: as there, or the deadline has passed.
        """
        owner = auth.glossary_owner(self._known_caller(), self._authorization)
        add_log_fields(self.request, glossary=parse_id(glossary_id))
        finder = self._parts.glossaries.term_finder
        find = partial(finder.add_terms, owner, glossary_id, translate_request, for_variants=for_variants)
        try:
            async with asyncio.timeout(self.deadline.remaining()):
                return await (self._retry(find) if self.queue_seconds else find())
        except TimeoutError:
            raise self.deadline.exceeded_error() from None

    async def translate_with_glossary(
        self,
        glossary_id: str,
        translate_request: TranslateRequest,
        targets: Sequence[str] = (),
        *,
        sink: DeltaSink | None = None,
    ) -> bytes:
        """Translate as :meth:`translate`, with the terms of a glossary.

        Each of ``targets`` uses its own dictionary.
        """
        requests: list[TranslateRequest] = []
        truncated: list[int] = []
        for number, target in enumerate(targets or [translate_request.target_lang]):
            for_target = translate_request.model_copy(update={"target_lang": target})
            found = await self.add_terms(glossary_id, for_target)
            requests.append(found.request)
            if found.truncated:
                truncated.append(number)
        if targets:
            answer = await self.translate(translate_request, requests, sink=sink)
            return targets_with_warning(requests, answer, TRUNCATED, truncated) if truncated else answer
        answer = await self.translate(requests[0], sink=sink)
        return with_warning(requests[0], answer, TRUNCATED) if truncated else answer

    def _known_caller(self) -> Authentication:
        if self._authentication is None:
            raise RuntimeError("a run translates only after it authenticated its caller")
        return self._authentication

    async def read_json_body(self) -> bytes:
        """Read a body that must be declared as JSON; otherwise as :meth:`read_body`."""
        return await read_json_body(self.request, self._body_limit, self.deadline, self._reserve())

    async def read_body(self) -> bytes:
        """Read a body of any type.

        Bodies of callers who have yet to show a key have a budget of their own.

        Raises:
            PairwayError: the body is compressed, too large or too slow, or other bodies fill the budget.
        """
        return await read_body(self.request, self._body_limit, self.deadline, self._reserve())

    def _reserve(self) -> BodyReservation:
        process = self._parts.process
        if self._authentication is None and self._parts.keys.authenticator.on:
            self._reservation = process.keyless_body_budget.reserve()
        else:
            self._reservation = process.body_budget.reserve()
        return self._reservation

    def _move_reservation(self, before: BodyReservation) -> None:
        """Count a body read before its key among those of known callers."""
        size = before.size
        before.release()
        self._reservation = self._parts.process.body_budget.reserve()
        self._reservation.take(size)

    @property
    def _body_limit(self) -> int:
        return self._parts.settings.max_body_bytes

    def _retry(self, attempt: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Return the attempts' first result; who disconnects waits no longer."""
        deadline = self.deadline
        return self._parts.translation.fault_retry.run(
            attempt,
            until=min(deadline.expires_at, deadline.expires_at - deadline.seconds + self.queue_seconds),
            size=0 if self._reservation is None else self._reservation.size,
            sleep=lambda seconds: while_connected(self.request, asyncio.sleep(seconds)),
        )

    def translate(
        self,
        translate_request: TranslateRequest,
        targets: Sequence[TranslateRequest] = (),
        *,
        sink: DeltaSink | None = None,
        body: bytes | None = None,
    ) -> Awaitable[bytes]:
        """Charge the caller's key, translate, and return the native JSON answer.

        With ``targets``, not in a stream, each of these is answered: the request for one of several targets. ``sink``
        gets the deltas of a stream. ``body`` has the client's bytes if replicas can read them.

        Raises:
            PairwayError: no translation; what was charged is refunded.
        """
        if self.queue_seconds and sink is None:
            return self._retry(partial(self._translate, translate_request, targets, None, body))
        return self._translate(translate_request, targets, sink, body)

    async def _translate(
        self,
        translate_request: TranslateRequest,
        targets: Sequence[TranslateRequest],
        sink: DeltaSink | None,
        body: bytes | None,
    ) -> bytes:
        request, parts, sample = self.request, self._parts, self._sample
        authentication = self._known_caller()
        pipeline, meter = parts.translation, parts.keys.authenticator.meter
        caller, request_id = authentication.caller, request.scope["state"]["request_id"]
        priority = Priority.from_header(request_header(request, PRIORITY_HEADER)).at_most(caller.ceiling)
        cost = RequestCost.of(translate_request, priority)
        source, target = translate_request.source_lang, translate_request.target_lang
        add_log_fields(request, source=source, target=target, texts=cost.texts)
        if targets:
            add_log_fields(request, target=",".join(each.target_lang for each in targets))
            cost, body = cost.for_targets(len(targets)), None
        deadline = self.deadline.extended(parts.settings.time_limits.seconds(cost.chars))
        charge = None
        try:
            if authentication.key is not None:
                charge = await meter.charge(authentication.key, cost.charged_chars)
                add_response_headers(request, charge.headers)
            call = TranslationCall(translate_request, cost, caller, priority, deadline, request_id, sample, sink, body)
            call.linger_seconds = self.linger_seconds
            work = pipeline.target_lists.translate(call, targets) if targets else pipeline.service.translate(call)
            answer = await while_connected(request, work, pipeline.coalescer.outlives_client)
        except BaseException:
            if charge is not None and not (sink is not None and sink.started):  # a started stream is not refunded
                await meter.refund(charge)
            raise
        finally:
            add_log_fields(request, pair=sample.pair, replicas=sample.replicas)
            if sample.route not in {sample.pair, NO_ROUTE}:
                add_log_fields(request, route=sample.route)
        if answer.source is not None:
            add_response_headers(request, {CACHE_HEADER: answer.source})
        return answer.body
