"""Ratios, rows, targets and report of a comparison."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge
from benchmarks.proxy.peers.definitions import AGAIN, BEFORE, DIRECT, OURS, PLAIN, RUST
from benchmarks.proxy.report import line
from benchmarks.proxy.report import report as report_of


def found(peer: str, number: int = 0, **change: Any) -> ProxyMeasurement:
    usual: dict[str, Any] = {
        "peer": peer,
        "round": number,
        "connections": 32,
        "answers": 1000,
        "errors": {},
        "seconds": 2.0,
        "cpu": 0.1,
        "rss": 1 << 20,
        "p50": 1.0,
        "p99": 2.0,
        "load_cpu": 0.1,
    }
    return ProxyMeasurement(**{**usual, **change})


def test_ratios_are_within_a_round() -> None:
    # The machine got ten times slower from round to round: medians of each alone would say 10.
    rounds = Rounds(
        found(peer, number, cpu=cost * 10**number)
        for number in range(3)
        for peer, cost in ((DIRECT, 0.0), (OURS, 0.12), (RUST, 0.1), (PLAIN, 3.0))
        if (peer, number) != (RUST, 1)
    )
    assert rounds.cpu_ratio(OURS, RUST, 32).median == pytest.approx(1.2)
    assert math.isnan(rounds.cpu_ratio(OURS, "another", 32).median)
    row = rounds.row(OURS, 32)
    assert (row.cpu_us, row.cpu_range) == (pytest.approx(1200), (pytest.approx(120), pytest.approx(12_000)))
    assert (row.rate, row.of_direct) == (500, 1)
    everybody = (DIRECT, OURS, RUST, PLAIN)
    assert judge(rounds, everybody, [32]).met
    text = report_of(rounds, judge(rounds, everybody, [32]), "here", {"nginx": "not\n installed"})
    assert "* nginx: not installed" in text
    assert "| pairway | 1200 (120 – 12000) | 500 | 1.000 | 1.00 | 2.00 | 1 | 0 |" in text
    assert "| direct | – |" in text


def test_versions_are_compared_within_each_round() -> None:
    costs = {OURS: (0.10, 0.11, 0.30), BEFORE: (0.10, 0.10, 0.20), AGAIN: (0.10, 0.11, 0.33)}
    rounds = Rounds(found(peer, number, cpu=cpu) for peer, cpus in costs.items() for number, cpu in enumerate(cpus))
    before, again = rounds.version_ratios()
    assert (before.other, before.least, before.median, before.most) == (
        BEFORE,
        1,
        pytest.approx(1.1),
        pytest.approx(1.5),
    )
    assert (again.other, again.rounds, again.median) == (AGAIN, 3, 1)
    text = report_of(rounds, judge(rounds, (OURS,), [32]), "here", {})
    assert "| pairway / pairway-before | 32 | 3 | 1.000 | 1.100 | 1.500 |" in text
    assert "Versions" not in report_of(Rounds([found(OURS)]), judge(rounds, (), []), "here", {})


def test_missed_targets_are_reported() -> None:
    rounds = Rounds([found(OURS, cpu=0.16, errors={"status 503": 1}), found(RUST), found(PLAIN, cpu=3.1)])
    assert [check.met for check in judge(rounds, (OURS, RUST, PLAIN), [32]).checks] == [False, False, False]
    assert "failed: {'status 503': 1}" in line(found(OURS, errors={"status 503": 1}))


def test_missing_peer_misses_its_target() -> None:
    rounds = Rounds([found(OURS)])
    assert not judge(rounds, (OURS, RUST), [32]).met
    assert judge(rounds, (OURS,), [32]).met
    assert judge(rounds, (OURS, RUST), [1]).checks == []


def test_row_without_responses() -> None:
    row = Rounds([found(OURS, answers=0, errors={"no connection": 3})]).row(OURS, 32)
    assert math.isnan(row.cpu_us)
    assert row.errors == {"no connection": 3}
