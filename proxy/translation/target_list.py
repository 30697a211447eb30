"""Target list: one request's texts into several languages."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from proxy.admission.controller import AdmissionController
from proxy.call import Leg, TranslationCall
from proxy.fleet.registry import Registry
from proxy.routing.routes import Route
from proxy.translation.detection import LanguageGrouper
from proxy.translation.dispatcher import CallPlan, Dispatcher, legs_of
from proxy.translation.results import ResultTurns
from proxy.translation.service import Answer, AnswerSource, TranslationService
from shared.protocol.answers import Notice
from shared.protocol.errors import OverloadedError, PairwayError
from shared.protocol.translate_request import AUTO, TranslateRequest
from shared.runtime.background import gather_results
from shared.runtime.gc_tuning import drop_tracebacks
from shared.runtime.metrics import MIXED, RequestSample
from shared.runtime.turns import LoopTurns

# Of one request; each costs as much as the first.
MAX_TARGETS: Final = 10
# The others wait: a list of ten targets should not push ten times the work at once.
MAX_TARGETS_AT_ONCE: Final = 4
# Of planning a target, or of sending it, beside what its texts need.
TARGET_SECONDS: Final = 0.0008


@dataclass(slots=True)
class TargetCalls:
    """A call's targets; labels the call's sample at its end."""

    call: TranslationCall
    calls: Sequence[TranslationCall]
    failed: list[TranslationCall] = field(default_factory=list[TranslationCall])

    @contextmanager
    def naming(self, call: TranslationCall) -> Generator[None]:
        """Name the target in errors of this block."""
        try:
            yield
        except PairwayError as error:
            self.failed.append(call)
            raise error.with_detail(f"Target {call.request.target_lang}: {error.detail}") from error

    @contextmanager
    def labelling(self) -> Generator[None]:
        """Label the call after this block: by the failed target, or all."""
        try:
            yield
        finally:
            samples = [each.sample for each in self.failed[:1] or self.calls]
            _label(self.call.sample, samples)


@dataclass(eq=False, slots=True)
class TargetListTranslator:
    """Translates a request into several languages, with one detection and admission."""

    _registry: Registry
    _service: TranslationService
    _dispatcher: Dispatcher
    _language_grouper: LanguageGrouper
    _admission: AdmissionController
    _result_turns: ResultTurns
    _turns: LoopTurns

    async def translate(
        self, call: TranslationCall, targets: Sequence[TranslateRequest], notices: Mapping[int, Notice]
    ) -> Answer:
        """Return each target's answer, in order, as a single request has it.

        Each result of the targets at the indices of ``notices`` gets one more warning.

        Raises:
            PairwayError: a target failed, which the detail names; there are no partial answers.
        """
        target_calls = TargetCalls(call, [call.for_target(target) for target in targets])
        with target_calls.labelling():
            plans, legs = await self._plan(target_calls)
            with self._admission.admit(legs, self._registry.snapshot):
                answers = await self._translate_all(target_calls, plans)
        bodies = [answer.body for answer in answers]
        for index, notice in notices.items():
            bodies[index] = await self._result_turns.with_warning(targets[index], bodies[index], notice)
        await asyncio.sleep(0)  # the longest answer takes some 20 ms, and so does the next step
        parts = [part for body in bodies for part in (b",", body)]
        # One copy of up to 60 MB, and one more where it is sent: each in a turn of its own.
        body = b"".join((b'{"targets":[', *parts[1:], b"]}"))
        await asyncio.sleep(0)
        return Answer(body, _combined_source({answer.source for answer in answers}))

    async def _plan(self, target_calls: TargetCalls) -> tuple[Sequence[CallPlan], Sequence[Leg]]:
        """Check and route all targets before anything is sent.

        Returns each target's plan, and the legs that need admission.
        """
        call, scored, has_words = target_calls.call, None, None
        if call.request.source_lang == AUTO:
            scored = await self._language_grouper.score(call.caller.identity, call.request)
        else:
            has_words = await self._dispatcher.look_for_words(call)
        plans: list[CallPlan] = []
        legs: list[Leg] = []
        for each in target_calls.calls:
            await self._turns.take(TARGET_SECONDS)
            with target_calls.naming(each):
                plan, legs_of_target = await self._dispatcher.plan_target(each, scored, has_words=has_words)
                plans.append(plan)
                legs += await self._uncached_legs(each, plan, legs_of_target)
        return plans, legs

    async def _uncached_legs(self, call: TranslationCall, plan: CallPlan, legs: Sequence[Leg]) -> Sequence[Leg]:
        if not legs or not isinstance(plan.route, Route):
            return legs
        part = await self._service.uncached_part(call, plan.route)
        return () if part is None else legs_of(part, call.pair, plan.route)

    async def _translate_all(self, target_calls: TargetCalls, plans: Sequence[CallPlan]) -> list[Answer]:
        """Translate several targets at once.

        Those that a full replica refused follow one by one.
        """
        running = asyncio.Semaphore(MAX_TARGETS_AT_ONCE)

        async def translate(call: TranslationCall, plan: CallPlan) -> Answer | None:
            async with running:
                await self._turns.take(TARGET_SECONDS)
                with target_calls.naming(call):
                    try:
                        return await self._service.translate(call, plan)
                    except OverloadedError as error:  # perhaps the list's own other targets fill the replica
                        drop_tracebacks(error)
                        return None

        answers: list[Answer] = []
        at_once = await gather_results(map(translate, target_calls.calls, plans))
        for call, plan, answer in zip(target_calls.calls, plans, at_once, strict=True):
            with target_calls.naming(call):
                answers.append(answer or await self._service.translate(call, plan))
        return answers


def _label(sample: RequestSample, parts: Sequence[RequestSample]) -> None:
    """Label a request by its parts."""
    pairs, routes = {part.pair for part in parts}, {part.route for part in parts}
    sample.pair = pairs.pop() if len(pairs) == 1 else MIXED
    sample.route = routes.pop() if len(routes) == 1 else MIXED
    sample.replicas = list(dict.fromkeys(replica for part in parts for replica in part.replicas))


def _combined_source(sources: set[AnswerSource | None]) -> AnswerSource | None:
    if len(sources) == 1:
        return sources.pop()
    if sources & {AnswerSource.HIT, AnswerSource.PARTIAL}:
        return AnswerSource.PARTIAL
    return AnswerSource.MISS if AnswerSource.MISS in sources else None
