"""The pure parts of the origin's experiment: choice of texts, statistics, judgement."""

from __future__ import annotations

import asyncio
import itertools
import math
import queue
from multiprocessing.queues import JoinableQueue
from typing import Any, cast

import pytest

from benchmarks.origin.designs import queue_worker
from benchmarks.origin.designs.queue_worker import BatchLimits, gather_tasks
from benchmarks.origin.engine_metrics import EngineTotals, engine_totals
from benchmarks.origin.load_driver import LoadDriver, PointLoad, PointPlan, TextAnswer
from benchmarks.origin.load_points import CONCURRENCIES, DESIGNS, KINDS, RunSelection, round_points, warm_up_points
from benchmarks.origin.report.measurements import PointMeasurement, median_comparison, select, step_timeline, summarize
from benchmarks.origin.report.tables import report
from benchmarks.origin.report.targets import deepest_fall, judge
from benchmarks.origin.workload.candidate_texts import (
    MIXED,
    MIXED_TOKENS,
    UNIFORM,
    UNIFORM_TOKENS,
    Sentence,
    joined,
    mixed,
)
from benchmarks.origin.workload.model import command_line
from benchmarks.origin.workload.text_file import BOTH, REVERSE, OriginText, TextPool

SENTENCES = [
    f"{who} {' '.join(['really'] * long)} saw it {when}."
    for who in ("We", "They")
    for long in range(4, 20)
    for when in "abcd"
]


def words(text: str) -> int:
    return len(text.split())


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


def test_uniform_texts_are_new_and_of_about_one_length() -> None:
    found = list(itertools.islice(joined(SENTENCES, "and", words, "1"), 100))
    assert len({unit.text for unit in found}) == 100
    assert all(UNIFORM_TOKENS[0] <= words(unit.text) == unit.tokens <= UNIFORM_TOKENS[1] for unit in found)
    assert found == list(itertools.islice(joined(SENTENCES, "and", words, "1"), 100))


def test_uniform_texts_end_where_there_are_no_more() -> None:
    assert list(joined(["Too short."], "and", words, "1")) == []


def test_mixed_texts_are_of_all_lengths_and_none_says_anything_twice() -> None:
    units = [
        Sentence(f"{number} {'x ' * (tokens - 2)}.", tokens)
        for number, tokens in enumerate([8, 12, 16, 20, 24, 30, 31] * 30)
    ]
    texts = list(itertools.islice(mixed(units, "1"), 320))
    assert len(set(texts)) == 320
    lengths = sorted(map(words, texts))
    assert lengths[0] < 2 * MIXED_TOKENS[0]
    assert lengths[-1] > 0.8 * MIXED_TOKENS[1]
    assert lengths[160] == pytest.approx(math.sqrt(MIXED_TOKENS[0] * MIXED_TOKENS[1]), rel=0.25)
    known = {unit.text for unit in units}
    for text in texts:
        answer_text = [f"{sentence.strip()} ." for sentence in text.split(".") if sentence]
        assert len(answer_text) == len(set(answer_text))
        assert {sentence.replace(" .", " .") for sentence in answer_text} <= {text.strip() for text in known}


def row(text: str, kind: str = UNIFORM) -> OriginText:
    return OriginText(kind, "en", "de", text, [([1, 2], 10)])


def test_a_stock_begins_again_when_it_is_used_up() -> None:
    pool = TextPool([row("a"), row("b"), row("c", REVERSE)])
    assert [one.text for one in itertools.islice(pool.texts(UNIFORM, 1), 3)] == ["b", "a", "b"]
    assert [one.text for one in itertools.islice(pool.texts(BOTH, 0), 4)] == ["a", "c", "b", "c"]
    assert pool.size(BOTH) == 2


def test_the_first_round_has_every_point_and_the_others_what_is_judged() -> None:
    first = list(round_points(0, RunSelection()))
    assert {(point.kind, point.concurrency) for point in first} >= {
        (kind, at) for kind in KINDS for at in CONCURRENCIES
    }
    assert [point.share for point in first if not point.concurrency] == [0.5, 1.0]
    assert [set(point.designs) for point in first if point.kind == BOTH] == [{"D", "F"}] * 3
    second = {(point.kind, point.concurrency): point.designs for point in round_points(1, RunSelection())}
    assert set(second[UNIFORM, 25]) == {"A", "C", "D", "E"}
    assert set(second[MIXED, 64]) == {"D", "E", "bare", "openai"}
    assert set(second[BOTH, 25]) == {"D", "F"}
    assert second[UNIFORM, 10] == ("E",)


def test_every_engine_meets_its_largest_batch_before_the_first_round() -> None:
    met = {name: (point.kind, point.concurrency) for point in warm_up_points(RunSelection()) for name in point.designs}
    assert met.keys() == set(DESIGNS)
    assert (met["A"], met["E"], met["F"]) == ((UNIFORM, 1), (UNIFORM, 64), (BOTH, 64))


def test_orders_differ_from_point_to_point() -> None:
    firsts = [point.designs[0] for point in round_points(0, RunSelection(("A", "D", "E"), (1, 25, 64), (), (UNIFORM,)))]
    assert firsts[:3] == ["A", "D", "E"]


async def test_a_closed_loop_keeps_as_many_in_flight_and_counts_when_warm() -> None:
    flying = most = 0

    async def send(_: OriginText) -> str:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.1, warm_up=5.0, concurrency=3)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert most == 3
    assert flying == 0
    assert load.since >= sorted(answer.ended for answer in load.answers)[2]
    assert 0.1 <= load.until - load.since < 2, "not as long as a warm-up may last"


async def test_a_slow_closed_loop_counts_until_each_client_was_answered_again() -> None:
    async def send(_: OriginText) -> str:
        await asyncio.sleep(0.05)
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.001, warm_up=5.0, concurrency=4)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert len([answer for answer in load.answers if load.since <= answer.ended <= load.until]) == 4


async def test_an_open_loop_sends_however_long_answers_take() -> None:
    over = asyncio.Event()
    sent = 0

    async def send(_: OriginText) -> str:
        nonlocal sent
        sent += 1
        if sent == 10:  # half of those due in the warm-up
            over.set()
        await over.wait()
        return ""

    plan = PointPlan("", "", UNIFORM, 0, seconds=0.1, warm_up=0.1, rate=200.0)
    load = await LoadDriver(plan, itertools.repeat(row("a")), send).run()
    assert len(load.answers) == sent >= 10


def test_figures_count_what_ended_in_the_time_that_counts() -> None:
    answers = [TextAnswer(1, 30, 0.0, ended, error) for ended, error in [(0.5, ""), (1.5, ""), (1.6, "504"), (2.5, "")]]
    found = summarize(
        PointLoad(answers, 0.0, 1.0, 2.0, 0.25), EngineTotals(4, 3.05, 10, 90), {"engine": 0.3}, is_open=False
    )
    assert (found["rate"], found["counted"], found["failed"]) == (1.0, 1, {"504": 1})
    assert found["p95"] == 1500
    assert found["outside"] == pytest.approx(0.5)
    assert found["requests"] == 1
    assert found["cpu_ms"] == {"engine": pytest.approx(100)}
    assert found["driver_cpu"] == pytest.approx(0.1)
    assert (found["batch"], found["step_cpu_ms"], found["answer"]) == (9, pytest.approx(30), 30)


def test_latencies_of_an_open_loop_are_of_what_was_due() -> None:
    answers = [
        TextAnswer(1, 30, due, ended, error)
        for due, ended, error in [(0.5, 1.2, ""), (1.0, 4.0, ""), (1.5, 31.5, "504")]
    ]
    found = summarize(PointLoad(answers, 0.0, 1.0, 2.0, 0.25), EngineTotals(3), {}, is_open=True)
    assert (found["rate"], found["p50"], found["p95"]) == (1, 3000, 30000)


def test_of_texts_with_several_engine_requests_the_time_outside_is_not_told() -> None:
    found = summarize(
        PointLoad([TextAnswer(2, 60, 0.0, 1.5, "")], 0.0, 1.0, 2.0, 0.0), EngineTotals(2, 1.0), {}, is_open=False
    )
    assert math.isnan(found["outside"])
    assert found["requests"] == 1


def test_ratios_are_medians_of_the_rounds_that_have_both() -> None:
    rows = [measurement("E", 25, rate, round=number) for number, rate in enumerate((10.0, 30.0, 20.0, 99.0))]
    rows += [measurement("A", 25, 10.0, round=number) for number in range(3)]
    ratio = median_comparison(
        select(rows, UNIFORM, 25, "E"), select(rows, UNIFORM, 25, "A"), lambda ours, a: ours.rate / a.rate
    )
    assert ratio == 2


def test_a_fall_is_from_the_best_before() -> None:
    assert deepest_fall([10, 20, 19, 18.5]) == pytest.approx(0.075)
    assert deepest_fall([10, 20, 30]) == 0
    assert math.isnan(deepest_fall([10]))


def test_targets_are_judged_and_what_was_not_measured_is_no_failure() -> None:
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


def test_a_guard_that_asked_again_is_seen() -> None:
    (*_, last) = judge([measurement("E", 25, 60.0, requests=1.02)])
    assert last.met is False


def test_busyness_begins_where_the_time_counts() -> None:
    assert step_timeline([(9.0, 1), (10.5, 2), (14.0, 3)], 10.0, 3.0) == [(0.5, 2)]


def test_engine_arguments_on_a_command_line() -> None:
    arguments = {"model": "/m", "enforce_eager": True, "enable_prefix_caching": False, "max_num_seqs": 64}
    assert command_line(arguments) == [
        "--model",
        "/m",
        "--enforce-eager",
        "--no-enable-prefix-caching",
        "--max-num-seqs",
        "64",
    ]


def test_engine_requests_are_read_from_metrics() -> None:
    metrics = """# TYPE vllm:request_success_total counter
vllm:request_success_total{finished_reason="stop",model_name="m"} 7.0
vllm:request_success_total{finished_reason="length",model_name="m"} 1.0
# TYPE vllm:e2e_request_latency_seconds histogram
vllm:e2e_request_latency_seconds_sum{model_name="m"} 2.5
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_count{model_name="m"} 30.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model_name="m"} 200.0
"""
    assert engine_totals(metrics) == (8, 2.5, 30, 200)


def test_a_batch_is_gathered_until_it_is_full_or_nothing_comes() -> None:
    tasks: queue.Queue[Any] = queue.Queue()
    for number in range(5):
        tasks.put(queue_worker.Task(str(number), cast("Any", None)))
    joinable = cast("JoinableQueue[queue_worker.Task]", tasks)
    assert [task.task_id for task in gather_tasks(joinable, BatchLimits(3, 5.0))] == ["0", "1", "2"]
    assert [task.task_id for task in gather_tasks(joinable, BatchLimits(3, 0.01))] == ["3", "4"]
