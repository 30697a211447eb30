"""One replica's speed from its measurements."""

# ruff: noqa: S311 - a simulation

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from pydantic import ValidationError

from benchmarks.sizing.replica_model import LengthMix, ReplicaMeasurements
from tests.benchmarks.sizing.models import replica_model


def test_step_is_interpolated() -> None:
    own = replica_model()
    assert [own.step(running) for running in (1, 16, 99)] == [0.010, 0.016, 0.016]
    assert own.step(6) == pytest.approx(0.012)


def test_lengths_are_drawn_by_their_shares() -> None:
    mix = LengthMix((3.0, 1.0), (10, 20))
    rng = Random(1)
    drawn = [mix.draw(rng) for _ in range(2000)]
    assert drawn.count(10) == pytest.approx(1500, rel=0.05)
    assert mix.mean(float) == pytest.approx(12.5)


def test_measurements_of_overload_results(tmp_path: Path) -> None:
    loads = [{"load": "closed, 8 at once", "goodput": 40.0}, {"load": "open, 1×", "goodput": 30.0}]
    file = tmp_path / "results.json"
    file.write_text(json.dumps({"machine": "here", "loads": loads}))
    found = ReplicaMeasurements.read(file, 16)
    assert (found.what, found.closed, found.most_segments) == ("here", [(8, 40.0)], 16)
    file.write_text(json.dumps({"what": "steps", "most_segments": 4, "mix": [[1, 80]], "steps": [[1, 0.01]]}))
    assert ReplicaMeasurements.read(file, 16).most_segments == 4


@pytest.mark.parametrize("changes", [{"closed": [(1, 2.0)]}, {"steps": []}, {"mix": []}])
def test_measurements_need_closed_loops_or_steps(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        replica_model(**changes)
