"""One model's life on an injected clock: back-off, canaries, death, standing still."""

# pyright: reportPrivateUsage=false
# A host's next due time is nowhere to be seen from outside, and waiting for it would take minutes.

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from apiserver.catalog import ModelEntry
from apiserver.generation import EngineGoneError, Generation
from apiserver.guards import Guards
from apiserver.host import (
    CANARY_AGAIN_SECONDS,
    MAX_BACKOFF_SECONDS,
    PLAIN,
    WELL_AFTER_SECONDS,
    HostSettings,
    ModelHost,
)
from apiserver.output_language import OutputLanguage
from shared.telemetry import ApiServerMetrics
from shared.wire import Translation
from tests.scripted_engine import ScriptedEngine, ScriptedFactory
from tests.waiting import wait_until


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Steady(Random):
    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


GUARDS = Guards(OutputLanguage())
ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de", "de-en"], "prompt": "demo-tags"})


def host_of(factory: ScriptedFactory, clock: Clock, lock: asyncio.Lock | None = None) -> ModelHost:
    return ModelHost(
        ENTRY,
        factory,
        HostSettings(canary_timeout=0.2, restart_backoff=1.0),
        ApiServerMetrics(),
        GUARDS,
        start_lock=lock or asyncio.Lock(),
        clock=clock,
        rng=Steady(),
    )


async def settle(host: ModelHost) -> None:
    """Tick until the work that the first tick began is over and noted."""
    await host.tick()
    while host._work is not None:
        await asyncio.wait([host._work])
        work = host._work
        await host.tick()
        if host._work is work:
            return


async def held_request(host: ModelHost, engine: ScriptedEngine) -> asyncio.Task[Translation]:
    """Let one request wait in the engine until its gate is opened."""
    engine.gate.clear()
    pair = ENTRY.all_pairs[0]
    translator = host.translator(pair)
    asked = asyncio.create_task(translator.complete(await translator.prepare(pair, "a", PLAIN), "r"))
    await wait_until(lambda: engine.running == 1, 5)
    return asked


async def test_the_back_off_doubles_up_to_its_limit(factory: ScriptedFactory) -> None:
    clock = Clock()
    host = host_of(factory, clock)
    factory.failures["m"] = [OSError("no")] * 20
    pauses: list[float] = []
    for _ in range(8):
        await settle(host)
        pauses.append(host._due - clock.now)
        clock.now = host._due
    assert pauses == [1, 2, 4, 8, 16, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS]


async def test_nothing_is_started_before_the_back_off_is_over(factory: ScriptedFactory) -> None:
    clock = Clock()
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


@pytest.mark.parametrize(("lived", "pause"), [(WELL_AFTER_SECONDS - 1, 2), (WELL_AFTER_SECONDS + 1, 1)])
async def test_only_an_engine_that_was_well_for_long_begins_with_the_short_pause_again(
    factory: ScriptedFactory, lived: float, pause: float
) -> None:
    clock = Clock()
    host = host_of(factory, clock)
    factory.failures["m"] = [OSError("no")]
    await settle(host)
    clock.now = host._due
    await settle(host)
    clock.now += lived
    factory.engine("m").die()
    await host.tick()
    assert host._due - clock.now == pause


async def test_a_failed_canary_is_tried_again_alone_and_the_pair_comes_back(factory: ScriptedFactory) -> None:
    clock = Clock()
    host = host_of(factory, clock)

    def echoing(engine: ScriptedEngine) -> None:
        fine = engine.answer
        engine.answer = lambda asked: (
            Generation(asked.text, [], "stop") if asked.before == "<s><en><de>" else fine(asked)
        )

    factory.prepare = echoing
    await settle(host)
    reports = host.pair_reports()
    assert (reports["en-de"].ready, reports["de-en"].ready) == (False, True)
    engine = factory.engine("m")
    before = len(engine.asked)
    clock.now += CANARY_AGAIN_SECONDS - 1
    await settle(host)
    assert len(engine.asked) == before
    clock.now += 2
    engine.answer = lambda _: Generation("Wo ist der Bahnhof?", [], "stop")
    await settle(host)
    assert [asked.before for asked in engine.asked[before:]] == ["<s><en><de>"]
    assert all(report.ready for report in host.pair_reports().values())
    await host.close()


async def test_an_engine_that_dies_under_its_canary_is_buried_and_started_again(factory: ScriptedFactory) -> None:
    clock = Clock()
    host = host_of(factory, clock)

    def dies(engine: ScriptedEngine) -> None:
        engine.die()

    factory.prepare = dies
    await settle(host)
    assert factory.engine("m").stopped == 1
    factory.prepare = lambda _: None
    clock.now = host._due
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    await host.close()


async def test_an_engine_that_stands_still_while_work_waits_loses_its_pairs_and_if_it_hangs_its_life(
    factory: ScriptedFactory,
) -> None:
    clock = Clock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")
    clock.now += 1000
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values()), "an idle engine may stand still"
    asked = await held_request(host, engine)
    await settle(host)
    clock.now += 0.19
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    clock.now += 0.02
    await host.tick()
    assert {report.why for report in host.pair_reports().values()} == {"its engine makes no steps while work waits"}
    await settle(host)  # its canaries hang too
    await host.tick()
    assert engine.stopped == 1
    assert {report.why for report in host.pair_reports().values()} == {"its engine hung and is being restarted"}
    with pytest.raises(EngineGoneError):
        await asked
    clock.now = host._due
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    await host.close()


async def test_an_engine_that_stood_still_and_goes_on_gets_its_pairs_back_without_a_restart(
    factory: ScriptedFactory,
) -> None:
    clock = Clock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    await settle(host)
    clock.now += 0.3
    await host.tick()
    assert not any(report.ready for report in host.pair_reports().values())
    engine.gate.set()
    await asked
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    assert factory.starts == ["m"]
    await host.close()


async def test_a_busy_engine_that_makes_steps_is_never_doubted(factory: ScriptedFactory) -> None:
    clock = Clock()
    host = host_of(factory, clock)
    await settle(host)
    engine = factory.engine("m")
    asked = await held_request(host, engine)
    for _ in range(10):
        clock.now += 0.19
        engine.steps += 1
        await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    engine.gate.set()
    await asked
    await host.close()


async def test_canaries_that_take_too_long_on_an_engine_that_makes_steps_are_tried_again_without_a_restart(
    factory: ScriptedFactory,
) -> None:
    clock = Clock()
    host = host_of(factory, clock)

    def is_slow(engine: ScriptedEngine) -> None:
        engine.gate.clear()

    factory.prepare = is_slow
    await host.tick()
    await wait_until(lambda: bool(factory.engines["m"]) and factory.engine("m").running == 2, 5)
    engine = factory.engine("m")
    engine.steps += 1
    await settle(host)
    assert {report.why for report in host.pair_reports().values()} == {"its canary translation took longer than 0.2 s"}
    assert engine.aborted == 2
    engine.gate.set()
    clock.now += CANARY_AGAIN_SECONDS + 1
    await settle(host)
    assert all(report.ready for report in host.pair_reports().values())
    assert factory.starts == ["m"]
    await host.close()


async def test_closing_stops_the_engine_and_a_start_under_way(factory: ScriptedFactory) -> None:
    host = host_of(factory, Clock())
    await settle(host)
    await host.close()
    assert factory.engine("m").stopped == 1
    factory.gates["m"] = asyncio.Event()
    host = host_of(factory, Clock())
    await host.tick()
    await asyncio.sleep(0)
    await host.close()
    assert len(factory.engines["m"]) == 1


async def test_engines_of_one_server_start_one_after_the_other(factory: ScriptedFactory) -> None:
    lock = asyncio.Lock()
    factory.gates["m"] = asyncio.Event()
    hosts = [host_of(factory, Clock(), lock) for _ in range(2)]
    for host in hosts:
        await host.tick()
    await asyncio.sleep(0.05)
    assert len(factory.starts) == 1
    factory.gates["m"].set()
    for host in hosts:
        await settle(host)
    assert len(factory.starts) == 2
    for host in hosts:
        await host.close()


def test_a_report_says_who_it_is(factory: ScriptedFactory) -> None:
    host = host_of(factory, Clock())
    assert "m" in repr(host)
    kinds: dict[str, Any] = {label: report.why for label, report in host.pair_reports().items()}
    assert kinds == {"en-de": "the engine is starting", "de-en": "the engine is starting"}
    assert host.progress() is None
    assert host.engine is None
