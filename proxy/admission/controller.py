"""AdmissionController: which requests the proxy takes on (docs/decisions/0017-overload.md)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Final

from proxy.admission.fair_share import AdmittedRequest, FairShare
from proxy.admission.pair_load import PairLoad, PairLoadMeter
from proxy.balancing.local_stats import LocalStats
from proxy.call import TranslationCall
from proxy.fleet.snapshot import Snapshot
from proxy.metrics import ProxyMetrics
from shared.languages import LanguagePair
from shared.protocol.errors import OverloadedError

# The part of the capacity that a caller with its fair share in flight leaves free, for those who have less, and for those
# who come back at the time that they were given.
RESERVE: Final = 0.2
# With less than this in flight, whoever was sent away too far could have come: nobody else is.
NEARLY_EMPTY: Final = 0.2
_MESSAGES: Final = {
    "full": "Every replica for {} is full for {} requests.",
    "share": "The replicas for {} are nearly full of {} requests, and you have your share of them in hand.",
    "late": "The replicas for {} have more {} requests to do first than your time allows.",
}


class AdmissionController:
    """Admits requests of short texts; replicas judge long ones.

    They know how long those take. Mutable state: the callers of each model, and how full many replicas were when last
    measured. One event loop.
    """

    def __init__(self, local_stats: LocalStats, metrics: ProxyMetrics, clock: Callable[[], float]) -> None:
        """Begin with no callers; ``clock`` gives monotonic seconds."""
        self._metrics = metrics
        self._shares: defaultdict[str, FairShare] = defaultdict(lambda: FairShare(clock))
        self._load_meter = PairLoadMeter(local_stats, clock)

    def admit(self, legs: Sequence[tuple[TranslationCall, LanguagePair]], snapshot: Snapshot) -> AdmittedRequest:
        """Count a request's calls as in flight while the block lasts.

        All of them, or none. Raises before the block if there is no capacity. A refusal by the replica inside the block
        gets our Retry-After as well, if the request has one leg only.

        Raises:
            OverloadedError: no replica has capacity for this caller and class; ``retry_after`` says when one should.
        """
        short_legs = [
            (call, pair, self._shares[_model(pair, snapshot)]) for call, pair in legs if not call.cost.is_long
        ]
        # Once for all its legs: a time slot is used up when it is redeemed.
        on_time: dict[tuple[int, int], bool] = {}
        for call, pair, share in short_legs:
            key = id(share), id(call)
            if key not in on_time:
                on_time[key] = share.retry_after.redeem(call)
            load = self._load_meter.load(pair, call.priority, snapshot)
            if load is not None:
                self._check(call, pair, load, share, is_on_time=on_time[key])
        return AdmittedRequest(self._load_meter, short_legs, snapshot, has_one_leg=len(legs) == len(short_legs) == 1)

    def _check(
        self, call: TranslationCall, pair: LanguagePair, load: PairLoad, share: FairShare, *, is_on_time: bool
    ) -> None:
        """Refuse a call for which there is no capacity.

        ``is_on_time`` says that it comes back at its time slot.
        """
        units = share.units.get(call.caller.identity, 0.0)
        is_newcomer = not units
        callers = len(share.units) + is_newcomer
        share_used = units / (load.limit / callers) if load.limit else 1.0
        level = load.levels[0]
        share.retry_after.observe(is_empty=level < NEARLY_EMPTY)
        if load.levels[is_newcomer] >= (1.0 if is_on_time else 1.0 - RESERVE * share_used):
            reason = "full" if level >= 1.0 or callers == 1 else "share"
        elif load.waits[is_newcomer] > call.deadline.remaining():
            reason = "late"
        else:
            return
        self._metrics.shed.labels(str(pair), call.priority, reason).inc()
        wait = share.schedule_retry(call, load)
        raise OverloadedError(_MESSAGES[reason].format(pair, call.priority), retry_after=wait, facts={"reason": reason})


def _model(pair: LanguagePair, snapshot: Snapshot) -> str:
    """Return what the pair's callers share: its preferred model.

    Whichever pairs that model serves.
    """
    for urls in snapshot.tiers.get(pair, ()):
        return snapshot.models[pair][urls[0]]
    return str(pair)
