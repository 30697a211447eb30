"""The pure parts of the comparison of proxies, and its replica and load against each other."""

from __future__ import annotations

import asyncio
import json
import math
import os
from pathlib import Path
from string import Template
from typing import Any

import pytest

from benchmarks.proxy import load
from benchmarks.proxy.__main__ import chosen
from benchmarks.proxy.http_client import MAX_BYTES, BrokenHttpError, HttpResponse, ResponseReader
from benchmarks.proxy.measurements import ProxyMeasurement, Rounds, judge
from benchmarks.proxy.peers.definitions import AGAIN, BEFORE, DIRECT, OURS, PEERS, PLAIN, RUST, VERSIONS, Peer
from benchmarks.proxy.peers.environment import STAMP, NotInstalledError, programs_of
from benchmarks.proxy.process_usage import PAGE_BYTES, TICKS_PER_SECOND, parse_stat, tree, usage, usage_of
from benchmarks.proxy.replica import ReplicaConnection, fixed_answers, report
from benchmarks.proxy.report import line
from benchmarks.proxy.report import report as report_of
from benchmarks.proxy.requests import CHAT, TRANSLATE
from shared.protocol.messages import Limits, Translation, parse_translate_request
from shared.protocol.report import ReplicaReport

PLAIN_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhello"
CHUNKED_ANSWER = b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n"


def stat_line(pid: int, parent: int, ticks: tuple[int, int, int, int] = (1, 2, 3, 4), name: str = "python") -> str:
    user = " ".join(map(str, ticks))
    return f"{pid} ({name}) S {parent} 1 1 0 -1 4194304 100 0 0 0 {user} 20 0 1 0 3513357 3133440 394 1 1 1"


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


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_answers_are_read_however_they_are_cut(size: int) -> None:
    data = PLAIN_ANSWER + CHUNKED_ANSWER + PLAIN_ANSWER
    reader = ResponseReader()
    answers = [answer for at in range(0, len(data), size) for answer in reader.feed(data[at : at + size])]
    assert answers == [HttpResponse(200, b"hello"), HttpResponse(503, b"hello"), HttpResponse(200, b"hello")]


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n",
        b"x" * (MAX_BYTES + 1),
    ],
)
def test_what_is_no_answer_is_told(data: bytes) -> None:
    with pytest.raises(BrokenHttpError):
        ResponseReader().feed(data)


def test_a_stat_line_is_read_whatever_the_name() -> None:
    stat = parse_stat(stat_line(7, 3, (100, 20, 3, 4), name="a) (b) 9"))
    assert (stat.pid, stat.parent, stat.ticks, stat.pages) == (7, 3, 127, 394)


def test_a_tree_is_the_process_and_its_descendants() -> None:
    stats = [parse_stat(stat_line(pid, parent)) for pid, parent in ((9, 7), (1, 0), (7, 1), (8, 7), (10, 9), (11, 1))]
    mine = tree(stats, 7)
    assert sorted(stat.pid for stat in mine) == [7, 8, 9, 10]
    assert usage(mine) == (40 / TICKS_PER_SECOND, 4 * 394 * PAGE_BYTES)
    assert tree(stats, 5) == []


def test_this_process_is_found() -> None:
    assert usage_of(os.getpid()).rss > 1 << 20


def test_ratios_are_those_within_a_round() -> None:
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


def test_another_checkout_is_a_peer_where_its_folder_is_named() -> None:
    assert BEFORE not in [peer.name for peer in chosen("", None)]
    assert [peer.name for peer in chosen("", Path())] == [OURS, AGAIN, BEFORE]
    with pytest.raises(SystemExit, match=f"there is no {BEFORE}"):
        chosen(BEFORE, None)


def test_a_missed_target_is_told() -> None:
    rounds = Rounds([found(OURS, cpu=0.16, errors={"status 503": 1}), found(RUST), found(PLAIN, cpu=3.1)])
    assert [check.met for check in judge(rounds, (OURS, RUST, PLAIN), [32]).checks] == [False, False, False]
    assert "failed: {'status 503': 1}" in line(found(OURS, errors={"status 503": 1}))


def test_a_peer_that_was_asked_for_and_is_not_there_is_a_missed_target() -> None:
    rounds = Rounds([found(OURS)])
    assert not judge(rounds, (OURS, RUST), [32]).met
    assert judge(rounds, (OURS,), [32]).met
    assert judge(rounds, (OURS, RUST), [1]).checks == []


def test_nothing_answered_is_no_division_by_zero() -> None:
    row = Rounds([found(OURS, answers=0, errors={"no connection": 3})]).row(OURS, 32)
    assert math.isnan(row.cpu_us)
    assert row.errors == {"no connection": 3}


def test_the_replica_answers_as_ours_do() -> None:
    assert ReplicaReport.model_validate_json(report("a", 5)).pairs["en-de"].ready
    body = fixed_answers()[b"/translate"].split(b"\r\n\r\n", 1)[1]
    assert Translation.model_validate_json(body).translation == "Wo ist der Bahnhof?"


@pytest.mark.parametrize("wire", [TRANSLATE, CHAT])
def test_a_request_says_its_length(wire: Any) -> None:
    before, after = wire.parts(80)
    head, body = (before + b"0000000001" + after).split(b"\r\n\r\n", 1)
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)
    if wire is TRANSLATE:
        parse_translate_request(body, Limits(body_bytes=1000, texts=1, text_chars=100))


async def test_the_load_counts_good_answers_and_tells_the_others() -> None:
    loop = asyncio.get_running_loop()
    answers = fixed_answers()
    server = await loop.create_server(lambda: ReplicaConnection("a", answers), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        plan = load.ProxyLoadPlan(port, TRANSLATE, connections=4, warm_up=0.05, seconds=0.2, pid=os.getpid())
        assert load.ProxyLoadPlan.from_json(plan.to_json()) == plan
        good = await load.run(plan)
        answers[b"/translate"] = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"
        bad = await load.run(plan)
        answers[b"/translate"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        wrong = await load.run(plan)
    assert good["answers"] > 50
    assert good["errors"] == {}
    assert good["cpu"] > 0
    assert 0 < good["p50"] <= good["p99"]
    assert (bad["answers"], list(bad["errors"])) == (0, ["status 503"])
    assert (wrong["answers"], list(wrong["errors"])) == (0, ["another body"])


async def test_a_proxy_that_is_not_there_is_an_error() -> None:
    plan = load.ProxyLoadPlan(1, TRANSLATE, connections=1, warm_up=0.0, seconds=0.1, pid=0)
    nothing = await load.run(plan)
    assert (nothing["answers"], list(nothing["errors"])) == (0, ["no connection"])


def test_the_table_can_be_filled_in() -> None:
    names = ("bin", "first", "folder", "port", "python", "redis", "second", "spare", "before")
    values: dict[str, str] = dict.fromkeys(names, "x")
    for peer in (*PEERS, *VERSIONS):
        Template(peer.command).substitute(values)
        for value in peer.variables.values():
            Template(value).substitute(values)
    assert len({peer.name for peer in PEERS}) == len(PEERS)


def test_a_peer_that_is_installed_is_not_installed_again(tmp_path: Any) -> None:
    (peer,) = (each for each in PEERS if each.name == RUST)
    assert peer.pins is not None
    (tmp_path / RUST).mkdir()
    (tmp_path / RUST / STAMP).write_text(peer.pins.read_text())
    assert programs_of(peer, tmp_path) == tmp_path / RUST / "bin"
    with pytest.raises(NotInstalledError, match="not on the PATH"):
        programs_of(Peer("another", "no-such-program-anywhere -x", TRANSLATE), tmp_path)
