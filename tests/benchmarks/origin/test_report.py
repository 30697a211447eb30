"""Tables and targets of the experiment."""

from __future__ import annotations

import math

import pytest

from benchmarks.origin.report import deepest_fall, judge, tables
from tests.benchmarks.origin.measurement_samples import measurement


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
    text = "\n".join(tables(rows, {"E": {"engine": 900.0}}))
    assert "| uniform c=64 | E | 61.0 |" in text
    assert "E: Pairway." in text


def test_judge_sees_repeated_engine_requests() -> None:
    (*_, last) = judge([measurement("E", 25, 60.0, requests=1.02)])
    assert last.met is False
