"""Model server: all models of one server, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from apiserver.engine.interface import EngineGoneError
from apiserver.hosting.model_host import ModelHost
from apiserver.hosting.server_hosts import Routing
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.translator import INLINE_PLAN_CHARS
from shared.languages import LanguagePair, closeness
from shared.literals import needs_translation
from shared.protocol.answers import Translation, same_language, unchanged
from shared.protocol.errors import (
    InvalidRequestError,
    OverloadedError,
    PairUnavailableError,
    UnknownPairError,
    UnusableOutputError,
)
from shared.protocol.report import PairReport, ReplicaReport, ServedPairs, ServerState
from shared.protocol.translate_request import AUTO, TextFormat, TranslateRequest
from shared.runtime.background import StartupCheck
from shared.version import VERSION


class ModelServer:
    """All models of one API server.

    Mutable state: ``draining``, ``startup``, ``routing``. ``weight`` is the server's share of the work relative to other
    servers, ``started_at`` is Unix time, ``runs_by`` what runs the server (``ReplicaReport``).
    """

    def __init__(
        self,
        replica_id: str,
        hosts: Sequence[ModelHost],
        metrics: ApiServerMetrics,
        *,
        weight: float,
        started_at: float,
        runs_by: str = "",
    ) -> None:
        self.replica_id = replica_id
        self.routing = Routing.of(hosts)
        self.draining = False
        self.startup = StartupCheck()
        self._metrics = metrics
        self._weight = weight
        self._started_at = started_at
        self._runs_by = runs_by or None

    @property
    def hosts(self) -> tuple[ModelHost, ...]:
        """The hosts that serve."""
        return self.routing.hosts

    def resolve(self, request: TranslateRequest) -> LanguagePair:
        """Return the pair that serves the request.

        Between variants of one language without a model, that is the requested pair, and texts stay unchanged.

        Raises:
            InvalidRequestError: ``auto``, which only the proxy can resolve.
            UnknownPairError: no model here serves it.
        """
        if request.source_lang == AUTO:
            raise InvalidRequestError([("source_lang", "must name the language: only the proxy detects it")])
        pair = LanguagePair(request.source_lang, request.target_lang)
        serving = self.routing.serving(pair)
        if serving:
            return serving[0]
        if closeness(pair.target, pair.source) is None:
            raise UnknownPairError(str(pair), sorted(map(str, self.routing.by_pair)))
        return pair  # such as en into en-GB

    async def translate(self, work: WorkItem) -> list[Translation]:
        """Translate a request's texts concurrently, in the same order.

        Any failure fails the whole request, except that texts of a list may lack usable output.

        Raises:
            PairUnavailableError: the pair is not ready, or its engine died meanwhile.
            OverloadedError: there is no capacity now, or no slot in time.
            TooLargeError: the terms leave no space for a text.
            UnusableOutputError: the only text has no usable output.
            DeadlineExceededError: the time is over.
        """
        pair = work.pair
        hosts = self.routing.by_pair.get(pair)
        # Short texts without words need no engine; longer texts and markup are checked when they are planned.
        is_short = work.request.format is TextFormat.TEXT and work.chars <= INLINE_PLAN_CHARS
        if hosts is None or (is_short and not any(map(needs_translation, work.texts))):
            as_is = same_language if hosts is None else unchanged
            if work.sink is not None:
                for index, text in enumerate(work.texts):
                    work.sink(index, text)
            return [as_is(text, pair.source, pair.target) for text in work.texts]
        if work.deadline.remaining() <= 0:
            raise work.deadline.exceeded_error()  # a timeout cancels only after the first steps, which call the engine
        self._metrics.count_texts(str(pair), len(work.texts), work.chars)
        results = await self._translate_on_first(hosts, work)
        for result in results:
            if result.translation is None:
                self._metrics.unusable.labels(str(pair), result.warnings[0].code).inc()
        if results[0].translation is None and isinstance(work.request.text, str):
            reason = results[0].warnings[0]
            raise UnusableOutputError(reason.message, facts={"warnings": [reason.model_dump()]})
        return results

    async def _translate_on_first(self, hosts: Sequence[ModelHost], work: WorkItem) -> list[Translation]:
        """Translate on the first ready model; if it dies, the next.

        No other model takes over once a delta was sent. After a model change the next is a new host.
        """
        pair, tried = work.pair, list[ModelHost]()
        host = next((host for host in hosts if host.ready(pair)), None)
        while host is not None:
            tried.append(host)
            lost: EngineGoneError | None = None
            try:
                return await self._translate_on(host, work)
            except EngineGoneError as error:
                lost = error
            except PairUnavailableError:  # no longer ready
                pass
            can_repeat = lost is None or work.sink is None or not work.sink.started
            others = self.routing.by_pair.get(pair, ()) if can_repeat else ()
            following = next((other for other in others if other not in tried and other.ready(pair)), None)
            if following is None and lost is not None:
                raise host.unavailable(pair) from lost
            host = following
        raise min(self.routing.by_pair.get(pair, hosts), key=_wait).unavailable(pair)

    async def _translate_on(self, host: ModelHost, work: WorkItem) -> list[Translation]:
        labels = host.entry.name, work.priority
        try:
            async with host.admission.admitted(work):
                try:
                    return await host.translator(work.pair).translate(work)
                finally:
                    if work.queue.begun_at is not None:
                        self._metrics.waiting.labels(*labels).observe(work.queue.begun_at - work.admitted_at)
        except OverloadedError:
            self._metrics.refused.labels(*labels).inc()
            raise

    def report(self) -> ReplicaReport:
        """Return the report for proxies; costs no I/O."""
        pairs: dict[str, PairReport] = {}
        # Of several models for a pair, the report names the one that serves it now, else the one that is ready first.
        for host in sorted(self.hosts, key=_wait):
            for label, report in host.pair_reports().items():
                if label not in pairs or (report.ready and not pairs[label].ready):
                    pairs[label] = report
        if self.draining:
            state = ServerState.DRAINING
        elif any(report.ready for report in pairs.values()):
            state = ServerState.READY
        else:
            state = ServerState.STARTING
        served = ServedPairs(pairs)
        return ReplicaReport(
            replica_id=self.replica_id,
            version=VERSION,
            started_at=self._started_at,
            state=state,
            in_flight=sum(host.admission.texts for host in (*self.hosts, *self.routing.draining)),
            weight=self._weight,
            pairs=served,
            pairs_version=served.version,
            models={host.entry.name: progress for host in self.hosts if (progress := host.progress()) is not None},
            engine_died_at=max((host.engine_died_at for host in self.hosts if host.engine_died_at), default=None),
            runs_by=self._runs_by,
        )

    def observed_report(self) -> ReplicaReport:
        """Let the start check see which pairs are ready; return the report."""
        report = self.report()
        self.startup.observe({label: pair.ready for label, pair in report.pairs.items()})
        return report

    def drain(self) -> None:
        """Stop being ready; requests in flight and new ones are still served."""
        self.draining = True


def _wait(host: ModelHost) -> float:
    left = host.ready_in()
    return inf if left is None else left
