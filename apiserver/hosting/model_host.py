"""Model host: starts, checks, watches and restarts one model's engine."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from apiserver.catalog import calibration
from apiserver.catalog.calibration import Calibration, CalibrationError
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import model_revision, weights_fingerprint
from apiserver.engine.interface import Engine
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.guards.calendar.changed_calendar import load_calendar
from apiserver.guards.names.name_guard import load_names
from apiserver.guards.numbers.changed_numbers import load_numbers
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.canary_checks import CanaryChecks
from apiserver.hosting.restart_backoff import RestartBackoff
from apiserver.hosting.stall_detector import StallDetector
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.planning_queue import PlanningQueue
from apiserver.translation.running_model import RunningModel
from apiserver.translation.translator import Translator
from shared.languages import LanguagePair
from shared.protocol.errors import PairUnavailableError
from shared.protocol.report import ENGINE_STALLED, ModelReport, PairReport
from shared.runtime.background import Loop

log = logging.getLogger(__name__)

# An idle engine's death is seen so late; requests see it at once.
WATCH_SECONDS: Final = 0.1
CANARY_RETRY_SECONDS: Final = 10.0
START_RETRY_SECONDS: Final = 5.0  # a small engine's restart, used before a start was measured

DEFAULT_MAX_NUM_SEQS: Final = 256  # vLLM's default for an API server

DIED: Final = "its engine died and is being restarted"
HANGS: Final = "its engine hung and is being restarted"
STARTING: Final = "the engine is starting"
CANARY_RUNNING: Final = "its canary translation is running"


# Starts a model's engine; the real one is ``VllmEngine.start``.
EngineFactory = Callable[[ModelEntry], Awaitable[Engine]]


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Settings of a host; times in seconds.

    ``restart_backoff`` is the first pause. After ``stall_seconds`` of silence an engine is suspect.
    """

    canary_timeout: float
    restart_backoff: float
    stall_seconds: float
    queue: QueueBounds


@dataclass(frozen=True, slots=True)
class HostServices:
    """Services that hosts share; ``start_lock`` serialises starts, ``catalog`` has calibrations."""

    factory: EngineFactory
    metrics: ApiServerMetrics
    guards: QualityGuard
    start_lock: asyncio.Lock
    clock: Callable[[], float]
    rng: Random
    catalog: Path | None = None
    planning: PlanningQueue = field(default_factory=PlanningQueue)


class ModelHost:
    """The life of one model; ``ranks`` are its places in the catalog.

    State changes only in ``tick``, its task, and when it begins or ends to serve. Unless ``is_serving``, its pairs are in
    no metric. ``revision``, of weights and definition, is None before the first start. ``engine_died_at``: Unix seconds.
    """

    def __init__(
        self,
        entry: ModelEntry,
        ranks: Mapping[LanguagePair, int],
        settings: HostSettings,
        services: HostServices,
        *,
        is_serving: bool = True,
    ) -> None:
        self.entry = entry
        self.ranks = ranks
        self.engine_failures = 0
        self.engine_died_at: float | None = None
        self.canary_rounds = 0
        self._is_serving = is_serving
        self._withdrawn: str | None = None
        self._settings = settings
        self._services = services
        self._metrics = services.metrics
        self._clock = services.clock
        self._translator: Translator | None = None
        self._stall_detector: StallDetector | None = None
        self.revision: str | None = None
        batch_size = int(entry.engine.get("max_num_seqs", DEFAULT_MAX_NUM_SEQS))
        self.admission = ModelAdmission(batch_size, settings.queue, services.clock)
        # None if the pair is ready.
        self._reasons: dict[LanguagePair, str | None] = dict.fromkeys(entry.all_pairs, STARTING)
        self._task: asyncio.Task[None] | None = None
        self._restarts = RestartBackoff(settings.restart_backoff, services.clock, services.rng)
        self._canaries = CanaryChecks(entry, settings.canary_timeout, services.clock)
        self._canaries_due = services.clock()
        self._engine_hangs = False
        self._metrics.start_model(entry.name)
        for pair in entry.all_pairs:
            self._metrics.start_pair(str(pair))

    def loop(self) -> Loop:
        """Return this model's loop."""
        return Loop(f"host:{self.entry.name}", WATCH_SECONDS, self.tick, self._clock, self._services.rng)

    def ready(self, pair: LanguagePair) -> bool:
        """Return whether the pair's canary passed and its engine lives."""
        return self._reasons[pair] is None and self._translator is not None and self._translator.engine.alive

    def translator(self, pair: LanguagePair) -> Translator:
        """Return a ready pair's translator, or raise PairUnavailableError."""
        if self._translator is None or not self.ready(pair):
            raise self.unavailable(pair)
        return self._translator

    def unavailable(self, pair: LanguagePair) -> PairUnavailableError:
        """Return the error for a pair that cannot be served now."""
        why, seconds = self._reasons[pair] or DIED, self.ready_in() or START_RETRY_SECONDS
        return PairUnavailableError(str(pair), why, retry_after=seconds)

    def ready_in(self) -> float | None:
        """Return seconds (1 to 60) until it serves; None: now, or unknown."""
        if self._withdrawn is not None:
            return self._restarts.expected_seconds
        lives = self.engine is not None and self.engine.alive and not self._restarts.is_starting
        return None if lives else self._restarts.seconds_left()

    def pair_reports(self) -> dict[str, PairReport]:
        """Return the report of every configured pair."""
        ready_in, issues = self.ready_in(), self.issues
        return {
            str(pair): PairReport(
                source=pair.source,
                target=pair.target,
                model=self.entry.name,
                ready=pair not in issues,
                why=issues.get(pair),
                rank=self.ranks[pair],
                canary=self.entry.canary(pair),
                ready_in_s=ready_in,
            )
            for pair in self.entry.all_pairs
        }

    def progress(self) -> ModelReport | None:
        """Return the engine's report with capacity and revision, if it runs."""
        return None if self.engine is None else self.admission.with_capacity(self.engine.progress(), self.revision)

    @property
    def engine(self) -> Engine | None:
        """The running engine, if any."""
        return None if self._translator is None else self._translator.engine

    @property
    def issues(self) -> dict[LanguagePair, str]:
        """Why pairs are not ready."""
        return {pair: self._reasons[pair] or DIED for pair in self.entry.all_pairs if not self.ready(pair)}

    def serve(self) -> None:
        """Show the pairs in the metrics: from now on this host serves."""
        self._is_serving = True
        self._update_ready_metric()

    async def withdraw(self, reason: str) -> None:
        """Make all pairs unready until :meth:`reinstate`; requests in flight go on."""
        self._withdrawn = reason
        await self._cancel_task()
        self._reasons = dict.fromkeys(self.entry.all_pairs, reason)
        self._update_ready_metric()

    def reinstate(self) -> None:
        """Let the pairs serve again once their canaries passed."""
        self._withdrawn = None
        self._reasons = dict.fromkeys(self.entry.all_pairs, CANARY_RUNNING)
        self._canaries_due = self._clock()

    async def tick(self) -> None:
        """Stop, suspect or start the engine; repeat failed canaries."""
        if self._withdrawn is not None:
            return
        if self._task is not None and self._task.done():
            task, self._task = self._task, None
            self._update_ready_metric()
            if (error := task.exception()) is not None:
                self._note_failed_start(error)
        if self._translator is None or self._stall_detector is None:
            if self._task is None and self._restarts.is_due:
                self._task = asyncio.create_task(self._start(), name=f"start:{self.entry.name}")
            return
        silence = self._stall_detector.update()
        if not self._translator.engine.alive:
            await self._stop_lost_engine(self._translator, DIED)
        elif self._engine_hangs:
            await self._stop_lost_engine(self._translator, HANGS)
        elif silence > self._settings.stall_seconds and any(map(self.ready, self.entry.all_pairs)):
            await self._suspect(self._translator, silence)
        elif self._task is None and self._clock() >= self._canaries_due and any(self._reasons.values()):
            self._task = self._canary_task(self._translator, None)

    async def close(self) -> None:
        """Stop the task and the engine."""
        await self._cancel_task()
        self._end_detector()
        if self._translator is not None:
            await self._translator.engine.stop()
            self._translator = None

    async def _start(self) -> None:
        async with self._services.start_lock:
            log.info("engine starting", extra={"model": self.entry.name})
            self._restarts.start_begun()
            began = self._clock()
            engine = await self._services.factory(self.entry)
            try:
                sampling = sampling_for(self.entry, engine)
                family, pairs = self.entry.family, self.entry.all_pairs
                # In a thread, because a thousand pairs take more than a second.
                encoders = await asyncio.to_thread(
                    lambda: {pair: PromptEncoder.of(family, pair, engine) for pair in pairs}
                )
                await asyncio.to_thread(load_names, pairs)
                await asyncio.to_thread(load_numbers, pairs)
                await asyncio.to_thread(load_calendar, pairs)
                commit = engine.progress().revision
                self.revision = await asyncio.to_thread(model_revision, self.entry, commit)
                calibrations = await asyncio.to_thread(self._read_calibrations, commit)
            except BaseException:  # including a cancelled start
                await engine.stop()  # otherwise each new try would leave an engine behind
                raise
            slots = self.admission.new_slots(engine.max_num_seqs)
            guard, metrics = self._services.guards, self._metrics
            planning = self._services.planning
            model = RunningModel(
                self.entry, engine, encoders, sampling, guard, metrics, self.admission, slots, calibrations, planning
            )
            self._translator = Translator(model)
            self._stall_detector = StallDetector(engine, self._clock)
            seconds = self._clock() - began
            log.info("engine started", extra={"model": self.entry.name, "seconds": round(seconds, 1)})
        self._metrics.engine_started(self.entry.name, seconds)
        await self._check_canaries(self._translator, CANARY_RUNNING)

    def _read_calibrations(self, commit: str | None) -> Mapping[str, Calibration]:
        """Read the model's calibrations; a wrong file only costs those."""
        catalog, name = self._services.catalog, self.entry.name
        try:
            if catalog is not None and (path := calibration.path_for(catalog, name)).is_file():
                return calibration.read(path, weights_fingerprint(self.entry, commit))
        except CalibrationError as error:
            log.warning("calibration not used", extra={"model": name, "why": str(error)})
        return {}

    def _canary_task(self, translator: Translator, reason: str | None) -> asyncio.Task[None]:
        return asyncio.create_task(self._check_canaries(translator, reason), name=f"canary:{self.entry.name}")

    async def _check_canaries(self, translator: Translator, reason: str | None) -> None:
        """Check unready pairs; meanwhile ``reason`` (None: the last) is why they are."""
        self._canaries_due = self._clock() + CANARY_RETRY_SECONDS
        pairs = [pair for pair, issue in self._reasons.items() if issue is not None]
        if reason is not None:
            self._reasons.update(dict.fromkeys(pairs, reason))
        outcome = await self._canaries.check(translator, pairs, self._note_canary)
        self.canary_rounds += 1
        if outcome.passed:
            self.admission.estimate_rate(outcome.passed, outcome.seconds)
        self._restarts.start_ended(ready=any(map(self.ready, self.entry.all_pairs)))
        self._engine_hangs = outcome.engine_hangs

    def _note_canary(self, pair: LanguagePair, issue: str | None) -> None:
        self._reasons[pair] = issue
        self._update_ready_metric(pair)
        fields = {"model": self.entry.name, "pair": str(pair)}
        if issue is None:
            log.info("pair ready", extra=fields)
        else:
            log.error("canary failed", extra={**fields, "why": issue})

    async def _suspect(self, translator: Translator, silence: float) -> None:
        await self._cancel_task()
        self._reasons = dict.fromkeys(self.entry.all_pairs, ENGINE_STALLED)
        self._update_ready_metric()
        log.error(
            "engine stands still; if its steps are only long, raise APISERVER_STALL_SECONDS",
            extra={"model": self.entry.name, "silent_for": round(silence, 1)},
        )
        self._task = self._canary_task(translator, ENGINE_STALLED)

    async def _stop_lost_engine(self, translator: Translator, reason: str) -> None:
        self._translator = None
        self._engine_hangs = False
        log.error("engine lost", extra={"model": self.entry.name, "why": reason})
        await self._cancel_task()  # first, because a canary that passes now would count for the next engine
        self._schedule_restart(reason)
        self._metrics.engine_deaths.labels(self.entry.name).inc()
        self.engine_died_at = time.time()
        self._end_detector()
        await translator.engine.stop()

    def _end_detector(self) -> None:
        if self._stall_detector is not None:
            self._stall_detector.close()
            self._stall_detector = None  # it would keep the engine's objects in memory

    async def _cancel_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _note_failed_start(self, error: BaseException) -> None:
        log.error("engine start failed", extra={"model": self.entry.name, "error": f"{type(error).__name__}: {error}"})
        self._metrics.engine_starts.labels(self.entry.name, "failed").inc()
        self._schedule_restart(f"its engine does not start: {type(error).__name__}: {error}"[:500])

    def _schedule_restart(self, reason: str) -> None:
        self.engine_failures += 1
        pause = self._restarts.schedule()
        log.info("engine restarts", extra={"model": self.entry.name, "seconds": pause})
        self._reasons = dict.fromkeys(self.entry.all_pairs, reason)
        self._update_ready_metric()

    def _update_ready_metric(self, *changed: LanguagePair) -> None:
        for pair in (changed or self.entry.all_pairs) if self._is_serving else ():
            self._metrics.pair_ready.labels(str(pair), self.entry.name).set(self.ready(pair))
