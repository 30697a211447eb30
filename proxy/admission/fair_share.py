"""FairShare: what each caller of a model has in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final

from proxy.admission.pair_load import UNKNOWN_RATE, PairLoad, PairLoadMeter
from proxy.admission.retry_after import RetryAfterScheduler
from proxy.call import TranslationCall
from proxy.fleet.snapshot import Snapshot
from shared.languages import LanguagePair
from shared.protocol.errors import OverloadedError

# What floating point may leave over; the least cost of a request is 1.
_ROUNDING_UNITS: Final = 1e-6


class FairShare:
    """The callers of one model.

    Mutable state: units of cost that each has in flight, and who is to retry when.
    """

    __slots__ = ("retry_after", "units")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.units: dict[str, float] = {}
        self.retry_after = RetryAfterScheduler(clock)

    def add(self, caller: str, units: float) -> None:
        """Count a caller's request as in flight."""
        self.units[caller] = self.units.get(caller, 0.0) + units

    def remove(self, caller: str, units: float) -> None:
        """Count it no longer."""
        left = self.units[caller] - units
        if left > _ROUNDING_UNITS:
            self.units[caller] = left
        else:
            del self.units[caller]

    def schedule_retry(self, call: TranslationCall, load: PairLoad | None) -> int:
        """Return in how many seconds a refused request is to try again."""
        rate, excess = (UNKNOWN_RATE, 0.0) if load is None else (load.rate, load.excess)
        return self.retry_after.schedule(call, call.cost.units, rate, excess)


class AdmittedRequest:
    """An admitted request, in flight while the block lasts.

    Only its short legs count.
    """

    __slots__ = ("_has_one_leg", "_legs", "_load_meter", "_snapshot")

    def __init__(
        self,
        load_meter: PairLoadMeter,
        legs: Sequence[tuple[TranslationCall, LanguagePair, FairShare]],
        snapshot: Snapshot,
        *,
        has_one_leg: bool,
    ) -> None:
        """Begin uncounted; ``has_one_leg``: it has one leg only, which counts."""
        self._load_meter = load_meter
        self._legs = legs
        self._snapshot = snapshot
        self._has_one_leg = has_one_leg

    def __enter__(self) -> None:
        """Count it."""
        for call, _, share in self._legs:
            share.add(call.caller.identity, call.cost.units)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Count it no longer; give a replica's refusal our Retry-After."""
        if self._has_one_leg and isinstance(error, OverloadedError) and error.facts.get("reason") != "late":
            call, pair, share = self._legs[0]
            wait = share.schedule_retry(call, self._load_meter.load(pair, call.priority, self._snapshot))
            error.retry_after = max(error.retry_after or 0.0, wait)
        for call, _, share in self._legs:
            share.remove(call.caller.identity, call.cost.units)
