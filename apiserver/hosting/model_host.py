"""ModelHost: keeps one model alive: starts its engine, proves each pair, watches, starts again."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from apiserver.catalog import canary_texts
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import revision_of
from apiserver.engine.interface import Engine, EngineGoneError
from apiserver.engine.prompt_encoder import PromptEncoder, decoding_for
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.restart_backoff import RestartBackoff
from apiserver.hosting.stall_detector import StallDetector
from apiserver.metrics import ApiServerMetrics
from apiserver.protection.placeholders import Protection
from apiserver.scheduling.admission import QueueBounds
from apiserver.scheduling.model_capacity import ModelCapacity
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.planner import TranslateOptions
from apiserver.translation.translator import RunningModel, Translator
from shared.languages import LanguagePair
from shared.protocol.errors import PairUnavailableError, PairwayError
from shared.protocol.messages import TextFormat
from shared.protocol.report import ModelReport, PairReport
from shared.runtime.background import Loop

log = logging.getLogger(__name__)

# How soon an idle engine's death is seen; under load its requests see it at once.
WATCH_SECONDS: Final = 0.1
# A pair whose canary failed while its engine lives is tried again after this.
CANARY_AGAIN_SECONDS: Final = 10.0
# Told where nothing better is known: restarting a small engine takes about this long.
RETRY_AFTER_SECONDS: Final = 5.0
# A canary is an ordinary text.
PLAIN: Final = TranslateOptions(TextFormat.TEXT, Protection.of((), {}))

DIED: Final = "its engine died and is being restarted"
HANGS: Final = "its engine hung and is being restarted"
STARTING: Final = "the engine is starting"
PROVED_NOW: Final = "its canary translation is on the way"
STANDS_STILL: Final = "its engine stands still"


class EngineFactory(Protocol):
    """Starts a model's engine; the real one is ``VllmEngine.start``."""

    async def __call__(self, entry: ModelEntry) -> Engine:
        """Return the running engine."""
        ...


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Seconds a canary may take, the first pause before a restart, the silence after which an engine is doubted; its queue.

    A hanging engine must lose its pairs within 3 s: the silence (1.5 s by default), a ping's pause of 0.25 s, two looks of
    0.1 s; the rest is for a loop that is late.
    """

    canary_timeout: float
    restart_backoff: float
    stall_seconds: float
    queue: QueueBounds


class ModelHost:
    """One model's life. All state changes happen in ``tick`` and in the task it starts, on one event loop."""

    def __init__(
        self,
        entry: ModelEntry,
        factory: EngineFactory,
        settings: HostSettings,
        metrics: ApiServerMetrics,
        guards: QualityGuard,
        *,
        ranks: Mapping[LanguagePair, int],
        start_lock: asyncio.Lock,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        """Take everything; ``ranks`` are the model's places in the catalog, ``start_lock`` lets one engine start at a time."""
        self.entry = entry
        self._ranks = ranks
        self._guards = guards
        self._factory = factory
        self._settings = settings
        self._metrics = metrics
        self._start_lock = start_lock
        self._clock = clock
        self._rng = rng
        self._translator: Translator | None = None
        self._pulse: StallDetector | None = None
        self._revision: str | None = None
        self.room = ModelCapacity(entry, settings.queue, clock)
        self._why: dict[LanguagePair, str | None] = dict.fromkeys(entry.all_pairs, STARTING)
        self._work: asyncio.Task[None] | None = None
        self._restarts = RestartBackoff(settings.restart_backoff, clock, rng)
        self._canaries_due = clock()
        self._too_late = f"its canary translation took longer than {settings.canary_timeout:g} s"
        self._hangs = False
        metrics.engine_deaths.labels(entry.name)  # born at 0, so that an alert sees the first one as an increase

    def __repr__(self) -> str:
        """Show the model and each pair's state."""
        return f"<ModelHost {self.entry.name} {self._why}>"

    def loop(self) -> Loop:
        """Return the loop that keeps this model alive."""
        return Loop(f"host:{self.entry.name}", WATCH_SECONDS, self.tick, self._clock, self._rng)

    def ready(self, pair: LanguagePair) -> bool:
        """Say whether the pair's canary came back and its engine lives."""
        return self._why[pair] is None and self._translator is not None and self._translator.engine.alive

    def translator(self, pair: LanguagePair) -> Translator:
        """Return the translator for a ready pair.

        Raises:
            PairUnavailableError: the pair is not ready; says why.
        """
        if self._translator is None or not self.ready(pair):
            raise self.unavailable(pair)
        return self._translator

    def unavailable(self, pair: LanguagePair) -> PairUnavailableError:
        """Return the error for a pair that can not be served now."""
        why = self._why[pair] or DIED
        return PairUnavailableError(str(pair), why, retry_after=self.ready_in() or RETRY_AFTER_SECONDS)

    def ready_in(self) -> float | None:
        """Return in how many whole seconds (1 to 60) an engine that is gone or starts should serve; else None."""
        translator = self._translator
        lives = translator is not None and translator.engine.alive and not self._restarts.under_way
        return None if lives else self._restarts.seconds_left()

    def pair_reports(self) -> dict[str, PairReport]:
        """Return every configured pair's report."""
        ready_in = self.ready_in()
        return {
            str(pair): PairReport(
                source=pair.source,
                target=pair.target,
                model=self.entry.name,
                ready=self.ready(pair),
                why=None if self.ready(pair) else self._why[pair] or DIED,
                rank=self._ranks[pair],
                canary=self.entry.canary(pair),
                ready_in_s=ready_in,
            )
            for pair in self.entry.all_pairs
        }

    def progress(self) -> ModelReport | None:
        """Return the engine's report, its room and its revision; None while there is no engine."""
        if self._translator is None:
            return None
        return self.room.told(self._translator.engine.progress(), self._revision)

    @property
    def engine(self) -> Engine | None:
        """The running engine, if any."""
        return None if self._translator is None else self._translator.engine

    async def tick(self) -> None:
        """Do what is due: bury a dead or hanging engine, doubt one that stands still, start one, try failed canaries."""
        if self._work is not None and self._work.done():
            work, self._work = self._work, None
            self._metric_ready()
            if (error := work.exception()) is not None:
                self._failed(error)
        if self._translator is None or self._pulse is None:
            if self._work is None and self._restarts.due:
                self._work = asyncio.create_task(self._start(), name=f"start:{self.entry.name}")
            return
        silence = self._pulse.look()
        if not self._translator.engine.alive:
            await self._bury(self._translator, DIED)
        elif self._hangs:
            await self._bury(self._translator, HANGS)
        elif silence > self._settings.stall_seconds and any(map(self.ready, self.entry.all_pairs)):
            await self._doubt(self._translator, silence)
        elif self._work is None and self._clock() >= self._canaries_due and any(self._why.values()):
            self._work = asyncio.create_task(
                self._prove(self._translator, PROVED_NOW), name=f"canary:{self.entry.name}"
            )

    async def close(self) -> None:
        """Stop what is running; bounded by the engine's own stop."""
        await self._end_work()
        if self._pulse is not None:
            self._pulse.close()
        if self._translator is not None:
            await self._translator.engine.stop()
            self._translator = None

    async def _start(self) -> None:
        async with self._start_lock:
            log.info("engine starting", extra={"model": self.entry.name})
            self._restarts.begin()
            began = self._clock()
            engine = await self._factory(self.entry)
            try:
                decoding = decoding_for(self.entry, engine)
                # A thousand pairs take more than a second.
                frames = await asyncio.to_thread(self._frames, engine)
                self._revision = await asyncio.to_thread(revision_of, self.entry, engine.progress().revision)
            except Exception:
                await engine.stop()  # else every new try would leave one behind
                raise
            slots = self.room.slots_for(engine.max_num_seqs)
            self._translator = Translator(
                RunningModel(self.entry, engine, frames, decoding), self._guards, self._metrics, slots
            )
            self._pulse = StallDetector(engine, self._clock)
            log.info("engine started", extra={"model": self.entry.name, "seconds": round(self._clock() - began, 1)})
        self._metrics.engine_starts.labels(self.entry.name, "started").inc()
        await self._prove(self._translator, PROVED_NOW)

    def _frames(self, engine: Engine) -> dict[LanguagePair, PromptEncoder]:
        return {pair: PromptEncoder.of(self.entry.family, pair, engine) for pair in self.entry.all_pairs}

    async def _prove(self, translator: Translator, why: str) -> None:
        """Send every unproven pair's canary through the engine, all at once; each that comes back makes its pair ready."""
        began = self._clock()
        self._canaries_due = began + CANARY_AGAIN_SECONDS
        steps = translator.engine.progress().steps
        unproven = [pair for pair, fault in self._why.items() if fault is not None]
        self._why.update(dict.fromkeys(unproven, why))
        faults = await asyncio.gather(*(self._proved(translator, pair) for pair in unproven))
        if proved := faults.count(None):
            self.room.tried(proved, self._clock() - began)
        self._restarts.end(ready=any(map(self.ready, self.entry.all_pairs)))
        # Busy is not dead: only an engine that made no single step for its canaries hangs.
        self._hangs = self._too_late in faults and translator.engine.progress().steps == steps

    async def _proved(self, translator: Translator, pair: LanguagePair) -> str | None:
        """Send the pair's canary, note what is wrong with it and return that."""
        self._why[pair] = fault = await self._canary(translator, pair)
        self._metrics.pair_ready.labels(str(pair), self.entry.name).set(self.ready(pair))
        fields = {"model": self.entry.name, "pair": str(pair)}
        if fault is None:
            log.info("pair ready", extra=fields)
        else:
            log.error("canary failed", extra={**fields, "why": fault})
        return fault

    async def _canary(self, translator: Translator, pair: LanguagePair) -> str | None:
        source = self.entry.canary(pair) or ""
        try:
            async with asyncio.timeout(self._settings.canary_timeout):
                planned = await translator.prepare(pair, source, PLAIN)
                answer = await translator.complete(planned, f"canary-{uuid.uuid4().hex}", WorkItem(canary=True))
        except TimeoutError:
            return self._too_late
        except EngineGoneError:
            return "its engine died under the canary"
        except PairwayError as error:
            return f"its canary was refused: {error.detail}"
        except Exception as error:  # whatever it is, the pair does not work; the engine lives and is tried again
            log.exception("canary raised", extra={"model": self.entry.name, "pair": str(pair)})
            return f"its canary failed: {type(error).__name__}"
        fault = canary_texts.fault_of(source, answer.translation or "")
        return fault or (f"its canary: {answer.warnings[0].message}" if answer.warnings else None)

    async def _doubt(self, translator: Translator, silence: float) -> None:
        """Take a standing engine's pairs away until their canaries, which wait in it, come back."""
        await self._end_work()
        self._why = dict.fromkeys(self.entry.all_pairs, STANDS_STILL)
        self._metric_ready()
        log.error(
            "engine stands still; where it only takes long steps, raise APISERVER_STALL_SECONDS",
            extra={"model": self.entry.name, "silent_for": round(silence, 1)},
        )
        self._work = asyncio.create_task(self._prove(translator, STANDS_STILL), name=f"canary:{self.entry.name}")

    async def _bury(self, translator: Translator, why: str) -> None:
        """Take a dead or hanging engine's pairs away at once, then end what is left of it."""
        self._translator = None
        self._hangs = False
        log.error("engine lost", extra={"model": self.entry.name, "why": why})
        await self._end_work()  # first: a canary that came back this moment would count for the next engine
        self._put_off(why)
        self._metrics.engine_deaths.labels(self.entry.name).inc()
        if self._pulse is not None:
            self._pulse.close()
            self._pulse = None
        await translator.engine.stop()

    async def _end_work(self) -> None:
        """Cancel the start or the canaries under way and wait for their end."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
            self._work = None

    def _failed(self, error: BaseException) -> None:
        """Note a start that failed; the next one follows after the back-off."""
        log.error("engine start failed", extra={"model": self.entry.name, "error": f"{type(error).__name__}: {error}"})
        self._metrics.engine_starts.labels(self.entry.name, "failed").inc()
        self._put_off(f"its engine does not start: {type(error).__name__}: {error}"[:500])

    def _put_off(self, why: str) -> None:
        pause = self._restarts.put_off()
        log.info("engine restarts", extra={"model": self.entry.name, "seconds": pause})
        self._why = dict.fromkeys(self.entry.all_pairs, why)
        self._metric_ready()

    def _metric_ready(self) -> None:
        for pair in self.entry.all_pairs:
            self._metrics.pair_ready.labels(str(pair), self.entry.name).set(self.ready(pair))
