"""Diagnoses: how bad it is, why, and the runbook."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from proxy.api.views import diagnosis
from proxy.api.views.diagnosis import Diagnosis, diagnose_pair, diagnose_replica
from proxy.fleet.replica import ReplicaState
from tests.support.processes import ROOT


def diagnosed(state: str, *findings: str) -> Diagnosis:
    """Diagnose a replica of which these words are true, and nothing else is wrong."""
    wrong: dict[str, Any] = {word: word in findings for word in ("drained", "stalled", "failing", "avoided")}
    return diagnose_replica(ReplicaState(state), whole="incomplete" not in findings, **wrong)


@pytest.mark.parametrize(
    ("state", "findings", "level", "cause"),
    [
        ("ready", (), "ok", None),
        ("down", ("incomplete", "avoided"), "bad", "down"),
        ("down", ("drained",), "off", "drained"),
        ("draining", ("drained",), "off", "drained"),
        ("draining", (), "off", "stopping"),
        ("starting", ("incomplete",), "warn", "starting"),
        ("ready", ("failing",), "bad", "failing"),
        ("ready", ("failing", "stalled"), "bad", "stalled"),
        ("ready", ("incomplete", "avoided"), "warn", "pairs-missing"),
        ("ready", ("avoided",), "warn", "full"),
    ],
)
def test_replica_has_level_and_cause(state: str, findings: tuple[str, ...], level: str, cause: str | None) -> None:
    found = diagnosed(state, *findings)
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
    named |= {diagnosed(state).runbook for state in ReplicaState}
    named |= {diagnose_pair(ready=r, failing=f, expected=1).runbook for r in range(2) for f in range(2)}
    named |= {
        diagnose_pair(ready=2, failing=1, expected=1).runbook,
        diagnose_pair(ready=1, failing=0, expected=2).runbook,
    }
    assert named - {None} <= headings
    assert len(get_args(diagnosis.Level)) == len(diagnosis.LEVELS)
