"""Model server: this API server as a whole: its models, its state, and how one request is served."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import inf
from typing import Final

from apiserver.engine.interface import EngineGoneError
from apiserver.hosting.model_host import ModelHost
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.admission import AdmissionPermit, AdmissionRequest
from apiserver.scheduling.batch_slots import SHORT_SEGMENTS
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import Plan, TranslateOptions
from apiserver.translation.translator import INLINE_CHARS, Translator
from shared.languages import LanguagePair, closeness, stand_ins
from shared.literals import needs_translation
from shared.protocol.deadline import Deadline
from shared.protocol.errors import (
    InvalidRequestError,
    OverloadedError,
    PairUnavailableError,
    UnknownPairError,
    UnusableOutputError,
)
from shared.protocol.lanes import cost_of
from shared.protocol.messages import AUTO, TextFormat, TranslateRequest, Translation, same_language, unchanged
from shared.protocol.priority import Priority
from shared.protocol.report import PairReport, ReplicaReport, ServedPairs, ServerState
from shared.runtime.tasks import gather_results
from shared.version import VERSION

# Pairs asked for whose servers are known without looking through all pairs: many more than clients ask for.
CACHED_PAIRS: Final = 1024


class ModelServer:
    """Serves the pairs of its models; mutable state: ``draining``, set once.

    ``weight`` is the share of work wanted beside other servers, ``started_at`` Unix time.
    """

    def __init__(
        self,
        replica_id: str,
        hosts: Sequence[ModelHost],
        metrics: ApiServerMetrics,
        *,
        weight: float,
        started_at: float,
    ) -> None:
        self.replica_id = replica_id
        self.hosts = tuple(hosts)
        self.draining = False
        self._metrics = metrics
        # Finding what counts a label's values costs more than counting; catalogs bound how many there are.
        self._texts, self._waiting = cache(metrics.texts.labels), cache(metrics.waiting.labels)
        self._weight = weight
        self._started_at = started_at
        by_pair: dict[LanguagePair, list[ModelHost]] = defaultdict(list)
        for host in hosts:
            for pair in host.entry.all_pairs:
                by_pair[pair].append(host)
        # The order of the catalog is the order of preference.
        self._by_pair = dict(by_pair)
        self._serving = lru_cache(maxsize=CACHED_PAIRS)(partial(stand_ins, served=self._by_pair))

    def resolve(self, request: TranslateRequest) -> LanguagePair:
        """Return the pair that serves the request; the pair asked for where there is nothing to translate.

        Raises:
            InvalidRequestError: ``auto``, which only the proxy can resolve.
            UnknownPairError: no model here serves it.
        """
        if request.source_lang == AUTO:
            raise InvalidRequestError([("source_lang", "must name the language: only the proxy detects it")])
        pair = LanguagePair(request.source_lang, request.target_lang)
        serving = self._serving(pair)
        if serving:
            return serving[0]
        if closeness(pair.target, pair.source) is None:
            raise UnknownPairError(str(pair), sorted(map(str, self._by_pair)))
        return pair  # en into en-GB, and no model for just that

    async def translate(
        self,
        pair: LanguagePair,
        request: TranslateRequest,
        deadline: Deadline,
        request_id: str,
        on_delta: Callable[[int, str], None] | None = None,
        *,
        priority: Priority = Priority.INTERACTIVE,
        caller: str = "",
    ) -> list[Translation]:
        """Translate every text concurrently, all or nothing but for texts without usable output; same order.

        ``caller`` is the tag of who asks; callers of one class are served in turn. ``on_delta`` is called on the event loop with the text's index and its next part as soon as that is final.

        Raises:
            PairUnavailableError: the pair is not ready, or its engine died meanwhile.
            OverloadedError: no capacity for the texts now, or none of them could be begun in time.
            TooLargeError: the terms leave no space for a text.
            UnusableOutputError: the one text asked for has no usable output.
            DeadlineExceededError: the time is over.
        """
        hosts = self._by_pair.get(pair)
        # Whether or not an engine runs. What is longer, or has to be parsed first, is looked at when it is planned.
        is_short = request.format is TextFormat.TEXT and request.chars <= INLINE_CHARS
        wordless = is_short and not any(map(needs_translation, request.texts))
        if hosts is None or wordless:
            as_is = same_language if hosts is None else unchanged
            if on_delta is not None:
                for index, text in enumerate(request.texts):
                    on_delta(index, text)
            return [as_is(text, pair.source, pair.target) for text in request.texts]
        if deadline.remaining() <= 0:
            raise deadline.exceeded_error()  # a task is cancelled only after its first steps: the engine would be asked
        single = isinstance(request.text, str)
        self._texts(str(pair)).inc(len(request.texts))
        relay = _DeltaRelay(on_delta)
        job = _Job(pair, request, request_id, deadline, priority, caller, relay)
        results = await self._translate_on_first(hosts, job)
        for result in results:
            if result.translation is None:
                self._metrics.unusable.labels(str(pair), result.warnings[0].code).inc()
        if single and results[0].translation is None:
            reason = results[0].warnings[0]
            raise UnusableOutputError(reason.message, facts={"warnings": [reason.model_dump()]})
        return results

    async def _translate_on_first(self, hosts: Sequence[ModelHost], job: _Job) -> list[Translation]:
        """Translate on the first model that is ready; on the next one where its engine dies before any delta was sent.

        A model that is full refuses: the next one would answer otherwise, and be as full a moment later.
        """
        ready = [host for host in hosts if host.ready(job.pair)]
        if not ready:
            raise min(hosts, key=_wait).unavailable(job.pair)
        for host in ready[:-1]:
            try:
                return await self._translate_on(host, job)
            except EngineGoneError as error:
                if job.relay.begun:
                    raise host.unavailable(job.pair) from error
            except PairUnavailableError:  # gone since it was found ready
                continue
        try:
            return await self._translate_on(ready[-1], job)
        except EngineGoneError as error:
            raise ready[-1].unavailable(job.pair) from error

    async def _translate_on(self, host: ModelHost, job: _Job) -> list[Translation]:
        """Translate on one model, if it admits the request."""
        admission_request = AdmissionRequest.of(job.request.texts, job.priority, job.caller)
        try:
            with host.capacity.admission.admit(admission_request, job.deadline.remaining()) as permit:
                return await self._translate_admitted(host, job, permit)
        except OverloadedError:
            self._metrics.refused.labels(host.entry.name, job.priority).inc()
            raise

    async def _translate_admitted(self, host: ModelHost, job: _Job, permit: AdmissionPermit) -> list[Translation]:
        admission = host.capacity.admission
        admitted_at = job.deadline.clock()
        timeout = _RequestTimeout(job.deadline.remaining())

        def begin() -> None:
            self._waiting(host.entry.name, job.priority).observe(job.deadline.clock() - admitted_at)
            timeout.end_queueing()

        work = WorkItem(job.priority, job.caller, on_begin=begin, on_done=permit.done)
        try:
            async with timeout.timer:
                translator = host.translator(job.pair)
                plans = await _planned(translator, job)
                if all(plan.segment_count <= SHORT_SEGMENTS for plan in plans):
                    timeout.limit_queueing(admission.queue_deadline(job.priority))
                return await _translate_all(translator, plans, job, work, permit.request.cost)
        except TimeoutError:
            raise (
                admission.queue_timeout(permit.request) if timeout.is_queueing else job.deadline.exceeded_error()
            ) from None

    def report(self) -> ReplicaReport:
        """Return what the proxy wants to know; costs no I/O."""
        pairs: dict[str, PairReport] = {}
        # Of several models for a pair, the report names the one that serves it now, else the one that will first.
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
            in_flight=sum(host.capacity.admission.texts for host in self.hosts),
            weight=self._weight,
            pairs=served,
            pairs_version=served.version,
            models={host.entry.name: progress for host in self.hosts if (progress := host.progress()) is not None},
        )

    def drain(self) -> None:
        """Stop being ready; what is in flight goes on, and so does what still comes."""
        self.draining = True


def _wait(host: ModelHost) -> float:
    """Return the seconds until a host should serve again, endless where that is not known."""
    left = host.ready_in()
    return inf if left is None else left


class _RequestTimeout:
    """Ends a request at its deadline, and while it queues at its queue deadline; ``seconds`` are left to the former."""

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + seconds
        self.timer = asyncio.timeout_at(self._deadline)

    @property
    def is_queueing(self) -> bool:
        """Whether the queue deadline holds."""
        return (self.timer.when() or self._deadline) < self._deadline

    def limit_queueing(self, seconds: float) -> None:
        """Set the queue deadline."""
        self.timer.reschedule(min(self._deadline, self._loop.time() + seconds))

    def end_queueing(self) -> None:
        """Let only the deadline hold from now on."""
        if not self.timer.expired():
            self.timer.reschedule(self._deadline)


class _DeltaRelay:
    """Passes deltas on, and remembers that it has."""

    def __init__(self, on_delta: Callable[[int, str], None] | None) -> None:
        self.begun = False
        self._on_delta = on_delta

    @property
    def on_delta(self) -> Callable[[int, str], None] | None:
        """Where deltas go; None where nobody listens."""
        return None if self._on_delta is None else self._pass_on

    def _pass_on(self, index: int, text: str) -> None:
        self.begun = True
        if self._on_delta is not None:
            self._on_delta(index, text)


@dataclass(frozen=True, slots=True)
class _Job:
    """One request as it goes from model to model."""

    pair: LanguagePair
    request: TranslateRequest
    request_id: str
    deadline: Deadline
    priority: Priority
    caller: str
    relay: _DeltaRelay


async def _planned(translator: Translator, job: _Job) -> list[Plan]:
    """Plan every text before the engine is asked for any."""
    request = job.request
    options = TranslateOptions(request.format, Protection.of(request.do_not_translate, request.terms))
    in_thread = request.chars > INLINE_CHARS
    return [await translator.prepare(job.pair, text, options, in_thread=in_thread) for text in request.texts]


async def _translate_all(
    translator: Translator, plans: Sequence[Plan], job: _Job, work: WorkItem, cost: float
) -> list[Translation]:
    """Translate all planned texts at once; each has its part of the request's cost."""
    sizes = [cost_of(len(text)) for text in job.request.texts]
    per_size = cost / sum(sizes)
    on_delta = job.relay.on_delta
    return await gather_results(
        translator.complete(
            each,
            f"{job.request_id}-{index}",
            work,
            cost=size * per_size,
            on_delta=None if on_delta is None else partial(on_delta, index),
        )
        for index, (each, size) in enumerate(zip(plans, sizes, strict=True))
    )
