"""Rounds, what is measured in them, and how it is judged and drawn."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks.harness.load import LoadResult, Sample
from benchmarks.origin.designs.serving import EngineWork
from benchmarks.origin.measurements import median_comparison, select, summarize
from benchmarks.origin.plots import measured, medians
from benchmarks.origin.processes import TITLES
from benchmarks.origin.report import deepest_fall, judge, tables
from benchmarks.origin.rounds import RunSelection, round_points, warm_up_points
from benchmarks.origin.texts import BOTH, KINDS, MIXED, UNIFORM
from tests.benchmarks.origin.measurement_samples import measurement

CONCURRENCIES = (1, 2, 5, 10, 25, 64)
EVERYTHING = RunSelection(tuple(TITLES), CONCURRENCIES, (0.5, 1.0), KINDS)


def test_first_round_has_every_point_others_the_judged_ones() -> None:
    first = list(round_points(0, EVERYTHING))
    assert {(point.kind, point.concurrency) for point in first} >= {
        (kind, at) for kind in KINDS for at in CONCURRENCIES
    }
    assert [point.share for point in first if not point.concurrency] == [0.5, 1.0]
    assert [set(point.designs) for point in first if point.kind == BOTH] == [{"D", "F"}] * 3
    second = {(point.kind, point.concurrency): point.designs for point in round_points(1, EVERYTHING)}
    assert set(second[UNIFORM, 25]) == {"A", "C", "D", "E"}
    assert set(second[MIXED, 64]) == {"D", "E", "bare", "openai"}
    assert set(second[BOTH, 25]) == {"D", "F"}
    assert second[UNIFORM, 10] == ("E",)


def test_warm_up_points_reach_each_largest_batch() -> None:
    met = {name: (point.kind, point.concurrency) for point in warm_up_points(EVERYTHING) for name in point.designs}
    assert met.keys() == set(TITLES)
    assert (met["A"], met["E"], met["F"]) == ((UNIFORM, 1), (UNIFORM, 64), (BOTH, 64))


def test_designs_rotate_from_point_to_point() -> None:
    firsts = [point.designs[0] for point in round_points(0, RunSelection(("A", "D", "E"), (1, 25, 64), (), (UNIFORM,)))]
    assert firsts[:3] == ["A", "D", "E"]


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


def row(kind: str, name: str, rate: float) -> dict[str, Any]:
    return {"kind": kind, "concurrency": 25, "name": name, "rate": rate}


def test_panels_without_figures_are_left_out() -> None:
    rows = [row("uniform", "D", 1.0), row("uniform", "D", 3.0), row("both", "F", 4.0)]
    panels = measured({kind: medians(rows, kind, "rate") for kind in ("uniform", "mixed", "both")})
    assert panels == {"uniform": {"D": {25: 2.0}}, "both": {"F": {25: 4.0}}}
