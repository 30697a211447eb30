"""Translation run: an exchange that charges, translates, and refunds."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, TracebackType
from typing import Final, Self

from typing_extensions import override

from proxy.call import RequestCost, TranslationCall
from proxy.context import ProxyContext
from proxy.exchange.exchange import NO_WAIT, RequestExchange, WaitPolicy
from proxy.exchange.peer import Peer
from proxy.glossaries.glossary import parse_id
from proxy.glossaries.term_finder import TRUNCATED, RequestWithTerms
from proxy.translation.service import CACHE_HEADER
from shared.protocol.answers import Notice
from shared.protocol.errors import DeadlineExceededError
from shared.protocol.priority import PRIORITY_HEADER, Priority
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest
from shared.runtime.metrics import NO_ROUTE

_NO_NOTICES: Final[Mapping[int, Notice]] = MappingProxyType({})
_PRIORITY: Final = PRIORITY_HEADER.lower()


class TranslationRun(RequestExchange):
    """RequestExchange that translates; the metrics count its block as one request."""

    __slots__ = ("_limit", "_sample", "_timer")

    def __init__(self, peer: Peer, parts: ProxyContext, waits: WaitPolicy = NO_WAIT) -> None:
        super().__init__(peer, parts, waits=waits)
        self._timer = parts.process.metrics.request_timer(time.monotonic)
        self._limit = parts.settings.time_limits.base

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
        if isinstance(error, DeadlineExceededError) and self.deadline.requested < self._limit:
            self._sample.outcome_class = "client"  # who shortened the deadline
        self._timer.__exit__(kind, error, trace)

    async def add_terms(
        self, glossary_id: str, translate_request: TranslateRequest, *, for_variants: bool = False
    ) -> RequestWithTerms:
        """Add the found entries of the caller's glossary, as ``TermFinder.add_terms``.

        If it is ``truncated``, warn in the answer: :meth:`ResultTurns.with_warning` with ``TRUNCATED``.

        Raises:
            PairwayError: as there, or the deadline has passed.
        """
        owner = self.glossary_owner
        self.peer.add_log_fields(glossary=parse_id(glossary_id))
        finder = self.parts.glossaries.term_finder
        find = partial(finder.add_terms, owner, glossary_id, translate_request, for_variants=for_variants)
        return await self.before_deadline(self.retry(find))

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
        if not notices:
            return answer
        return await self.parts.translation.result_turns.with_warning(requests[0], answer, TRUNCATED)

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
        attempt = partial(self._translate, translate_request, targets, sink, body, notices)
        return attempt() if sink is not None else self.retry(attempt)

    async def _translate(
        self,
        translate_request: TranslateRequest,
        targets: Sequence[TranslateRequest],
        sink: DeltaSink | None,
        body: bytes | None,
        notices: Mapping[int, Notice],
    ) -> bytes:
        peer, parts, sample, authentication = self.peer, self.parts, self._sample, self.authentication
        pipeline, meter, caller = parts.translation, parts.keys.authenticator.meter, authentication.caller
        priority = Priority.from_header(peer.headers.get(_PRIORITY)).at_most(caller.ceiling)
        cost = RequestCost.of(translate_request, priority)
        source, target = translate_request.source_lang, translate_request.target_lang
        peer.add_log_fields(source=source, target=target, texts=cost.texts)
        if targets:
            peer.add_log_fields(target=",".join(each.target_lang for each in targets))
            cost, body = cost.for_targets(len(targets)), None
        self._limit = parts.settings.time_limits.seconds(cost.chars)
        deadline = self.deadline.extended(self._limit)
        charge = None
        try:
            if authentication.key is not None:
                charge = await meter.charge(authentication.key, cost.charged_chars)
                peer.add_answer_headers(charge.headers)
            linger_seconds = self.waits.linger_seconds
            request_id = peer.request_id
            call = TranslationCall(
                translate_request, cost, caller, priority, deadline, request_id, sample, sink, body, linger_seconds
            )
            work = (
                pipeline.target_lists.translate(call, targets, notices) if targets else pipeline.service.translate(call)
            )
            answer = await peer.while_connected(work, pipeline.coalescer.outlive_client)
        except BaseException:
            if charge is not None and not (sink is not None and sink.started):  # a started stream is not refunded
                await meter.refund(charge)
            raise
        finally:
            peer.add_log_fields(pair=sample.pair, replicas=sample.replicas)
            if sample.route not in {sample.pair, NO_ROUTE}:
                peer.add_log_fields(route=sample.route)
        if answer.source is not None:
            peer.add_answer_headers({CACHE_HEADER: answer.source})
        return answer.body
