"""Replicas that cost next to nothing: their answers, ports and pairs."""

from __future__ import annotations

import json

import pytest

from benchmarks.harness.replicas import (
    FLEET_JSON,
    TRANSLATION,
    FleetShape,
    ReplicaResponses,
    SimulatedFleet,
)
from proxy.fleet.replica import Replica
from proxy.fleet.snapshot import Snapshot
from shared.protocol.answers import Translation
from shared.protocol.report import ReplicaReport


def body_of(response: bytes) -> bytes:
    head, body = response.split(b"\r\n\r\n", 1)
    assert f"Content-Length: {len(body)}".encode() in head
    return body


def served(fleet: SimulatedFleet) -> Snapshot:
    urls = enumerate(fleet.urls())
    return Snapshot.of((Replica.reported(url, fleet.report(number), 1.0) for number, url in urls), ())


def test_specialists_share_one_pair() -> None:
    fleet = SimulatedFleet(8000, 100, 300)
    ready = served(fleet).ready
    assert len(ready) == 300
    assert len(ready[fleet.all_pairs[0]]) == 100
    assert {len(urls) for pair, urls in ready.items() if pair != fleet.all_pairs[0]} == {1, 2}


def test_polyglots_serve_everything() -> None:
    fleet = SimulatedFleet(8000, 300, 12, FleetShape.POLYGLOTS)
    assert {len(urls) for urls in served(fleet).ready.values()} == {300}


def test_each_replica_is_a_port() -> None:
    fleet = SimulatedFleet(81, 2)
    assert fleet.urls() == ["http://127.0.0.1:81", "http://127.0.0.1:82"]
    assert FLEET_JSON.validate_json(FLEET_JSON.dump_json(fleet)) == fleet


def test_reports_differ_in_load_but_not_in_pairs() -> None:
    first, second = (SimulatedFleet(8000, 3, 5, max_load=39).report(2, look) for look in range(2))
    assert first.pairs == second.pairs
    assert first.models != second.models


@pytest.mark.parametrize("path", [b"/translate", b"/v1/chat/completions"])
def test_translation_stands_in_every_answer(path: bytes) -> None:
    body = body_of(ReplicaResponses(SimulatedFleet(8000, 1)).response(0, path))
    assert TRANSLATION in str(json.loads(body))
    if path == b"/translate":
        assert Translation.model_validate_json(body).translation == TRANSLATION


def test_known_pairs_are_left_out_of_a_report() -> None:
    responses = ReplicaResponses(SimulatedFleet(8000, 1))
    whole = ReplicaReport.model_validate_json(body_of(responses.response(0, b"/report")))
    known = f"/report?pairs_version={whole.pairs_version}".encode()
    assert whole.pairs["en-de"].ready
    assert not ReplicaReport.model_validate_json(body_of(responses.response(0, known))).pairs
    assert json.loads(body_of(responses.response(0, b"/counted"))) == {"reports": 2}
    assert responses.response(0, b"/other").startswith(b"HTTP/1.1 404")
