"""Canary probes: small real translations that test suspect replicas."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import Final

from pydantic import ValidationError

from proxy.balancing.local_stats import LocalStats
from proxy.balancing.outlier_detection import find_suspects, mark_stalled_replicas
from proxy.call import work_of
from proxy.fleet.registry import Registry
from proxy.metrics import ProxyMetrics
from proxy.upstream.client import ReplicaClient
from proxy.upstream.response_classifier import (
    AttemptOutcome,
    BrokenAnswerError,
    ReplicaResponse,
    SilentError,
    UnreachableError,
    classify,
)
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.deadline import Deadline
from shared.protocol.headers import CACHE_CONTROL_HEADER, NO_STORE, REQUEST_ID_HEADER
from shared.protocol.translate_request import TranslateRequest

log = logging.getLogger(__name__)

# A replica that recovers is back within this interval and the pause below.
CANARY_TICK_SECONDS: Final = 0.1
# From the end of a canary to the next one for the same replica and pair, ± a fifth.
PAUSE_SECONDS: Final = 0.3
# The pause after a good canary of a replica that is only slow, which may be its nature.
SLOW_PAUSE_SECONDS: Final = 3.0
JITTER: Final = 0.2
# A canary may take four times its pair's usual time, within these bounds.
SHORTEST_SECONDS: Final = 0.5
LONGEST_SECONDS: Final = 30.0
USUAL_FACTOR: Final = 4.0
# Canaries in flight at once, for all replicas and pairs.
MAX_CONCURRENT: Final = 64


@dataclass(eq=False, slots=True)
class CanaryProber:
    """Sender of canaries, one at a time per replica and pair."""

    _registry: Registry
    _stats: LocalStats
    _client: ReplicaClient
    _metrics: ProxyMetrics
    _clock: Callable[[], float]
    _rng: Random
    _tasks: dict[tuple[str, LanguagePair], asyncio.Task[None]] = field(
        default_factory=dict[tuple[str, LanguagePair], "asyncio.Task[None]"]
    )

    @asynccontextmanager
    async def closing(self) -> AsyncGenerator[None]:
        """Cancel the canaries in flight when the block ends."""
        try:
            yield
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def tick(self) -> None:
        """Detect stalled replicas; send the canaries that are due."""
        mark_stalled_replicas(self._stats)
        for url, pair, rank in find_suspects(self._stats, self._registry.snapshot):
            if len(self._tasks) >= MAX_CONCURRENT:
                break
            key = (url, pair)
            if key in self._tasks or self._clock() < self._stats.pair_replica_stats(url, pair).canary_due_at:
                continue
            if (text := self._text(url, pair)) is not None:
                task = asyncio.create_task(self._probe(url, pair, rank, text), name=f"canary:{url}:{pair}")
                self._tasks[key] = task
                task.add_done_callback(lambda done, key=key: self._ended(key, done))

    def _ended(self, key: tuple[str, LanguagePair], task: asyncio.Task[None]) -> None:
        del self._tasks[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("canary raised", extra={"replica": key[0], "pair": str(key[1])}, exc_info=error)

    def _text(self, url: str, pair: LanguagePair) -> str | None:
        report = self._registry.snapshot.replicas[url].report
        served = None if report is None else report.find(pair)
        return None if served is None else served.canary

    async def _probe(self, url: str, pair: LanguagePair, rank: int, text: str) -> None:
        work = work_of(len(text))
        usual = self._stats.pair_stats(pair).latencies[rank].typical_seconds * work
        limit = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, USUAL_FACTOR * usual))
        body = TranslateRequest(text=text, source_lang=pair.source, target_lang=pair.target).model_dump_json()
        deadline = Deadline.after(limit, self._clock)
        own = self._stats.pair_replica_stats(url, pair)
        began = self._clock()
        own.canary_due_at = began + limit + PAUSE_SECONDS
        try:
            headers = {REQUEST_ID_HEADER: f"canary-{uuid.uuid4().hex}", CACHE_CONTROL_HEADER: NO_STORE}
            response = await self._client.translate(url, body.encode(), deadline, headers)
            outcome = _judge(pair, response, text, deadline)
        except (UnreachableError, BrokenAnswerError, SilentError):
            outcome = AttemptOutcome.FAILED
        if own is not self._stats.pair_replica_stats(url, pair):
            return  # another process serves at this URL now
        if outcome is AttemptOutcome.GOOD:
            self._stats.canary_passed(url, pair, rank, (self._clock() - began) / work)
        elif outcome in {AttemptOutcome.FAILED, AttemptOutcome.REFUSED}:
            self._stats.canary_failed(url, pair)
        self._metrics.canaries.labels(url, outcome.value).inc()
        pause = SLOW_PAUSE_SECONDS if outcome is AttemptOutcome.GOOD and not own.is_out else PAUSE_SECONDS
        own.canary_due_at = self._clock() + pause * self._rng.uniform(1 - JITTER, 1 + JITTER)


def _judge(pair: LanguagePair, response: ReplicaResponse, text: str, deadline: Deadline) -> AttemptOutcome:
    """Return a canary's outcome: good only if the text came back translated."""
    if response.status != HTTPStatus.OK:
        outcome = classify(pair, response.status, response.problem, response.retry_after, deadline).outcome
        return AttemptOutcome.FAILED if outcome is AttemptOutcome.ANSWERED else outcome
    try:
        translation = Translation.model_validate_json(response.body).translation
    except ValidationError:
        return AttemptOutcome.FAILED
    good = translation is not None and translation.strip() and translation.strip().casefold() != text.casefold()
    return AttemptOutcome.GOOD if good else AttemptOutcome.FAILED
