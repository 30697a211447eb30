"""Diagnoses: how bad it is, why, and the runbook."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from proxy.api.fleet_view import PairLine, ReplicaLine
from proxy.api.live_status import diagnosis
from proxy.api.live_status.diagnosis import Diagnosis, diagnose_pair, diagnose_replica
from proxy.fleet.replica import ReplicaState
from tests.support.processes import ROOT


def line(state: str = "ready", *, breaker: str | None = None, pair_ready: bool = True, **changes: Any) -> ReplicaLine:
    pairs = {"en-de": PairLine(ready=pair_ready, why=None, model="m", rank=0, breaker=breaker)}
    values: dict[str, Any] = {
        "url": "http://a:1",
        "names": [],
        "source": "settings",
        "state": ReplicaState(state),
        "drained": False,
        "why": None,
        "weight": 1.0,
        "in_flight": 0,
        "score": None,
        "report": None,
        "pairs": pairs,
        **changes,
    }
    return ReplicaLine(**values)


@pytest.mark.parametrize(
    ("shown", "is_stalled", "level", "cause"),
    [
        (line(), False, "ok", None),
        (line(breaker="closed"), False, "ok", None),
        (line("down", pair_ready=False), False, "bad", "down"),
        (line("down", drained=True), False, "off", "drained"),
        (line("draining", drained=True), False, "off", "drained"),
        (line("draining"), False, "off", "stopping"),
        (line("starting", pair_ready=False), False, "warn", "starting"),
        (line(breaker="open"), False, "bad", "failing"),
        (line(breaker="half-open"), False, "bad", "failing"),
        (line(breaker="open"), True, "bad", "stalled"),
        (line(pair_ready=False), False, "warn", "pairs-missing"),
        (line(why="it is full and asked for no more requests"), False, "warn", "full"),
    ],
)
def test_replica_has_level_and_cause(shown: ReplicaLine, is_stalled: bool, level: str, cause: str | None) -> None:
    found = diagnose_replica(shown, is_stalled=is_stalled)
    assert (found.level, found.cause) == (level, cause)
    assert (found.runbook is not None) == (level in {"bad", "warn"})


@pytest.mark.parametrize(
    ("ready", "failing", "expected", "level"),
    [(0, 0, 0, "bad"), (0, 0, 2, "bad"), (2, 2, 2, "bad"), (2, 1, 2, "warn"), (1, 0, 2, "warn"), (3, 0, 2, "ok")],
)
def test_pair_is_as_bad_as_its_numbers(ready: int, failing: int, expected: int, level: str) -> None:
    assert diagnose_pair(ready=ready, failing=failing, expected=expected).level == level


def test_runbooks_exist() -> None:
    runbooks = (ROOT / "docs/operations/runbooks.md").read_text()
    headings = {each[3:].lower().replace(" ", "-") for each in runbooks.splitlines() if each.startswith("## ")}
    named = {each.runbook for each in vars(diagnosis).values() if isinstance(each, Diagnosis)}
    named |= {diagnose_replica(line(state), is_stalled=False).runbook for state in ReplicaState}
    named |= {diagnose_pair(ready=r, failing=f, expected=1).runbook for r in range(2) for f in range(2)}
    named |= {
        diagnose_pair(ready=2, failing=1, expected=1).runbook,
        diagnose_pair(ready=1, failing=0, expected=2).runbook,
    }
    assert named - {None} <= headings
    assert len(get_args(diagnosis.Level)) == len(diagnosis.LEVELS)
