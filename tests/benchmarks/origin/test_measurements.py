"""Figures of a point."""

from __future__ import annotations

import math

import pytest

from benchmarks.harness.load import LoadResult, Sample
from benchmarks.origin.designs.serving import EngineWork
from benchmarks.origin.measurements import median_comparison, select, summarize
from benchmarks.origin.texts import UNIFORM
from tests.benchmarks.origin.measurement_samples import measurement


def load(*answers: tuple[int, float, float, str]) -> LoadResult:
    """Return a load of answers with their engine requests, when they were due and ended, and the error."""
    samples = [
        Sample("texts", number, requests, due, due, ended, 0 if error else 200, error)
        for number, (requests, due, ended, error) in enumerate(answers)
    ]
    return LoadResult(samples, 0.0, 1.0, 2.0, max(sample.ended for sample in samples), 0.25)


def test_closed_loop_counts_answers_that_ended_in_time() -> None:
    answers = load((1, 0.0, 0.5, ""), (1, 0.0, 1.5, ""), (1, 0.0, 1.6, "504"), (1, 0.0, 2.5, ""))
    work = EngineWork(4, 3.05, 10, 90)
    found = summarize(answers, work, {"engine": 0.3}, is_open=False)
    assert (found["rate"], found["failed"], found["p95"]) == (1.0, {"504": 1}, 1500)
    assert found["outside"] == pytest.approx(0.5)
    assert found["requests"] == 1
    assert found["cpu_ms"] == {"engine": pytest.approx(100)}
    assert found["driver_cpu"] == pytest.approx(0.1)
    assert (found["batch"], found["step_cpu_ms"]) == (9, pytest.approx(30))


def test_open_loop_latencies_are_of_due_texts() -> None:
    answers = load((1, 0.5, 1.2, ""), (1, 1.0, 4.0, ""), (1, 1.5, 31.5, "504"))
    found = summarize(answers, EngineWork(3), {}, is_open=True)
    assert (found["rate"], found["p50"], found["p95"]) == (1, 3000, 30000)


def test_time_outside_is_unknown_for_several_requests() -> None:
    found = summarize(load((2, 0.0, 1.5, "")), EngineWork(2, 1.0), {}, is_open=False)
    assert math.isnan(found["outside"])
    assert found["requests"] == 1


def test_comparison_is_the_median_of_shared_rounds() -> None:
    rows = [measurement("E", 25, rate, round=number) for number, rate in enumerate((10.0, 30.0, 20.0, 99.0))]
    rows += [measurement("A", 25, 10.0, round=number) for number in range(3)]
    assert median_comparison(select(rows, UNIFORM, 25, "E"), select(rows, UNIFORM, 25, "A"), "rate") == 2
