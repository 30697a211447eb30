"""A measurement of one load point, with values that a test does not care about."""

from __future__ import annotations

from typing import Any

from benchmarks.origin.measurements import PointMeasurement
from benchmarks.origin.texts import UNIFORM


def measurement(name: str, concurrency: int, rate: float, **more: Any) -> PointMeasurement:
    fields: dict[str, Any] = {
        "point": f"uniform c={concurrency}",
        "kind": UNIFORM,
        "share": 0.0,
        "round": 0,
        "p50": 1000 * concurrency / rate,
        "p95": 1000 * concurrency / rate,
        "p99": 1000 * concurrency / rate,
        "failed": {},
        "outside": 0.05,
        "requests": 1.0,
        "due": 10,
        "cpu_ms": {"engine": 10.0},
        "others_cpu": 0.0,
        "elsewhere_cpu": 0.0,
        "driver_cpu": 0.0,
        "batch": 1.0,
        "step_cpu_ms": 1.0,
        "steps": [],
        "cpu_timeline": [],
        "gpu_timeline": [],
    }
    return PointMeasurement(name=name, concurrency=concurrency, rate=rate, **fields | more)
