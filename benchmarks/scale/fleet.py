"""Simulated fleet of the scale benchmark: many replicas, their addresses, and what each of them reports. Pure.

Two shapes of fleet. **specialists**: every replica serves the first pair and three of the others, so that one pair is
served by all and each other by a few. **polyglots**: every replica serves every pair with one multilingual model.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.languages import LanguagePair
from shared.protocol.priority import Priority
from shared.protocol.report import ClassCapacity, ModelReport, PairReport, ReplicaReport, ServedPairs, ServerState
from shared.version import VERSION

# The first two make the pair that every replica serves.
LANGUAGES: Final = (
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sk", "sl", "hr", "ro", "hu", "fi", "sv", "da", "el", "bg", "et", "lv", "lt",
)  # fmt: skip
OTHERS_EACH: Final = 3
SHARED_MODEL: Final = "everyday"
# Addresses 127.1.0.1 and up: each replica has a URL of its own, on one port of one process.
ADDRESSES_PER_NET: Final = 250
CANARY: Final = "The house of my friend stands between the forest and the river."


class FleetShape(StrEnum):
    """Who serves what."""

    SPECIALISTS = "specialists"
    POLYGLOTS = "polyglots"


@dataclass(frozen=True, slots=True)
class SimulatedFleet:
    """So many replicas and pairs, in a shape."""

    replicas: int
    pairs: int
    shape: FleetShape

    @property
    def all_pairs(self) -> list[LanguagePair]:
        """Every pair, first the one that every replica serves."""
        directions = itertools.combinations(LANGUAGES, 2)
        pairs = [pair for one, two in directions for pair in (LanguagePair(one, two), LanguagePair(two, one))]
        if self.pairs > len(pairs):
            raise ValueError(f"there are names for {len(pairs)} pairs, not for {self.pairs}")
        return pairs[: self.pairs]

    @property
    def common(self) -> LanguagePair:
        """The pair that every replica serves."""
        return self.all_pairs[0]

    @property
    def rare(self) -> LanguagePair:
        """A pair that few serve (of specialists)."""
        return self.all_pairs[1]

    def pairs_of(self, number: int) -> list[LanguagePair]:
        """Return the pairs of one replica."""
        first, *others = self.all_pairs
        if self.shape is FleetShape.POLYGLOTS or len(others) <= OTHERS_EACH:
            return [first, *others]
        return [first, *(others[(OTHERS_EACH * number + each) % len(others)] for each in range(OTHERS_EACH))]

    def report(self, number: int, look: int = 0) -> ReplicaReport:
        """Return what a replica reports at its n-th look: load and steps differ each time, what it serves does not."""
        pairs = self.pairs_of(number)
        names = {
            pair: SHARED_MODEL if place == 0 else f"m{pair.source}{pair.target}" for place, pair in enumerate(pairs)
        }
        if self.shape is FleetShape.POLYGLOTS:
            names = dict.fromkeys(pairs, SHARED_MODEL)
        load = (7 * number + 13 * look) % 40
        served = ServedPairs(
            {
                str(pair): PairReport(
                    source=pair.source, target=pair.target, model=name, ready=True, why=None, canary=CANARY
                )
                for pair, name in names.items()
            }
        )
        return ReplicaReport(
            replica_id=f"{number:032x}",
            version=VERSION,
            started_at=1_790_000_000.0 + number,
            state=ServerState.READY,
            in_flight=load,
            pairs=served,
            pairs_version=served.version,
            models={name: _model(name, load, look) for name in dict.fromkeys(names.values())},
        )

    def address(self, number: int) -> str:
        """Return the loopback address of a replica."""
        return f"127.1.{number // ADDRESSES_PER_NET}.{number % ADDRESSES_PER_NET + 1}"

    def urls(self, port: int) -> list[str]:
        """Return the URL of every replica, all on one port."""
        return [f"http://{self.address(number)}:{port}" for number in range(self.replicas)]


def number_of(address: str) -> int:
    """Return whose loopback address that is."""
    _, _, net, host = address.split(".")
    return int(net) * ADDRESSES_PER_NET + int(host) - 1


def _model(name: str, load: int, look: int) -> ModelReport:
    capacity = {
        priority: ClassCapacity(ahead=float(load), callers=float(min(load, 3)), limit=80.0 - 20.0 * priority.rank)
        for priority in Priority
    }
    return ModelReport(
        running=load,
        waiting=0,
        limit=64,
        steps=100_000 + 40 * look,
        step_age_s=0.02,
        kv_used=0.25,
        revision=f"{name}-1a2b3c4d5e6f",
        capacity=capacity,
        rate=80.0,
    )
