"""Points of a round, and their order."""

from __future__ import annotations

from benchmarks.origin.processes import TITLES
from benchmarks.origin.rounds import RunSelection, round_points, warm_up_points
from benchmarks.origin.texts import BOTH, KINDS, MIXED, UNIFORM

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
