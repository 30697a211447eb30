"""Costs of a request at a proxy that knows many replicas, without any I/O."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.scale.fleet import SimulatedFleet
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
MAX_SECONDS: Final = 0.3
# Some of a pair's replicas fail, as after a rack has failed.
BROKEN_ONE_IN: Final = 10
NO_REPLICAS: Final = frozenset[str]()


class WarmProxy:
    """A proxy's pure parts in the middle of their work: every replica has answered, some hold requests."""

    def __init__(self, fleet: SimulatedFleet, seed: int) -> None:
        now = time.time()
        rng = Random(seed)  # noqa: S311 - dice, no secrets
        urls = fleet.urls(8001)
        self.fleet = fleet
        self.replicas = [Replica.reported(url, fleet.report(number), now) for number, url in enumerate(urls)]
        self.snapshot = Snapshot.of(self.replicas, ())
        self.stats = LocalStats(time.monotonic, rng)
        self.stats.apply_snapshot(self.snapshot)
        self.selector = ReplicaSelector(self.stats, rng)
        self.cost = RequestCost(work=1.2, units=1.2)
        for pair in (fleet.common, fleet.rare):
            for number, url in enumerate(self.snapshot.ready[pair]):
                self._answer(pair, url, AttemptOutcome.GOOD)
                if number % 3 == 0:  # one stays in flight
                    self._attempt(pair, url).__enter__()

    def break_some(self, pair: LanguagePair) -> None:
        """Let a tenth of a pair's replicas fail until their breakers open."""
        for url in self.snapshot.ready[pair][::BROKEN_ONE_IN]:
            for _ in range(3):
                self._answer(pair, url, AttemptOutcome.FAILED)

    def _attempt(self, pair: LanguagePair, url: str) -> Attempt:
        ranks, models = self.snapshot.ranks[pair], self.snapshot.models[pair]
        permit = self.stats.pair_replica_stats(url, pair).breaker.acquire()
        return self.stats.begin_attempt(Selection(url, pair, ranks[url], permit, models[url]), self.cost, lambda: None)

    def _answer(self, pair: LanguagePair, url: str, outcome: AttemptOutcome) -> None:
        with self._attempt(pair, url) as attempt:
            attempt.record_outcome(outcome)


def timed(action: Callable[[], object], times: int) -> Spread:
    """Return microseconds of an action, less what looking at the clock takes."""
    clock = time.perf_counter_ns
    for _ in range(WARM_UP):
        action()
    took: list[int] = []
    until = time.monotonic() + MAX_SECONDS
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


def picks(fleet: SimulatedFleet, times: int, rounds: int) -> dict[str, Spread]:
    """Measure every share of a request; of several rounds in turn the median."""
    proxy = WarmProxy(fleet, 1)
    broken = WarmProxy(fleet, 2)
    broken.break_some(fleet.common)
    actions: dict[str, Callable[[], object]] = {}
    for label, pair in (("served by all", fleet.common), ("served by a few", fleet.rare)):
        count = len(proxy.snapshot.ready[pair])
        actions[f"pick, pair {label} ({count})"] = _pick(proxy, pair)
        actions[f"route, pair {label}"] = _route(proxy, pair)
        actions[f"admission, pair {label}"] = _admission(proxy, pair)
    actions["pick, a tenth of them broken"] = _pick(broken, fleet.common)
    actions["admission, a tenth of them broken"] = _admission(broken, fleet.common)
    by_name: dict[str, list[Spread]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            by_name[name].append(timed(action, times))
    return {
        name: Spread(sorted(s.p50 for s in each)[len(each) // 2], sorted(s.p99 for s in each)[len(each) // 2])
        for name, each in by_name.items()
    }


def _pick(proxy: WarmProxy, pair: LanguagePair) -> Callable[[], object]:
    def pick() -> None:
        selection = proxy.selector.select(pair, NO_REPLICAS, proxy.cost, proxy.snapshot)
        if selection is None:
            raise AssertionError(f"nobody serves {pair}")

    def pick_and_return() -> None:
        selection = proxy.selector.select(pair, NO_REPLICAS, proxy.cost, proxy.snapshot)
        if selection is not None:
            proxy.selector.release(selection)

    return pick_and_return if proxy.stats.pair_stats(pair).outliers else pick


def _route(proxy: WarmProxy, pair: LanguagePair) -> Callable[[], object]:
    return lambda: find_route(pair, proxy.snapshot, None)


def _admission(proxy: WarmProxy, pair: LanguagePair) -> Callable[[], object]:
    admission = AdmissionController(proxy.stats, ProxyMetrics(), time.monotonic)
    request = TranslateRequest(text="Where is the station?", source_lang=pair.source, target_lang=pair.target)
    call = TranslationCall(
        request, Caller("me"), Priority.INTERACTIVE, Deadline.after(3600, time.monotonic), "1", RequestSample()
    )

    def admit() -> None:
        with admission.admit([(call, pair)], proxy.snapshot):
            pass

    return admit


def snapshot_builds(fleet: SimulatedFleet, rounds: int) -> dict[str, float]:
    """Return milliseconds of what is done once for each Snapshot: rebuilt, and with newer reports of the same."""
    proxy = WarmProxy(fleet, 1)
    rebuilt: list[float] = []
    updates: list[float] = []
    for look in range(rounds):
        now = time.time() + look
        fresh = [each.model_copy(update={"reported_at": now}) for each in proxy.replicas]
        began = time.process_time()
        snapshot = Snapshot.of(fresh, ())
        rebuilt.append(time.process_time() - began)
        began = time.process_time()
        proxy.stats.apply_snapshot(replace(snapshot))
        updates.append(time.process_time() - began)
    return {
        "a new Snapshot": 1000 * sorted(rebuilt)[rounds // 2],
        "its statistics updated": 1000 * sorted(updates)[rounds // 2],
    }
