"""One model's life on an injected clock: starts, canaries, deaths, stalls."""

# pyright: reportPrivateUsage=false
# Whether a host's work is over is nowhere to be seen from outside.

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest

from apiserver.catalog import calibration
from apiserver.catalog.calibration import GOOD_CHRF, Calibration, CalibrationFile
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import weights_fingerprint
from apiserver.engine.interface import EngineGoneError, GenerationResult
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.model_host import (
    CANARY_RETRY_SECONDS,
    HANGS,
    START_RETRY_SECONDS,
    HostServices,
    HostSettings,
    ModelHost,
)
from apiserver.hosting.restart_backoff import MAX_BACKOFF_SECONDS
from apiserver.hosting.stall_detector import PING_SECONDS
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import QueueBounds
from shared.languages import LanguagePair
from shared.protocol.answers import Translation
from shared.protocol.errors import BadRequestError, PairUnavailableError
from shared.protocol.report import ENGINE_STALLED
from tests.apiserver.work_items import work_of
from tests.support.clock import HandClock
from tests.support.scripted_engine import Asked, ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until


class Steady(Random):  # noqa: S311 - jitter, no secret
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


GUARDS = QualityGuard(OutputLanguage())
ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de", "de-en"], "prompt": "demo-tags"})


STALL = 2.0
LOOK = 0.1


def host_of(
    factory: ScriptedFactory,
    clock: HandClock,
    lock: asyncio.Lock | None = None,
    *,
    canary_timeout: float = 10.0,
    catalog: Path | None = None,
) -> ModelHost:
    return ModelHost(
        ENTRY,
        {pair: rank for rank, pair in enumerate(ENTRY.all_pairs)},
        HostSettings(canary_timeout, restart_backoff=1.0, stall_seconds=STALL, queue=QueueBounds(1.0, 300)),
        HostServices(factory, ApiServerMetrics(), GUARDS, lock or asyncio.Lock(), clock, Steady(), catalog),
    )


async def settle(host: ModelHost) -> None:
    """Tick until the work that the first tick began is over and noted."""
    await host.tick()
    while host._task is not None:
        await asyncio.wait([host._task])
        work = host._task
        await host.tick()
        if host._task is work:
            return


async def watch(host: ModelHost, clock: HandClock, seconds: float) -> None:
    """Let time pass as the host's loop sees it: a look every tenth of a second."""
    for _ in range(round(seconds / LOOK)):
        clock.now += LOOK
        await host.tick()
        for _ in range(10):  # a ping goes and comes
            await asyncio.sleep(0)


def ready(host: ModelHost) -> set[str]:
    return {label for label, report in host.pair_reports().items() if report.ready}


def whys(host: ModelHost) -> set[str | None]:
    return {report.why for report in host.pair_reports().values()}


async def held_request(host: ModelHost, engine: ScriptedEngine) -> asyncio.Task[list[Translation]]:
    """Let one request wait in the engine until its gate is opened."""
    engine.gate.clear()
    pair = ENTRY.all_pairs[0]
    asked = asyncio.create_task(host.translator(pair).translate(work_of("a", pair=pair)))
    await wait_until(lambda: engine.running == 1, 5)
    return asked


async def test_no_start_before_the_backoff_is_over(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    factory.failures["m"] = [OSError("no")]
    await settle(host)
    clock.now += 0.99
    await settle(host)
    assert len(factory.starts) == 1
    clock.now += 0.02
    await settle(host)
    assert len(factory.starts) == 2
    await host.close()


async def test_failed_canary_is_retried_alone(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)

    def echoing(engine: ScriptedEngine) -> None:
        fine = engine.answer
        engine.answer = lambda asked: (
            GenerationResult(asked.text, "stop") if asked.before == "<s><en><de>" else fine(asked)
        )

    factory.prepare = echoing
    await settle(host)
    reports = host.pair_reports()
    assert (reports["en-de"].ready, reports["de-en"].ready) == (False, True)
    engine = factory.engine("m")
    before = len(engine.asked)
    clock.now += CANARY_RETRY_SECONDS - 1
    await settle(host)
    assert len(engine.asked) == before
    clock.now += 2
    engine.answer = lambda _: GenerationResult("Wo ist der Bahnhof?", "stop")
    await settle(host)
    assert [asked.before for asked in engine.asked[before:]] == ["<s><en><de>"]
    assert all(report.ready for report in host.pair_reports().values())
    await host.close()


async def test_engine_that_dies_under_its_canary_is_restarted(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)

    def dies(engine: ScriptedEngine) -> None:
        engine.die()

    factory.prepare = dies
    await settle(host)
    assert factory.engine("m").stopped == 1
    factory.prepare = lambda _: None
    clock.now += MAX_BACKOFF_SECONDS
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    await host.close()


@pytest.mark.parametrize("busy", [True, False])
async def test_stalled_engine_loses_its_pairs_within_3_s(factory: ScriptedFactory, busy: bool) -> None:
    clock = HandClock()
    host = host_of(factory, clock, canary_timeout=60)
    await settle(host)
    engine = factory.engine("m")
    clock.now += 1000
    await watch(host, clock, 1)
    assert ready(host) == {"en-de", "de-en"}, "an idle engine makes no steps"
    asked = [await held_request(host, engine)] if busy else []
    engine.gate.clear()
    await watch(host, clock, STALL - LOOK)
    assert ready(host) == {"en-de", "de-en"}
    await watch(host, clock, PING_SECONDS + 4 * LOOK)
    assert whys(host) == {ENGINE_STALLED}
    with pytest.raises(PairUnavailableError):
        host.translator(ENTRY.all_pairs[0])
    await watch(host, clock, 20)
    assert whys(host) == {ENGINE_STALLED}
    engine.gate.set()
    await asyncio.gather(*asked)
    await settle(host)
    assert ready(host) == {"en-de", "de-en"}
    await watch(host, clock, 10)
    assert ready(host) == {"en-de", "de-en"}
    assert factory.starts == ["m"]
    await host.close()


async def test_engine_that_keeps_hanging_is_restarted(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock, canary_timeout=0.5)
    await settle(host)
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    await watch(host, clock, STALL + 3 * LOOK)
    assert whys(host) == {ENGINE_STALLED}
    await settle(host)  # its canaries hang too
    await host.tick()
    assert engine.stopped == 1
    assert whys(host) == {HANGS}
    with pytest.raises(EngineGoneError):
        await asked
    clock.now += MAX_BACKOFF_SECONDS
    await settle(host)
    assert ready(host) == {"en-de", "de-en"}
    await host.close()


async def test_stall_during_a_canary_retry_is_detected_as_soon(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock, canary_timeout=60)

    def echoing(engine: ScriptedEngine) -> None:
        fine = engine.answer
        engine.answer = lambda asked: (
            GenerationResult(asked.text, "stop") if asked.before == "<s><en><de>" else fine(asked)
        )

    factory.prepare = echoing
    await settle(host)
    assert ready(host) == {"de-en"}
    factory.engine("m").gate.clear()
    clock.now += CANARY_RETRY_SECONDS
    await host.tick()
    assert ready(host) == {"de-en"}
    await watch(host, clock, STALL + 4 * LOOK)
    assert whys(host) == {ENGINE_STALLED}
    await host.close()


async def test_late_loop_does_not_suspect_the_engine(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    await watch(host, clock, 1)
    clock.now += 100
    await host.tick()
    assert ready(host) == {"en-de", "de-en"}
    engine.gate.set()
    await asked
    await host.close()


async def test_busy_engine_with_steps_is_never_suspected(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    for _ in range(10):
        await watch(host, clock, STALL - LOOK)
        engine.steps += 1
    assert ready(host) == {"en-de", "de-en"}
    engine.gate.set()
    await asked
    await host.close()


async def test_pair_is_ready_as_soon_as_its_canary_is_back(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock, canary_timeout=60)
    late = asyncio.Event()
    canary = host._canaries._issue

    async def one_is_late(translator: Any, pair: LanguagePair) -> str | None:
        if str(pair) == "en-de":
            await late.wait()
        return await canary(translator, pair)

    host._canaries._issue = one_is_late
    await host.tick()
    await wait_until(lambda: ready(host) == {"de-en"}, 5)
    late.set()
    await settle(host)
    assert ready(host) == {"en-de", "de-en"}
    await host.close()


async def test_refused_canary_is_no_sign_of_hanging(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")

    def refuses(_: Asked) -> GenerationResult:
        engine.steps -= 1
        raise BadRequestError("too long")

    clock.now += CANARY_RETRY_SECONDS
    engine.answer = refuses
    host._reasons[ENTRY.all_pairs[0]] = "failed before"
    await settle(host)
    await host.tick()
    assert ready(host) == {"de-en"}
    assert engine.stopped == 0
    await host.close()


async def test_hanging_engine_that_refused_a_canary_is_restarted(factory: ScriptedFactory) -> None:
    host = host_of(factory, HandClock(), canary_timeout=0.2)
    canary = host._canaries._issue

    async def one_is_refused(translator: Any, pair: LanguagePair) -> str | None:
        return "refused" if str(pair) == "de-en" else await canary(translator, pair)

    host._canaries._issue = one_is_refused
    factory.prepare = lambda engine: engine.gate.clear()
    await settle(host)
    await host.tick()
    assert factory.engine("m").stopped == 1
    assert whys(host) == {HANGS}
    await host.close()


async def test_unavailable_pair_says_when_it_should_be_ready(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    pair = ENTRY.all_pairs[0]
    factory.gates["m"] = asyncio.Event()
    assert host.unavailable(pair).retry_after == START_RETRY_SECONDS
    await host.tick()
    await asyncio.sleep(0)
    clock.now += 7.5
    factory.gates["m"].set()
    await settle(host)
    assert host.pair_reports()["en-de"].ready_in_s is None
    factory.engine("m").die()
    assert host.unavailable(pair).retry_after == 9, "a pause of 1 s, and 7.5 s for the start"
    await host.tick()
    assert host.pair_reports()["en-de"].ready_in_s == 9
    clock.now += 0.9
    assert host.unavailable(pair).retry_after == 8
    await host.close()


async def test_slow_canaries_are_retried_without_a_restart(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock, canary_timeout=0.5)

    def is_slow(engine: ScriptedEngine) -> None:
        engine.gate.clear()

    factory.prepare = is_slow
    await host.tick()
    await wait_until(lambda: bool(factory.engines["m"]) and factory.engine("m").running == 2, 5)
    engine = factory.engine("m")
    engine.steps += 1
    await settle(host)
    assert {report.why for report in host.pair_reports().values()} == {"its canary translation took longer than 0.5 s"}
    assert engine.aborted == 2
    engine.gate.set()
    clock.now += CANARY_RETRY_SECONDS + 1
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    assert factory.starts == ["m"]
    await host.close()


async def test_close_stops_the_engine_and_a_running_start(factory: ScriptedFactory) -> None:
    host = host_of(factory, HandClock())
    await settle(host)
    await host.close()
    assert factory.engine("m").stopped == 1
    factory.gates["m"] = asyncio.Event()
    host = host_of(factory, HandClock())
    await host.tick()
    await asyncio.sleep(0)
    await host.close()
    assert len(factory.engines["m"]) == 1


async def test_start_cancelled_behind_the_factory_ends_the_engine(factory: ScriptedFactory) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def encode(text: str, *, first: bool = True) -> list[int]:
        del first
        begun.set()
        go_on.wait()
        return [ord(char) for char in text]

    def prepare(engine: ScriptedEngine) -> None:
        engine.encode_text = encode

    factory.prepare = prepare
    host = host_of(factory, HandClock())
    await host.tick()
    try:
        await wait_until(begun.is_set, 5)
        await host.close()
    finally:
        go_on.set()
    assert factory.engine("m").stopped == 1


async def test_engines_of_one_server_start_in_turn(factory: ScriptedFactory) -> None:
    lock = asyncio.Lock()
    factory.gates["m"] = asyncio.Event()
    hosts = [host_of(factory, HandClock(), lock) for _ in range(2)]
    for host in hosts:
        await host.tick()
    await wait_until(lambda: factory.starts, 5, "one starts")
    await asyncio.sleep(0.05)  # the other would begin now
    assert len(factory.starts) == 1
    factory.gates["m"].set()
    for host in hosts:
        await settle(host)
    assert len(factory.starts) == 2
    for host in hosts:
        await host.close()


def test_report_has_revision_and_capacity(factory: ScriptedFactory) -> None:
    host = host_of(factory, HandClock())
    kinds: dict[str, Any] = {label: report.why for label, report in host.pair_reports().items()}
    assert kinds == {"en-de": "the engine is starting", "de-en": "the engine is starting"}
    assert host.progress() is None
    assert host.engine is None


async def test_withdrawn_host_finishes_requests_and_comes_back(factory: ScriptedFactory) -> None:
    clock = HandClock()
    host = host_of(factory, clock)
    clock.now += 3
    await settle(host)
    assert not host.issues
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    await host.withdraw("its model is being changed")
    assert ready(host) == set()
    assert whys(host) == {"its model is being changed"}
    assert host.ready_in() == 1.0, "the time that a start takes here"
    clock.now += 60
    await host.tick()
    assert host._task is None, "a withdrawn host starts nothing"
    engine.gate.set()
    assert len(await asked) == 1
    host.reinstate()
    await settle(host)
    assert not host.issues
    assert len(factory.engines["m"]) == 1
    await host.close()


async def test_failures_and_canary_rounds_are_counted(factory: ScriptedFactory) -> None:
    clock = HandClock()
    factory.failures["m"] = [OSError("no weights")]
    host = host_of(factory, clock)
    await settle(host)
    assert (host.engine_failures, host.canary_rounds, host.revision) == (1, 0, None)
    clock.now += 10
    await settle(host)
    assert (host.engine_failures, host.canary_rounds) == (1, 1)
    assert host.revision is not None
    await host.close()


ALL_GOOD = Calibration(constant=9.0, mean=0.0, length=0.0)


async def confidence_with(factory: ScriptedFactory, catalog: Path) -> float | None:
    """Start a host beside this catalog, and return the confidence of one text."""
    clock = HandClock()
    host = host_of(factory, clock, catalog=catalog)
    await settle(host)
    assert ready(host) == {"en-de", "de-en"}
    pair = ENTRY.all_pairs[0]
    (answer,) = await host.translator(pair).translate(work_of("The house.", pair=pair, confidence=True))
    await host.close()
    return answer.confidence


async def test_calibration_beside_the_catalog_is_used(factory: ScriptedFactory, tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    plain = await confidence_with(factory, catalog)
    file = calibration.path_for(catalog, ENTRY.name)
    file.parent.mkdir()
    fingerprint = weights_fingerprint(ENTRY, None)
    content = CalibrationFile(fingerprint=fingerprint, good_chrf=GOOD_CHRF, pairs={"en-de": ALL_GOOD})
    file.write_text(content.to_yaml())
    assert await confidence_with(factory, catalog) == 1.0
    assert plain is not None
    assert plain < 1.0


@pytest.mark.parametrize("content", ["not: a calibration", "fingerprint: other\ngood_chrf: 50.0\npairs: {}"])
async def test_wrong_calibration_is_logged_and_not_used(
    factory: ScriptedFactory, tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str
) -> None:
    catalog = tmp_path / "models.yaml"
    plain = await confidence_with(factory, catalog)
    file = calibration.path_for(catalog, ENTRY.name)
    file.parent.mkdir()
    file.write_text(content)
    assert await confidence_with(factory, catalog) == plain
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == ["calibration not used"]
