"""Shadow traffic: sends finished requests to a candidate too, and compares."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from enum import StrEnum
from math import inf
from random import Random
from typing import Final
from weakref import WeakKeyDictionary

from apiserver.engine.interface import EngineGoneError
from apiserver.hosting.model_host import ModelHost
from apiserver.metrics import ShadowMetrics
from apiserver.scheduling.work_item import WorkItem
from apiserver.shadowing.comparison import CandidateComparison, ComparedText, PairComparison, PairComparisonReport
from apiserver.shadowing.shadow_policy import drop_reason
from apiserver.shadowing.slowdown_monitor import SlowdownMonitor
from shared.literals import needs_translation
from shared.protocol.answers import Translation
from shared.protocol.deadline import Deadline
from shared.protocol.errors import OverloadedError, PairUnavailableError, PairwayError
from shared.protocol.priority import Priority

log = logging.getLogger(__name__)

# The answer is written first.
START_PAUSE_SECONDS: Final = 0.01
# Much longer than a short request takes; then it only takes time from others.
TIMEOUT_SECONDS: Final = 10.0
# No caller's tag, which has 16 characters: shadow requests take no caller's share.
SHADOW_CALLER: Final = "shadow"


class ShadowOutcome(StrEnum):
    """Outcome of a shadow request; only ``COMPARED`` has translations."""

    COMPARED = "compared"
    REFUSED = "refused"  # by the candidate's admission
    LATE = "late"
    ENGINE_LOST = "engine-lost"
    FAILED = "failed"


class ShadowTraffic:
    """Shadow requests to candidates, at bulk priority; ``share`` is 0..1.

    Mutable state: the requests in flight, when one last ended, and the statistics of each candidate that still exists.
    It keeps no text.
    """

    def __init__(
        self,
        share: float,
        metrics: ShadowMetrics,
        monitor: SlowdownMonitor,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        self._share = share
        self._monitor = monitor
        self._last_end = -inf
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._tasks: set[asyncio.Task[None]] = set()
        self._comparisons: WeakKeyDictionary[ModelHost, CandidateComparison] = WeakKeyDictionary()

    async def close(self) -> None:
        """Cancel the requests in flight."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def report(self, candidate: ModelHost) -> dict[str, PairComparisonReport]:
        """Return a candidate's comparisons by pair."""
        comparison = self._comparisons.get(candidate)
        return {} if comparison is None else comparison.report()

    def offer(
        self, work: WorkItem, results: Sequence[Translation], candidate: ModelHost, serving: Sequence[ModelHost]
    ) -> None:
        """Perhaps send a translated request to the candidate; returns at once.

        ``serving`` are the server's models, whose load decides too.
        """
        seconds = self._clock() - work.admitted_at
        is_beside = bool(self._tasks) or self._last_end > work.admitted_at
        self._monitor.note(seconds / work.cost, is_beside=is_beside)
        if self._rng.random() >= self._share:
            return
        pair = str(work.pair)
        comparison = self._comparisons.setdefault(candidate, CandidateComparison()).pair(pair)
        load = max(host.admission.load for host in (*serving, candidate))
        reason = drop_reason(work, load, len(self._tasks), is_paused=not self._monitor.allows)
        if reason is not None:
            comparison.dropped[reason] += len(work.texts)
            self._metrics.texts.labels(pair, reason).inc(len(work.texts))
            return
        task = asyncio.create_task(self._shadow(work, results, seconds, candidate, comparison), name="shadow")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._last_end = self._clock()

    async def _shadow(
        self,
        work: WorkItem,
        results: Sequence[Translation],
        seconds: float,
        candidate: ModelHost,
        comparison: PairComparison,
    ) -> None:
        await asyncio.sleep(START_PAUSE_SECONDS)
        # Nothing is withheld, and the candidate's confidence may be of another calibration, or of none.
        request = work.request.model_copy(update={"confidence": False, "min_confidence": None})
        shadow = WorkItem(
            request,
            work.pair,
            Deadline.after(TIMEOUT_SECONDS, self._clock),
            f"shadow-{uuid.uuid4().hex}",
            Priority.BULK,
            SHADOW_CALLER,
            is_shadow=True,
        )
        outcome, answers = await self._translate(candidate, shadow)
        candidate_seconds = self._clock() - shadow.admitted_at
        if answers:
            compared: list[ComparedText] = []
            for text, result, answer in zip(work.texts, results, answers, strict=True):
                if needs_translation(text) and not result.is_too_uncertain:
                    compared.append(ComparedText.of(result, answer))
                    await asyncio.sleep(0)  # others' turn between two texts
            self._count(str(work.pair), comparison, compared, (seconds, candidate_seconds))
        else:
            comparison.failed[outcome] += len(work.texts)
        self._metrics.texts.labels(str(work.pair), outcome).inc(len(work.texts))

    async def _translate(self, candidate: ModelHost, shadow: WorkItem) -> tuple[ShadowOutcome, list[Translation]]:
        """Return the outcome and the candidate's translations; no error leaves."""
        try:
            candidate.admission.admit(shadow)
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS) as shadow.timer:
                    return ShadowOutcome.COMPARED, await candidate.translator(shadow.pair).translate(shadow)
            finally:
                candidate.admission.release(shadow)
        except OverloadedError:
            return ShadowOutcome.REFUSED, []
        except TimeoutError:
            return ShadowOutcome.LATE, []
        except (EngineGoneError, PairUnavailableError):
            return ShadowOutcome.ENGINE_LOST, []
        except PairwayError:
            return ShadowOutcome.FAILED, []
        except Exception as error:  # noqa: BLE001 - a candidate's fault concerns no caller
            # Not its message, which could quote a text.
            log.error("shadow request failed", extra={"pair": str(shadow.pair), "error": type(error).__name__})  # noqa: TRY400
            return ShadowOutcome.FAILED, []

    def _count(
        self, pair: str, comparison: PairComparison, compared: Sequence[ComparedText], seconds: tuple[float, float]
    ) -> None:
        comparison.add(compared, *seconds)
        metrics = self._metrics
        for side, side_seconds in zip(("serving", "candidate"), seconds, strict=True):
            metrics.seconds.labels(pair, side).observe(side_seconds)
        for text in compared:
            metrics.agreement.labels(pair).observe(text.agreement)
            for side, codes in (("serving", text.serving), ("candidate", text.candidate)):
                for code in codes:
                    metrics.warnings.labels(pair, side, code).inc()
