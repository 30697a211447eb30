"""Replica, requests and load against each other."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest

from benchmarks.proxy import load
from benchmarks.proxy.replica import ReplicaConnection, fixed_answers, report
from benchmarks.proxy.requests import CHAT, TRANSLATE
from shared.protocol.messages import Limits, Translation, parse_translate_request
from shared.protocol.report import ReplicaReport


def test_replica_answers_as_ours_do() -> None:
    assert ReplicaReport.model_validate_json(report("a", 5)).pairs["en-de"].ready
    body = fixed_answers()[b"/translate"].split(b"\r\n\r\n", 1)[1]
    assert Translation.model_validate_json(body).translation == "Wo ist der Bahnhof?"


@pytest.mark.parametrize("wire", [TRANSLATE, CHAT])
def test_request_has_its_length(wire: Any) -> None:
    before, after = wire.parts(80)
    head, body = (before + b"0000000001" + after).split(b"\r\n\r\n", 1)
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)
    if wire is TRANSLATE:
        parse_translate_request(body, Limits(body_bytes=1000, texts=1, text_chars=100))


async def test_load_counts_good_responses_and_errors() -> None:
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


async def test_load_without_a_proxy_counts_errors() -> None:
    plan = load.ProxyLoadPlan(1, TRANSLATE, connections=1, warm_up=0.0, seconds=0.1, pid=0)
    nothing = await load.run(plan)
    assert (nothing["answers"], list(nothing["errors"])) == (0, ["no connection"])
