"""A fleet of equal replicas as a queue: how many requests it has in flight, and so how long they take. Pure.

Requests arrive at random (Poisson) times and are spread evenly over the replicas. The number of requests in flight decides how
many the fleet completes in a second (replica_model.py).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import accumulate
from operator import itemgetter
from typing import Final, NamedTuple

from benchmarks.sizing.replica_model import ReplicaModel

# Nobody runs a fleet fuller than that: its queues never settle.
MAX_UTILISATION: Final = 0.97
# Numbers of requests in flight that are e to the power of so much less likely than the likeliest do not count.
NEGLIGIBLE: Final = 30.0
# Never reached below MAX_UTILISATION: a bound for the loop, in requests at each replica.
MAX_AT_EACH: Final = 10_000


class FleetEstimate(NamedTuple):
    """Estimated latencies (seconds) and utilisation of a fleet of that size."""

    replicas: int
    utilisation: float
    p50: float = math.inf
    p95: float = math.inf
    p99: float = math.inf

    def cells(self, note: str) -> tuple[str, ...]:
        """Return it as a row of the table."""
        latencies = " / ".join(f"{1000 * seconds:.0f}" for seconds in (self.p50, self.p95, self.p99))
        times = "no end" if math.isinf(self.p95) else latencies
        return str(self.replicas), f"{100 * self.utilisation:.0f} %", times, note


def estimate(replica: ReplicaModel, replicas: int, rate: float) -> FleetEstimate:
    """Return what a fleet does with so many requests a second."""
    utilisation = rate / (replicas * replica.capacity)
    if utilisation > MAX_UTILISATION:
        return FleetEstimate(replicas, utilisation)
    # (seconds, probability), of each length beside each number of requests that are in flight when it arrives
    found = sorted(
        (replica.seconds(chars, max(1.0, (in_hand + 1) / replicas)), share * weight)
        for in_hand, weight in enumerate(likelihoods(replica, replicas, rate))
        for share, chars in replica.mix
    )
    reached = list(accumulate(map(itemgetter(1), found)))
    percentiles = (found[bisect_left(reached, part * reached[-1])][0] for part in (0.5, 0.95, 0.99))
    return FleetEstimate(replicas, utilisation, *percentiles)


def likelihoods(replica: ReplicaModel, replicas: int, rate: float) -> list[float]:
    """Return how likely each number of requests in flight is, beside the likeliest: a birth-death chain from 0 on."""
    logs, highest = [0.0], 0.0  # logarithms: they are products of thousands of numbers
    for in_hand in range(1, MAX_AT_EACH * replicas):
        busy = min(in_hand, replicas)
        logs.append(logs[-1] + math.log(rate / (busy * replica.throughput(in_hand / busy))))
        highest = max(highest, logs[-1])
        if logs[-1] < highest - NEGLIGIBLE:
            break
    return [math.exp(log - highest) for log in logs]
