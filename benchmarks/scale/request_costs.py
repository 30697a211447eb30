"""The scale benchmark's first part: what a request costs a proxy that knows a thousand replicas, without any I/O."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.scale.fleet import PaperFleet
from benchmarks.scale.measurements import Spread
from proxy.admission.controller import AdmissionController
from proxy.balancing.attempt import Attempt, Selection
from proxy.balancing.local_stats import LocalStats
from proxy.balancing.selector import ReplicaSelector
from proxy.call import TranslationCall
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from proxy.keys.caller import Caller
from proxy.metrics import ProxyMetrics
from proxy.request_cost import RequestCost
from proxy.routing.routes import find_route
from proxy.upstream.response_classifier import AttemptOutcome
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.messages import TranslateRequest
from shared.protocol.priority import Priority
from shared.runtime.metrics import RequestSample

WARM_UP: Final = 20
# What is so slow that all the times would take longer is timed as often as fits in here.
MOST_SECONDS: Final = 0.3
# Of a pair's replicas some are out, as after a rack has failed.
SICK_ONE_IN: Final = 10
NOBODY: Final = frozenset[str]()


class Seen:
    """A proxy's pure parts in the middle of their work: every replica has answered, some hold requests."""

    def __init__(self, fleet: PaperFleet, seed: int) -> None:
        """Take in the whole fleet."""
        now = time.time()
        rng = Random(seed)  # noqa: S311 - dice, no secrets
        urls = fleet.urls(8001)
        self.fleet = fleet
        self.replicas = [Replica.reported(url, fleet.report(number), now) for number, url in enumerate(urls)]
        self.snapshot = Snapshot.of(self.replicas, ())
        self.evidence = LocalStats(time.monotonic, rng)
        self.evidence.note_snapshot(self.snapshot)
        self.chooser = ReplicaSelector(self.evidence, rng)
        self.freight = RequestCost(work=1.2, cost=1.2)
        for pair in (fleet.common, fleet.rare):
            for number, url in enumerate(self.snapshot.ready[pair]):
                self._ask(pair, url, AttemptOutcome.GOOD)
                if number % 3 == 0:  # one stays in flight
                    self._attempt(pair, url).__enter__()

    def break_some(self, pair: LanguagePair) -> None:
        """Let a tenth of a pair's replicas fail until their breakers open."""
        for url in self.snapshot.ready[pair][::SICK_ONE_IN]:
            for _ in range(3):
                self._ask(pair, url, AttemptOutcome.FAILED)

    def _attempt(self, pair: LanguagePair, url: str) -> Attempt:
        ranks, models = self.snapshot.ranks[pair], self.snapshot.models[pair]
        permit = self.evidence.pair_standing(url, pair).breaker.acquire()
        return self.evidence.attempt(Selection(url, pair, ranks[url], permit, models[url]), self.freight, lambda: None)

    def _ask(self, pair: LanguagePair, url: str, verdict: AttemptOutcome) -> None:
        with self._attempt(pair, url) as attempt:
            attempt.says(verdict)


def timed(action: Callable[[], object], times: int) -> Spread:
    """Return microseconds of an action, less what looking at the clock takes."""
    clock = time.perf_counter_ns
    for _ in range(WARM_UP):
        action()
    took: list[int] = []
    until = time.monotonic() + MOST_SECONDS
    while len(took) < times and time.monotonic() < until:
        began = clock()
        action()
        took.append(clock() - began)
    nothing: list[int] = []
    for _ in range(1000):
        began = clock()
        nothing.append(clock() - began)
    bare = sorted(nothing)[len(nothing) // 2]
    return Spread.of([(each - bare) / 1000 for each in took])


def picks(fleet: PaperFleet, times: int, rounds: int) -> dict[str, Spread]:
    """Measure every share of a request; of several rounds in turn the median."""
    seen = Seen(fleet, 1)
    sick = Seen(fleet, 2)
    sick.break_some(fleet.common)
    actions: dict[str, Callable[[], object]] = {}
    for label, pair in (("served by all", fleet.common), ("served by a few", fleet.rare)):
        count = len(seen.snapshot.ready[pair])
        actions[f"pick, pair {label} ({count})"] = _pick(seen, pair)
        actions[f"route, pair {label}"] = _route(seen, pair)
        actions[f"admission, pair {label}"] = _admission(seen, pair)
    actions["pick, a tenth of them broken"] = _pick(sick, fleet.common)
    actions["admission, a tenth of them broken"] = _admission(sick, fleet.common)
    found: dict[str, list[Spread]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            found[name].append(timed(action, times))
    return {
        name: Spread(sorted(s.p50 for s in each)[len(each) // 2], sorted(s.p99 for s in each)[len(each) // 2])
        for name, each in found.items()
    }


def _pick(seen: Seen, pair: LanguagePair) -> Callable[[], object]:
    def pick() -> None:
        choice = seen.chooser.choose(pair, NOBODY, seen.freight, seen.snapshot)
        if choice is None:
            raise AssertionError(f"nobody serves {pair}")

    def pick_and_return() -> None:
        choice = seen.chooser.choose(pair, NOBODY, seen.freight, seen.snapshot)
        if choice is not None:
            seen.chooser.give_back(choice)

    return pick_and_return if seen.evidence.pool(pair).out else pick


def _route(seen: Seen, pair: LanguagePair) -> Callable[[], object]:
    return lambda: find_route(pair, seen.snapshot, None)


def _admission(seen: Seen, pair: LanguagePair) -> Callable[[], object]:
    admission = AdmissionController(seen.evidence, ProxyMetrics(), time.monotonic)
    request = TranslateRequest(text="Where is the station?", source_lang=pair.source, target_lang=pair.target)
    call = TranslationCall(
        request, Caller("me"), Priority.INTERACTIVE, Deadline.after(3600, time.monotonic), "1", RequestSample()
    )

    def admit() -> None:
        with admission.admitted([(call, pair)], seen.snapshot):
            pass

    return admit


def builds(fleet: PaperFleet, rounds: int) -> dict[str, float]:
    """Return milliseconds of what is done once for each Snapshot: made anew, and with newer reports of the same."""
    seen = Seen(fleet, 1)
    anew: list[float] = []
    noted: list[float] = []
    for look in range(rounds):
        now = time.time() + look
        fresh = [each.model_copy(update={"reported_at": now}) for each in seen.replicas]
        began = time.process_time()
        snapshot = Snapshot.of(fresh, ())
        anew.append(time.process_time() - began)
        began = time.process_time()
        seen.evidence.note_snapshot(replace(snapshot))
        noted.append(time.process_time() - began)
    return {
        "a Snapshot made anew": 1000 * sorted(anew)[rounds // 2],
        "its evidence noted": 1000 * sorted(noted)[rounds // 2],
    }
