"""Shadow traffic on scripted engines: what is sent, compared and counted; what can never happen to callers."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from random import Random
from typing import Any, ClassVar, Self

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationResult
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.hosting.model_host import HostServices, HostSettings, ModelHost
from apiserver.metrics import SHADOW_OUTCOMES, ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.shadowing import shadow_traffic
from apiserver.shadowing.comparison import PairComparisonReport
from apiserver.shadowing.shadow_policy import MAX_IN_FLIGHT, DropReason
from apiserver.shadowing.shadow_traffic import SHADOW_CALLER, ShadowOutcome, ShadowTraffic
from apiserver.shadowing.slowdown_monitor import MAX_SAMPLES, MIN_SAMPLES, SlowdownMonitor
from shared.protocol.answers import Notice, Translation
from shared.protocol.errors import OverloadedError
from shared.protocol.priority import Lane
from shared.protocol.translate_request import TranslateRequest
from tests.apiserver.work_items import LONG_TIME, work_of
from tests.support.scripted_engine import Asked, ScriptedEngine, ScriptedFactory
from tests.support.waiting import wait_until

GUARDS = QualityGuard(OutputLanguage())
SECRET = "Xylophonwort"
EMPTY_REPORT = PairComparisonReport.model_validate(
    {
        "texts": 0,
        "agreement": None,
        "equal": None,
        "serving": {"warnings": {}, "p50_s": None, "p95_s": None},
        "candidate": {"warnings": {}, "p50_s": None, "p95_s": None},
        "dropped": {},
        "failed": {},
    }
)


def host_of(name: str, factory: ScriptedFactory, metrics: ApiServerMetrics) -> ModelHost:
    entry = ModelEntry.model_validate(
        {"name": name, "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_num_seqs": 8}}
    )
    ranks = dict.fromkeys(entry.all_pairs, 0)
    services = HostServices(factory, metrics, GUARDS, asyncio.Lock(), time.monotonic, Random())  # noqa: S311 - jitter
    return ModelHost(entry, ranks, HostSettings(60.0, 1.0, 60.0, QueueBounds(1.0, 300)), services)


def result_of(text: str, *codes: str) -> Translation:
    warnings = [Notice(code=code, message="why") for code in codes]
    return Translation(
        translation=text, source_lang="en", target_lang="de", model="old", route=["en", "de"], warnings=warnings
    )


class TrackedRequest(TranslateRequest):
    """Request that is referenced weakly, and so is each copy of it."""

    references: ClassVar[list[weakref.ref[TrackedRequest]]] = []

    @classmethod
    def of(cls, request: TranslateRequest) -> TrackedRequest:
        cls.references.clear()
        tracked = cls.model_construct(**dict(request))
        cls.references.append(weakref.ref(tracked))
        return tracked

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copy = super().model_copy(update=update, deep=deep)
        self.references.append(weakref.ref(copy))
        return copy


class Fixture:
    """A candidate whose engine answers, a serving model without one, and shadow traffic between them."""

    def __init__(self, share: float = 1.0) -> None:
        self.factory = ScriptedFactory()
        self.metrics = ApiServerMetrics()
        self.serving = host_of("old", self.factory, self.metrics)
        self.candidate = host_of("new", self.factory, self.metrics)
        self.monitor = SlowdownMonitor(time.monotonic)
        rng = Random(7)  # noqa: S311 - sampling
        self.traffic = ShadowTraffic(share, self.metrics.shadow, self.monitor, time.monotonic, rng)
        self.measure_baseline(LONG_TIME)  # no request of a test is slower

    def measure_baseline(self, seconds: float) -> None:
        for _ in range(MAX_SAMPLES):
            self.monitor.note(seconds, is_beside=False)

    @property
    def engine(self) -> ScriptedEngine:
        return self.factory.engine("new")

    @property
    def report(self) -> PairComparisonReport:
        return self.traffic.report(self.candidate).get("en-de", EMPTY_REPORT)

    def offer(
        self,
        text: str | list[str] = "word",
        answer: str = "[word]",
        *,
        no_store: bool = False,
        tracked: bool = False,
    ) -> None:
        work = work_of(text)
        if tracked:
            work.request = TrackedRequest.of(work.request)
        work.no_store, work.admitted_at = no_store, time.monotonic()
        results = [result_of(answer) for _ in work.texts]
        self.traffic.offer(work, results, self.candidate, [self.serving])

    def samples(self, name: str) -> dict[str, float]:
        """Return a metric's samples that are not 0, by their labels' values."""
        return {
            " ".join(sample.labels.values()): sample.value
            for metric in self.metrics.registry.collect()
            for sample in metric.samples
            if sample.name == f"pairway_apiserver_{name}" and sample.value
        }

    async def until(self, **expected: object) -> None:
        await wait_until(lambda: {name: getattr(self.report, name) for name in expected} == expected, 10, str(expected))


def fill(admission: ModelAdmission) -> None:
    """Admit one unit of every caller, until even interactive ones are refused."""
    for number in count():
        try:
            admission.admit(work_of(caller=f"caller {number}"))
        except OverloadedError:
            return


@asynccontextmanager
async def shadowed(share: float = 1.0) -> AsyncGenerator[Fixture]:
    """Return traffic to a ready candidate."""
    fixture = Fixture(share)
    try:

        async def is_ready() -> bool:
            await fixture.candidate.tick()
            return fixture.candidate.ready(work_of().pair)

        await wait_until(is_ready, 10, "the candidate ready")
        fixture.engine.asked.clear()
        yield fixture
    finally:
        await fixture.traffic.close()
        await fixture.candidate.close()


async def test_answered_request_is_compared() -> None:
    async with shadowed() as fixture:
        fixture.offer("word", "[word]")
        await fixture.until(texts=1)
        fixture.offer("word", "other")
        await fixture.until(texts=2, equal=0.5)
        report = fixture.report
        assert report.agreement is not None
        assert 0.5 < report.agreement < 0.8
        assert report.serving.p50_s is not None
        assert report.candidate.p95_s is not None
        assert fixture.samples("shadow_texts_total") == {"en-de compared": 2}
        assert fixture.samples("shadow_agreement_count") == {"en-de": 2}
        assert fixture.samples("shadow_seconds_count") == {"en-de serving": 2, "en-de candidate": 2}


def test_every_outcome_begins_at_0() -> None:
    assert sorted(SHADOW_OUTCOMES) == sorted([*DropReason, *ShadowOutcome])


async def test_candidate_is_asked_at_bulk_priority() -> None:
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        fixture.offer(["word", "there"])
        await wait_until(lambda: len(fixture.engine.asked) == 2, 5)
        assert {asked.priority for asked in fixture.engine.asked} == {Lane.BULK_SHORT}
        assert all(asked.request_id.startswith("shadow-") for asked in fixture.engine.asked)
        assert fixture.candidate.admission.ahead(Lane.BULK_SHORT, SHADOW_CALLER, 0) == 2
        fixture.engine.gate.set()
        await fixture.until(texts=2)
        assert fixture.candidate.admission.load == 0


async def test_warnings_of_both_sides_are_counted() -> None:
    async with shadowed() as fixture:
        fixture.engine.answer = lambda asked: GenerationResult(asked.text, "stop", [0])  # a copy of its source
        work = work_of("The house of my friend")
        fixture.traffic.offer(work, [result_of("[x]", "output-too-short")], fixture.candidate, [fixture.serving])
        await fixture.until(texts=1)
        assert fixture.report.serving.warnings == {"output-too-short": 1}
        assert set(fixture.report.candidate.warnings) == {"output-echoes-source"}
        assert fixture.samples("shadow_warnings_total") == {
            "en-de serving output-too-short": 1,
            "en-de candidate output-echoes-source": 1,
        }


async def test_shadow_work_is_in_no_serving_metric() -> None:
    async with shadowed() as fixture:
        names = ("segments_total", "guards_total", "texts_total", "requests_total", "waiting_seconds_count")
        before = {name: fixture.samples(name) for name in names}
        fixture.engine.answer = lambda asked: GenerationResult(asked.text, "stop", [0])
        fixture.offer("The house of my friend")
        await fixture.until(texts=1)
        assert {name: fixture.samples(name) for name in names} == before


async def test_share_of_requests_is_sampled() -> None:
    async with shadowed(0.3) as fixture:
        for _ in range(1000):
            fixture.offer(no_store=True)  # counted at once
        assert 250 <= fixture.report.dropped["opted-out"] <= 350


async def test_nothing_is_sampled_with_share_0() -> None:
    async with shadowed(0.0) as fixture:
        fixture.offer()
        assert fixture.report == EMPTY_REPORT


async def test_opted_out_text_never_reaches_the_candidate() -> None:
    async with shadowed() as fixture:
        fixture.offer("private", no_store=True)
        fixture.offer("public")
        await fixture.until(texts=1, dropped={"opted-out": 1})
        assert [asked.text for asked in fixture.engine.asked] == ["public"]


@pytest.mark.parametrize("side", ["serving", "candidate"])
async def test_load_stops_it(side: str) -> None:
    async with shadowed() as fixture:
        admission = (fixture.serving if side == "serving" else fixture.candidate).admission
        others = work_of(["word"] * 8)
        admission.admit(others)
        fixture.offer()
        assert fixture.report.dropped == {"busy": 1}
        admission.release(others)
        fixture.offer()
        await fixture.until(texts=1)


async def test_requests_in_flight_are_bounded() -> None:
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        for _ in range(MAX_IN_FLIGHT + 3):
            fixture.offer()
        assert fixture.report.dropped == {"full": 3}
        fixture.engine.gate.set()
        await fixture.until(texts=MAX_IN_FLIGHT)


async def test_slower_callers_pause_it() -> None:
    async with shadowed() as fixture:
        fixture.measure_baseline(1e-9)
        fixture.engine.gate.clear()
        fixture.offer()
        for _ in range(MIN_SAMPLES):
            fixture.offer(no_store=True)  # a caller's request beside the shadow request
        fixture.engine.gate.set()
        await fixture.until(texts=1)
        fixture.offer()
        assert fixture.report.dropped["paused"] == 1


async def test_baseline_comes_before_shadow_requests() -> None:
    async with shadowed() as fixture:
        fixture.traffic = ShadowTraffic(
            1.0,
            fixture.metrics.shadow,
            SlowdownMonitor(time.monotonic),
            time.monotonic,
            Random(),  # noqa: S311
        )
        for _ in range(MIN_SAMPLES):
            fixture.offer()
        assert fixture.report.dropped == {"paused": MIN_SAMPLES - 1}


async def test_texts_without_words_are_not_compared() -> None:
    async with shadowed() as fixture:
        fixture.offer(["42", "word"])
        await fixture.until(texts=1)


async def test_withheld_texts_are_not_compared() -> None:
    async with shadowed() as fixture:
        work = work_of(["word", "there"], min_confidence=0.9)
        withheld = result_of("[word]").model_copy(update={"confidence": 0.1}).at_least(0.9)
        fixture.traffic.offer(work, [withheld, result_of("[there]")], fixture.candidate, [fixture.serving])
        await fixture.until(texts=1, equal=1.0)
        assert not any(asked.wants_logprobs for asked in fixture.engine.asked)
        assert fixture.report.candidate.warnings == {}


async def test_candidate_that_dies_is_counted() -> None:
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        fixture.offer()
        await wait_until(lambda: fixture.engine.running == 1, 5)
        fixture.engine.die()
        await fixture.until(failed={"engine-lost": 1})
        fixture.offer()  # to an engine known to be dead
        await fixture.until(failed={"engine-lost": 2})
        assert fixture.samples("shadow_texts_total") == {"en-de engine-lost": 2}


async def test_candidate_that_refuses_is_counted() -> None:
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        fixture.offer()
        fill(fixture.candidate.admission)  # after the decision, because the shadow request starts later
        await fixture.until(failed={"refused": 1})


async def test_candidate_that_hangs_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_traffic, "TIMEOUT_SECONDS", 0.2)
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        fixture.offer()
        await fixture.until(failed={"late": 1})
        assert fixture.candidate.admission.load == 0


async def test_errors_are_counted_without_their_text(caplog: pytest.LogCaptureFixture) -> None:
    def fail(asked: Asked) -> GenerationResult:
        raise ValueError(asked.text)

    async with shadowed() as fixture:
        fixture.engine.answer = fail
        fixture.offer(SECRET)
        await fixture.until(failed={"failed": 1})
        assert "ValueError" in [getattr(record, "error", "") for record in caplog.records]
        assert not [record for record in caplog.records if SECRET in str(record.__dict__)]


async def test_no_text_is_kept_or_shown(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with shadowed() as fixture:
        fixture.engine.answer = lambda asked: GenerationResult(f"{asked.text}-zwei", "stop", [0])
        fixture.offer(SECRET, f"{SECRET}-eins", tracked=True)
        await fixture.until(texts=1)
        fixture.engine.asked.clear()
        shown = f"{fixture.traffic.report(fixture.candidate)} {list(fixture.metrics.registry.collect())}"
        assert "en-de" in shown
        assert SECRET not in shown
        assert not [record for record in caplog.records if SECRET in str(record.__dict__)]

        def kept() -> list[str | list[str]]:
            gc.collect()
            return [request.text for reference in TrackedRequest.references if (request := reference()) is not None]

        assert len(TrackedRequest.references) == 2  # the client's, and the one that the candidate got
        await wait_until(lambda: not kept(), 5, "no request is kept")


async def test_statistics_begin_again_with_each_candidate() -> None:
    async with shadowed() as fixture:
        fixture.offer()
        await fixture.until(texts=1)
        assert fixture.traffic.report(host_of("newer", fixture.factory, fixture.metrics)) == {}


async def test_closing_cancels_requests_in_flight() -> None:
    async with shadowed() as fixture:
        fixture.engine.gate.clear()
        fixture.offer()
        await wait_until(lambda: fixture.engine.running == 1, 5)
        await fixture.traffic.close()
        assert fixture.engine.aborted == 1
        assert fixture.candidate.admission.load == 0
