"""Replica: this API server as a whole: its models, its room, its state, and the journey of one request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from apiserver.translator import EngineGoneError
from shared.errors import InvalidRequestError, UnknownPairError, UnusableOutputError
from shared.languages import LanguagePair, stand_ins
from shared.version import VERSION
from shared.wire import AUTO, ReplicaReport, ServerState, TranslateRequest, Translation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiserver.admission import Admission
    from apiserver.host import ModelHost
    from apiserver.translator import Prepared
    from shared.deadline import Deadline
    from shared.telemetry import ApiServerMetrics


class Replica:
    """Serves the pairs of its models; mutable state: ``draining``, set once."""

    def __init__(
        self,
        replica_id: str,
        hosts: Sequence[ModelHost],
        admission: Admission,
        metrics: ApiServerMetrics,
        *,
        started_at: float,
    ) -> None:
        """Take the parts; ``started_at`` is Unix time."""
        self.replica_id = replica_id
        self.hosts = tuple(hosts)
        self.draining = False
        self._admission = admission
        self._metrics = metrics
        self._started_at = started_at
        self._by_pair = {pair: host for host in hosts for pair in host.entry.all_pairs}

    def resolve(self, request: TranslateRequest) -> LanguagePair:
        """Return the pair that serves the request.

        Raises:
            InvalidRequestError: ``auto``, which only the proxy can resolve.
            UnknownPairError: no model here serves it.
        """
        if request.source_lang == AUTO:
            raise InvalidRequestError([("source_lang", "must name the language: only the proxy detects it")])
        wanted = LanguagePair(request.source_lang, request.target_lang)
        serving = stand_ins(wanted, self._by_pair)
        if not serving:
            raise UnknownPairError(str(wanted), sorted(map(str, self._by_pair)))
        return serving[0]

    async def translate(
        self,
        pair: LanguagePair,
        request: TranslateRequest,
        deadline: Deadline,
        request_id: str,
        on_delta: Callable[[int, str], None] | None = None,
    ) -> list[Translation]:
        """Translate every text concurrently, all or nothing but for texts without usable output; same order.

        ``on_delta`` is called on the event loop with the text's index and its next part as soon as that is final.

        Raises:
            PairUnavailableError: the pair is not ready, or its engine died meanwhile.
            OverloadedError: no room for the texts now.
            UnusableOutputError: the one text asked for has no usable output.
            DeadlineExceededError: the time is over.
        """
        host = self._by_pair[pair]
        translator = host.translator(pair)
        texts = request.texts
        single = isinstance(request.text, str)
        self._metrics.texts.labels(str(pair)).inc(len(texts))

        async def complete(index: int, each: Prepared) -> Translation:
            result = await translator.complete(each, f"{request_id}-{index}")
            if on_delta is not None and result.translation:
                on_delta(index, result.translation)
            return result

        with self._admission.permit(len(texts)):
            try:
                async with asyncio.timeout(deadline.remaining()):
                    prepared = [
                        await translator.prepare(pair, text, "text" if single else f"text[{index}]")
                        for index, text in enumerate(texts)
                    ]
                    async with asyncio.TaskGroup() as group:
                        tasks = [group.create_task(complete(index, each)) for index, each in enumerate(prepared)]
            except TimeoutError:
                raise deadline.exceeded() from None
            except ExceptionGroup as failed:
                first = failed.exceptions[0]
                if isinstance(first, EngineGoneError):
                    raise host.unavailable(pair) from first
                raise first from None
        results = [task.result() for task in tasks]
        for result in results:
            for warning in result.warnings:
                self._metrics.unusable.labels(str(pair), warning.code).inc()
        if single and results[0].translation is None:
            reason = results[0].warnings[0]
            raise UnusableOutputError(reason.message, facts={"warnings": [reason.model_dump()]})
        return results

    def report(self) -> ReplicaReport:
        """Return what the proxy wants to know; costs no I/O."""
        pairs = {label: report for host in self.hosts for label, report in host.pair_reports().items()}
        if self.draining:
            state = ServerState.DRAINING
        elif any(report.ready for report in pairs.values()):
            state = ServerState.READY
        else:
            state = ServerState.STARTING
        return ReplicaReport(
            replica_id=self.replica_id,
            version=VERSION,
            started_at=self._started_at,
            state=state,
            in_flight=self._admission.held,
            limit=self._admission.limit,
            pairs=pairs,
            models={host.entry.name: progress for host in self.hosts if (progress := host.progress()) is not None},
        )

    def drain(self) -> None:
        """Stop being ready; what is in flight goes on, and so does what still comes."""
        self.draining = True
