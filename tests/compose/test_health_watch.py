"""What the compose rows report of ``/health``."""

from __future__ import annotations

import pytest

from tests.compose.health_watch import MAX_SHOWN, NO_ANSWER, history, summary


def test_summary_counts_ready_replicas() -> None:
    health = {"status": "degraded", "replicas": [{"state": "ready"}, {"state": "down"}]}
    assert summary(health) == "degraded 1/2"
    assert summary({}) == NO_ANSWER


def test_history_joins_looks_that_said_the_same() -> None:
    seen = [(0.0, "ok 2/2"), (1.0, "ok 2/2"), (2.0, "degraded 1/2"), (5.0, "ok 2/2"), (6.0, "")]
    assert history(seen) == "ok 2/2 2 s → degraded 1/2 3 s → ok 2/2 1 s"


@pytest.mark.parametrize("looks", [0, 1])
def test_history_of_too_few_looks_is_empty(looks: int) -> None:
    assert not history([(0.0, "ok 2/2")] * looks)


def test_history_is_cut() -> None:
    seen = [(float(at), f"ok {at}/9") for at in range(MAX_SHOWN + 3)]
    assert history(seen).endswith("…")
    assert history(seen).count("→") == MAX_SHOWN
