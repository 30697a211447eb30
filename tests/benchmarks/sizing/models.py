"""A replica of made up speed."""

from __future__ import annotations

from benchmarks.sizing.replica_model import ReplicaMeasurements, ReplicaModel

# 50 tokens in one segment each: an engine that makes a step in 10 ms alone, and 16 segments' in 16 ms.
MIX = [(1.0, 184), (1.0, 80)]
STEPS = [(1.0, 0.010), (16.0, 0.016)]


def replica_model(**changes: object) -> ReplicaModel:
    values = {"what": "test", "most_segments": 16, "mix": MIX, "steps": STEPS, "overhead_seconds": 0.0}
    return ReplicaModel(ReplicaMeasurements.model_validate({**values, **changes}))
