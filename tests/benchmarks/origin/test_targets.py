"""Targets of the experiment."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks.origin.report.measurements import PointMeasurement
from benchmarks.origin.report.tables import report
from benchmarks.origin.report.targets import deepest_fall, judge
from benchmarks.origin.workload.candidate_texts import (
    UNIFORM,
)


def measurement(name: str, concurrency: int, rate: float, **more: Any) -> PointMeasurement:
    fields: dict[str, Any] = {
        "point": f"uniform c={concurrency}",
        "kind": UNIFORM,
        "share": 0.0,
        "round": 0,
        "p50": 1000 * concurrency / rate,
        "p95": 1000 * concurrency / rate,
        "p99": 1000 * concurrency / rate,
        "counted": 10,
        "failed": {},
        "tokens": 30.0,
        "outside": 0.05,
        "requests": 1.0,
        "due": 10,
        "cpu_ms": {"engine": 10.0},
        "others_cpu": 0.0,
        "elsewhere_cpu": 0.0,
        "driver_cpu": 0.0,
        "batch": 1.0,
        "step_cpu_ms": 1.0,
        "answer": 30.0,
    }
    return PointMeasurement(name=name, concurrency=concurrency, rate=rate, **fields | more)


def test_deepest_fall_is_from_the_best_before() -> None:
    assert deepest_fall([10, 20, 19, 18.5]) == pytest.approx(0.075)
    assert deepest_fall([10, 20, 30]) == 0
    assert math.isnan(deepest_fall([10]))


def test_judge_leaves_out_what_was_not_measured() -> None:
    rows = [
        measurement("A", 25, 10.0),
        measurement("E", 25, 60.0, outside=0.2),
        measurement("E", 64, 61.0, cpu_ms={"engine": 10, "proxy": 2}),
    ]
    rows += [measurement("bare", 64, 62.0)]
    met = {check.name: check.met for check in judge(rows)}
    assert met == {
        "E against A, c=25, uniform: texts/s": False,
        "E against A, c=25, uniform: p95": False,
        "E, uniform: deepest fall as load rises": True,
        "E, c=25, uniform: time outside the engine": False,
        "E against bare, c=64, uniform: texts/s": True,
        "E above bare, c=64, uniform: CPU ms a text": False,
        "engine requests for each segment, off by, the worst point": True,
    }
    text = report("here", rows, judge(rows), {"E": {"engine": 900.0}}, {"E": "Pairway"})
    assert "| uniform c=64 | E | 61.0 |" in text
    assert "**missed**" in text


def test_judge_sees_repeated_engine_requests() -> None:
    (*_, last) = judge([measurement("E", 25, 60.0, requests=1.02)])
    assert last.met is False
