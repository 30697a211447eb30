"""Translation run: the steps of one HTTP request, in every API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Final, Self, TypeVar

from fastapi import Request
from typing_extensions import override

from proxy.admission.transient_faults import is_transient
from proxy.api.exchange import FindKey, RequestExchange
from proxy.call import RequestCost, TranslationCall
from proxy.glossaries.glossary import parse_id
from proxy.glossaries.term_finder import TRUNCATED, RequestWithTerms
from proxy.keys.authenticator import Authentication
from proxy.translation.results import with_warning
from proxy.translation.service import CACHE_HEADER
from shared.http.disconnect import while_connected
from shared.http.request_context import add_log_fields, add_response_headers, request_header
from shared.protocol.answers import Notice
from shared.protocol.errors import PairwayError
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import NO_ROUTE

T = TypeVar("T")

_NO_NOTICES: Final[Mapping[int, Notice]] = MappingProxyType({})


class TranslationRun(RequestExchange):
    """RequestExchange that translates; the metrics count its block as one request.

    A compatible API may set: ``linger_seconds``, how long a translation goes on without its client, for clients that time
    out and repeat their request; ``queue_seconds``, how long after its beginning a request that met a transient fault is
    tried again, for clients that cannot bear a refusal.
    """

    __slots__ = ("_sample", "_timer", "linger_seconds", "queue_seconds")

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._timer = self._parts.process.metrics.request_timer(time.monotonic)
        self.linger_seconds = 0.0
        self.queue_seconds = 0.0

    @override
    def __enter__(self) -> Self:
        self._sample = self._timer.__enter__()
        try:
            return super().__enter__()
        except BaseException as error:
            self._timer.__exit__(type(error), error, None)
            raise

    @override
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._timer.__exit__(kind, error, trace)

    @override
    async def receive(
        self, authorization: str | None, find_key: FindKey | None = None, limit: int = 0, *, is_json: bool = False
    ) -> bytes:
        """Receive; wait for a transient fault after the body was read.

        Nobody waits before: the connection is not watched then.
        """
        if authorization is None or not self.queue_seconds:
            return await super().receive(authorization, find_key, limit, is_json=is_json)
        seconds, self.queue_seconds = self.queue_seconds, 0.0
        try:
            await self.authenticate(authorization)
        except PairwayError as error:
            if not is_transient(error, seconds):
                raise
        self.queue_seconds = seconds
        body = await self.read_body(limit, is_json=is_json)
        if not self._is_known:
            await self.authenticate(authorization)
        return body

    @override
    def _identify(self, authorization: str | None) -> Awaitable[Authentication]:
        identify = super()._identify
        return self._retry(partial(identify, authorization)) if self.queue_seconds else identify(authorization)

    async def add_terms(
        self, glossary_id: str, translate_request: TranslateRequest, *, for_variants: bool = False
    ) -> RequestWithTerms:
        """Add the found entries of the caller's glossary, as ``TermFinder.add_terms``.

        If it is ``truncated``, warn in the answer: :func:`proxy.translation.results.with_warning` with ``TRUNCATED``.

        Raises:
            PairwayError: as there, or the deadline has passed.
        """
        owner = self.glossary_owner
        add_log_fields(self.request, glossary=parse_id(glossary_id))
        finder = self._parts.glossaries.term_finder
        find = partial(finder.add_terms, owner, glossary_id, translate_request, for_variants=for_variants)
        return await self.before_deadline(self._retry(find) if self.queue_seconds else find())

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
        notices: dict[int, Notice] = {}
        for number, target in enumerate(targets or [translate_request.target_lang]):
            for_target = translate_request.model_copy(update={"target_lang": target})
            found = await self.add_terms(glossary_id, for_target)
            requests.append(found.request)
            if found.truncated:
                notices[number] = TRUNCATED
        if targets:
            return await self.translate(translate_request, requests, sink=sink, notices=notices)
        answer = await self.translate(requests[0], sink=sink)
        return with_warning(requests[0], answer, TRUNCATED) if notices else answer

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
        notices: Mapping[int, Notice] = _NO_NOTICES,
    ) -> Awaitable[bytes]:
        """Charge the caller's key, translate, and return the native JSON answer.

        With ``targets``, not in a stream, each of these is answered: the request for one of several targets. ``sink``
        gets the deltas of a stream. ``body`` has the client's bytes if replicas can read them. ``notices``: further
        warnings, by target.

        Raises:
            PairwayError: no translation; what was charged is refunded.
        """
        if self.queue_seconds and sink is None:
            return self._retry(partial(self._translate, translate_request, targets, None, body, notices))
        return self._translate(translate_request, targets, sink, body, notices)

    async def _translate(
        self,
        translate_request: TranslateRequest,
        targets: Sequence[TranslateRequest],
        sink: DeltaSink | None,
        body: bytes | None,
        notices: Mapping[int, Notice],
    ) -> bytes:
        request, parts, sample = self.request, self._parts, self._sample
        authentication = self.authentication
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
            linger_seconds = self.linger_seconds
            call = TranslationCall(
                translate_request, cost, caller, priority, deadline, request_id, sample, sink, body, linger_seconds
            )
            work = (
                pipeline.target_lists.translate(call, targets, notices) if targets else pipeline.service.translate(call)
            )
            answer = await while_connected(request, work, pipeline.coalescer.outlive_client)
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
