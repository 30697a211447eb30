"""ModelHost: keeps one model alive: starts its engine, proves each pair, watches, starts again."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiserver import canary
from apiserver.framing import Frame, decoding_for
from apiserver.generation import Engine, EngineGoneError
from apiserver.lanes import CANARY_PRIORITY
from apiserver.placeholders import Protection
from apiserver.plan import Wish
from apiserver.translator import Translator
from shared.background import Loop
from shared.errors import PairUnavailableError, PairwayError
from shared.report import ModelReport, PairReport
from shared.wire import TextFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from apiserver.catalog import ModelEntry
    from apiserver.guards import Guards
    from shared.languages import LanguagePair
    from shared.telemetry import ApiServerMetrics

log = logging.getLogger(__name__)

# How soon an idle engine's death is seen; under load its requests see it at once.
WATCH_SECONDS: Final = 0.1
MAX_BACKOFF_SECONDS: Final = 30.0
# An engine that served this long was well: its next restart begins with the short pause again.
WELL_AFTER_SECONDS: Final = 60.0
# A pair whose canary failed while its engine lives is tried again after this.
CANARY_AGAIN_SECONDS: Final = 10.0
# Restarting a small engine takes about this long; a client that obeys it finds the pair served again.
RETRY_AFTER_SECONDS: Final = 5.0

# A canary is an ordinary text.
PLAIN: Final = Wish(TextFormat.TEXT, Protection.of((), {}))

DIED: Final = "its engine died and is being restarted"
HANGS: Final = "its engine hung and is being restarted"


class EngineFactory(Protocol):
    """Starts a model's engine; the real one is ``VllmEngine.start``."""

    async def __call__(self, entry: ModelEntry) -> Engine:
        """Return the running engine."""
        ...


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Seconds a canary may take, and the first pause before a restart."""

    canary_timeout: float
    restart_backoff: float


class ModelHost:
    """One model's life. All state changes happen in ``tick`` and in the task it starts, on one event loop."""

    def __init__(
        self,
        entry: ModelEntry,
        factory: EngineFactory,
        settings: HostSettings,
        metrics: ApiServerMetrics,
        guards: Guards,
        *,
        start_lock: asyncio.Lock,
        clock: Callable[[], float],
        rng: Random,
    ) -> None:
        """Take everything; ``start_lock`` lets one engine of the server start at a time."""
        self.entry = entry
        self._guards = guards
        self._factory = factory
        self._settings = settings
        self._metrics = metrics
        self._start_lock = start_lock
        self._clock = clock
        self._rng = rng
        self._translator: Translator | None = None
        self._why: dict[LanguagePair, str | None] = dict.fromkeys(entry.all_pairs, "the engine is starting")
        self._work: asyncio.Task[None] | None = None
        self._backoff = settings.restart_backoff
        self._due = clock()  # when the next start or canary is due
        self._ready_since: float | None = None
        self._steps = 0
        self._moved_at = clock()  # when the engine last made a step or had nothing to do
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
        return PairUnavailableError(str(pair), why, retry_after=RETRY_AFTER_SECONDS)

    def pair_reports(self) -> dict[str, PairReport]:
        """Return every configured pair's report."""
        return {
            str(pair): PairReport(
                source=pair.source,
                target=pair.target,
                model=self.entry.name,
                ready=self.ready(pair),
                why=None if self.ready(pair) else self._why[pair] or DIED,
            )
            for pair in self.entry.all_pairs
        }

    def progress(self) -> ModelReport | None:
        """Return the engine's report, None while there is no engine."""
        return None if self._translator is None else self._translator.engine.progress()

    @property
    def engine(self) -> Engine | None:
        """The running engine, if any."""
        return None if self._translator is None else self._translator.engine

    async def tick(self) -> None:
        """Do what is due: bury a dead or hanging engine, doubt one that stands still, start one, try failed canaries."""
        if self._work is not None:
            if not self._work.done():
                return
            work, self._work = self._work, None
            self._metric_ready()
            if (error := work.exception()) is not None:
                self._failed(error)
        if self._translator is not None and not self._translator.engine.alive:
            await self._bury(self._translator, DIED)
        elif self._translator is not None and self._hangs:
            await self._bury(self._translator, HANGS)
        elif self._translator is not None and self._stands_still(self._translator.engine):
            self._doubt()
        elif self._clock() >= self._due:
            if self._translator is None:
                self._work = asyncio.create_task(self._start(), name=f"start:{self.entry.name}")
            elif any(why is not None for why in self._why.values()):
                self._work = asyncio.create_task(self._prove(self._translator), name=f"canary:{self.entry.name}")

    async def close(self) -> None:
        """Stop what is running; bounded by the engine's own stop."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        if self._translator is not None:
            await self._translator.engine.stop()
            self._translator = None

    async def _start(self) -> None:
        async with self._start_lock:
            log.info("engine starting", extra={"model": self.entry.name})
            began = self._clock()
            engine = await self._factory(self.entry)
            try:
                decoding = decoding_for(self.entry, engine)
                # A thousand pairs take more than a second.
                frames = await asyncio.to_thread(self._frames, engine)
            except Exception:
                await engine.stop()  # else every new try would leave one behind
                raise
            self._translator = Translator(self.entry, engine, frames, decoding, self._guards, self._metrics)
            log.info("engine started", extra={"model": self.entry.name, "seconds": round(self._clock() - began, 1)})
        self._metrics.engine_starts.labels(self.entry.name, "started").inc()
        await self._prove(self._translator)
        self._ready_since = self._clock()

    def _frames(self, engine: Engine) -> dict[LanguagePair, Frame]:
        return {pair: Frame.of(self.entry.family, pair, engine) for pair in self.entry.all_pairs}

    async def _prove(self, translator: Translator) -> None:
        """Send every unproven pair's canary through the engine, all at once."""
        self._due = self._clock() + CANARY_AGAIN_SECONDS
        steps = translator.engine.progress().steps
        unproven = [pair for pair, why in self._why.items() if why is not None]
        for pair in unproven:
            self._why[pair] = "its canary translation is on the way"
        faults = await asyncio.gather(*(self._canary(translator, pair) for pair in unproven))
        for pair, fault in zip(unproven, faults, strict=True):
            self._why[pair] = fault
            fields = {"model": self.entry.name, "pair": str(pair)}
            if fault is None:
                log.info("pair ready", extra=fields)
            else:
                log.error("canary failed", extra={**fields, "why": fault})
        # Busy is not dead: only an engine that made no single step for its canaries hangs.
        self._hangs = all(faults) and translator.engine.progress().steps == steps
        self._stands_still(translator.engine)

    async def _canary(self, translator: Translator, pair: LanguagePair) -> str | None:
        source = self.entry.canary(pair) or ""
        limit = self._settings.canary_timeout
        try:
            async with asyncio.timeout(limit):
                planned = await translator.prepare(pair, source, PLAIN)
                answer = await translator.complete(planned, f"canary-{uuid.uuid4().hex}", priority=CANARY_PRIORITY)
        except TimeoutError:
            return f"its canary translation took longer than {limit:g} s"
        except EngineGoneError:
            return "its engine died under the canary"
        except PairwayError as error:
            return f"its canary was refused: {error.detail}"
        except Exception as error:  # whatever it is, the pair does not work; the engine lives and is tried again
            log.exception("canary raised", extra={"model": self.entry.name, "pair": str(pair)})
            return f"its canary failed: {type(error).__name__}"
        fault = canary.fault_of(source, answer.translation or "")
        return fault or (f"its canary: {answer.warnings[0].message}" if answer.warnings else None)

    def _stands_still(self, engine: Engine) -> bool:
        """Say whether work has waited for as long as a canary may take, without a single step."""
        progress = engine.progress()
        idle = progress.running + progress.waiting == 0
        if idle or progress.steps != self._steps:
            self._steps, self._moved_at = progress.steps, self._clock()
        return self._clock() - self._moved_at > self._settings.canary_timeout

    def _doubt(self) -> None:
        """Take a standing engine's pairs away until their canaries come back."""
        log.error("engine stands still while work waits", extra={"model": self.entry.name})
        self._why = dict.fromkeys(self.entry.all_pairs, "its engine makes no steps while work waits")
        self._metric_ready()
        self._moved_at = self._due = self._clock()

    async def _bury(self, translator: Translator, why: str) -> None:
        """Take a dead or hanging engine's pairs away at once, then end what is left of it."""
        log.error("engine lost", extra={"model": self.entry.name, "why": why, "restart_in": self._backoff})
        self._metrics.engine_deaths.labels(self.entry.name).inc()
        self._translator = None
        self._hangs = False
        self._put_off(why)
        await translator.engine.stop()

    def _failed(self, error: BaseException) -> None:
        """Note a start that failed; the next one follows after the back-off."""
        log.error(
            "engine start failed",
            extra={"model": self.entry.name, "error": f"{type(error).__name__}: {error}", "retry_in": self._backoff},
        )
        self._metrics.engine_starts.labels(self.entry.name, "failed").inc()
        self._put_off(f"its engine does not start: {type(error).__name__}: {error}"[:500])

    def _put_off(self, why: str) -> None:
        was_well = self._ready_since is not None and self._clock() - self._ready_since > WELL_AFTER_SECONDS
        if was_well:
            self._backoff = self._settings.restart_backoff
        self._due = self._clock() + self._backoff * self._rng.uniform(0.8, 1.2)
        self._backoff = min(self._backoff * 2, MAX_BACKOFF_SECONDS)
        self._ready_since = None
        self._why = dict.fromkeys(self.entry.all_pairs, why)
        self._metric_ready()

    def _metric_ready(self) -> None:
        for pair in self.entry.all_pairs:
            self._metrics.pair_ready.labels(str(pair), self.entry.name).set(self.ready(pair))
