"""One replica's speed from its measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmarks.sizing.replica_model import ReplicaMeasurements
from tests.benchmarks.sizing.models import replica_model


def test_throughput_is_between_measured_steps() -> None:
    own = replica_model(mix=[(1.0, 100)], steps=[(1.0, 0.010), (16.0, 0.016), (99.0, 0.001)])
    alone, full = 1 / (29 * 0.010), 16 / (29 * 0.016)
    assert [own.throughput(number) for number in (0, 1, 16, 99)] == pytest.approx([0, alone, full, full])
    assert own.throughput(8.5) == pytest.approx((alone + full) / 2)
    assert own.capacity == pytest.approx(full)


@pytest.mark.parametrize("at_once", [1, 3, 6, 30])
def test_throughput_matches_the_measured_closed_loop(at_once: int) -> None:
    measured = [(1, 2.9), (4, 10.0), (8, 18.0), (32, 24.0)]
    own = replica_model(steps=[], closed=measured, mix=[(1.0, 100)], most_segments=8)
    below = [rate for count, rate in measured if count <= at_once]
    above = [rate for count, rate in measured if count >= at_once]
    assert max(below) * 0.93 <= own.throughput(at_once) <= min([*above, 24.0]) * 1.07


def test_requests_beyond_the_places_wait() -> None:
    own = replica_model(mix=[(1.0, 100)])
    alone, full, waiting = (own.seconds(100, requests) for requests in (1, 16, 32))
    assert alone == pytest.approx(29 * 0.010)
    assert full == pytest.approx(29 * 0.016)
    assert waiting == pytest.approx(2 * full)


def test_measurements_of_overload_results(tmp_path: Path) -> None:
    loads = [{"load": "closed, 8 at once", "goodput": 40.0}, {"load": "open, 1×", "goodput": 30.0}]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"machine": "here", "loads": loads}))
    found = ReplicaMeasurements.read(file)
    assert (found.what, found.closed) == ("here", [(8, 40.0)])
    file.write_text(json.dumps({"what": "steps", "most_segments": 4, "mix": [[1, 80]], "steps": [[1, 0.01]]}))
    assert ReplicaMeasurements.read(file).most_segments == 4


@pytest.mark.parametrize("changes", [{"closed": [(1, 2.0)]}, {"steps": []}, {"mix": []}])
def test_measurements_need_closed_loops_or_steps(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        replica_model(**changes)
