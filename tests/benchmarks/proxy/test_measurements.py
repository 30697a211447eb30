"""The proxy and its peers, measured."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

import pytest

from benchmarks.harness.load import LoadResult, Sample
from benchmarks.harness.processes import Usage
from benchmarks.proxy.__main__ import chosen
from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge, tables
from benchmarks.proxy.peers.definitions import (
    AGAIN,
    ASGI,
    BEFORE,
    DEEPL,
    DIRECT,
    HERE,
    LIBRETRANSLATE,
    OURS,
    PEERS,
    RUST,
    STAMP,
    VERSIONS,
    Peer,
    PeerMissingError,
)


def found(peer: str, number: int = 0, **change: Any) -> ProxyMeasurement:
    usual: dict[str, Any] = {
        "peer": peer,
        "round": number,
        "connections": 32,
        "cpu_us": 100.0,
        "rate": 500.0,
        "p50": 1.0,
        "p99": 2.0,
        "megabytes": 1.0,
        "load_cpu_us": 20.0,
        "errors": {},
    }
    return ProxyMeasurement(**{**usual, **change})


def test_ratios_are_within_a_round() -> None:
    # The machine got ten times slower from round to round: medians of each alone would say 10.
    rounds = Rounds(
        found(peer, number, cpu_us=cost * 10**number)
        for number in range(3)
        for peer, cost in ((DIRECT, 0.0), (OURS, 120.0), (RUST, 100.0), (ASGI, 200.0))
        if (peer, number) != (RUST, 1)
    )
    assert rounds.ratios(OURS, RUST, 32) == pytest.approx([1.2, 1.2])
    assert math.isnan(rounds.ratios(OURS, "another", 32)[0])
    everybody = (DIRECT, OURS, RUST, ASGI)
    assert judge(rounds, everybody, [32]).met
    text = "\n".join(tables(rounds, {"nginx": "not\n installed"}))
    assert "* nginx: not installed" in text
    assert "| pairway | 1200 (120 – 12000) | 500 | 1.000 | 1.00 | 2.00 | 1 | 0 |" in text
    assert "| direct | – |" in text


def test_versions_are_compared_within_each_round() -> None:
    costs = {OURS: (0.10, 0.11, 0.30), BEFORE: (0.10, 0.10, 0.20), AGAIN: (0.10, 0.11, 0.33)}
    rounds = Rounds(found(peer, number, cpu_us=cpu) for peer, cpus in costs.items() for number, cpu in enumerate(cpus))
    text = tables(rounds, {})
    assert "| pairway / pairway-before | 32 | 3 | 1.000 | 1.100 | 1.500 |" in text
    assert "| pairway / pairway-again | 32 | 3 | 0.909 | 1.000 | 1.000 |" in text
    assert "Versions" not in "".join(tables(Rounds([found(OURS)]), {}))


def test_compatible_apis_are_compared_with_the_native_one() -> None:
    rounds = Rounds([found(OURS), found(DEEPL, cpu_us=120.0), found(LIBRETRANSLATE, cpu_us=131.0)])
    assert "| deepl / pairway | 32 | 1 | 1.200 | 1.200 | 1.200 |" in tables(rounds, {})
    assert [check.met for check in judge(rounds, (OURS, DEEPL, LIBRETRANSLATE), [32]).checks] == [False, True, True]


def test_missed_targets_are_reported() -> None:
    rounds = Rounds([found(OURS, cpu_us=500.0, errors={"503 x": 1}), found(RUST), found(ASGI, cpu_us=200.0)])
    assert [check.met for check in judge(rounds, (OURS, RUST, ASGI), [32]).checks] == [False, False, False]
    assert "failed: {'503 x': 1}" in found(OURS, errors={"503 x": 1}).line()


def test_missing_peer_misses_its_target() -> None:
    rounds = Rounds([found(OURS)])
    assert not judge(rounds, (OURS, RUST), [32]).met
    assert judge(rounds, (OURS,), [32]).met
    assert judge(rounds, (OURS, RUST), [1]).checks == []


def test_row_without_responses() -> None:
    name, cpu, *_, errors = Rounds([found(OURS, cpu_us=math.nan, errors={"0 ConnectionError": 3})]).row(OURS, 32)
    assert (name, cpu, errors) == (OURS, "nan (nan – nan)", "3 0 ConnectionError")


def test_measurement_counts_what_ended_in_its_time() -> None:
    times = ((1.5, 200, ""), (2.5, 200, ""), (2.6, 503, "overloaded"), (9.0, 200, ""))
    samples = [Sample("load", 1, 1.0, end - 0.1, end - 0.1, end, status, code) for end, status, code in times]
    load = LoadResult(samples, began=1.0, since=2.0, until=4.0, ended=9.0, cpu=0.4, server=Usage(0.1, 5 << 20))
    measured = ProxyMeasurement.of(OURS, 0, 32, load)
    assert (measured.rate, measured.errors) == (0.5, {"503 overloaded": 1})
    assert (measured.cpu_us, measured.megabytes, measured.load_cpu_us) == (pytest.approx(1e5), 5, pytest.approx(1e5))
    assert math.isnan(ProxyMeasurement.of(OURS, 0, 32, replace(load, samples=[])).cpu_us)


def test_another_checkout_needs_its_folder() -> None:
    assert BEFORE not in [peer.name for peer in chosen("", None)]
    assert [peer.name for peer in chosen("", Path())] == [OURS, AGAIN, BEFORE]
    with pytest.raises(SystemExit, match=f"there is no {BEFORE}"):
        chosen(BEFORE, None)


def test_peers_can_be_filled_in() -> None:
    names = ("bin", "first", "folder", "port", "python", "redis", "second", "spare", "before")
    values: dict[str, str] = dict.fromkeys(names, "x")
    for peer in (*PEERS, *VERSIONS):
        Template(peer.command).substitute(values)
        for value in peer.variables.values():
            Template(value).substitute(values)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_installed_peer_is_not_installed_again(tmp_path: Any) -> None:
    (peer,) = (each for each in PEERS if each.name == RUST)
    (tmp_path / RUST).mkdir()
    (tmp_path / RUST / STAMP).write_text((HERE / f"{RUST}.txt").read_text())
    assert peer.programs(tmp_path) == tmp_path / RUST / "bin"
    with pytest.raises(PeerMissingError, match="not on the PATH"):
        Peer("another", "no-such-program-anywhere -x").programs(tmp_path)
