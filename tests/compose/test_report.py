"""What the compose rows are, measure and report."""

from __future__ import annotations

import pytest

from benchmarks.harness.load import Sample
from benchmarks.harness.report import Checks
from tests.compose.__main__ import chosen
from tests.compose.health_watch import MAX_SHOWN, NO_ANSWER, history, summary
from tests.compose.report import report
from tests.compose.result import RowResult, broken_off, seconds_without
from tests.compose.rows.table import NAMES, ROWS
from tests.compose.traffic import judged


def test_names_are_unique_and_the_fleet_ends_last() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [row.name for row in ROWS if row.ends_fleet] == [NAMES[-1]]


def test_chosen_keeps_the_tables_order() -> None:
    assert [row.name for row in chosen("scale,keys")] == ["keys", "scale"]
    assert len(chosen("")) == len(ROWS)


def test_chosen_refuses_an_unknown_row() -> None:
    with pytest.raises(SystemExit, match="no row scal; there are calm"):
        chosen("scal")


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


FRENCH = frozenset({"en-fr"})


def sample(pair: str = "en-de", at: float = 1.0, status: int = 200, code: str = "") -> Sample:
    return Sample(pair, 0, 1.0, at, at, at + 0.1, status, code)


def judge(*samples: Sample, may_fail: frozenset[str] = frozenset()) -> RowResult:
    result = RowResult("row", "something", "proxy")
    result.judge(samples, began=0.0, ended=5.0, may_fail=may_fail)
    return result


def test_row_without_failures_meets_its_targets() -> None:
    result = judge(sample(), sample("en-fr"))
    assert result.checks.met
    assert (result.requests, result.failed, round(result.p95_ms)) == (2, 0, 100)


def test_row_without_requests_misses_its_targets() -> None:
    assert not judge().checks.met


@pytest.mark.parametrize(
    "failed",
    [
        sample(status=503, code="overloaded"),
        sample(status=0, code="ConnectionRefusedError"),
        sample(status=200, code="no-translation"),
        sample(status=401, code="key-required"),
    ],
)
def test_any_failed_request_misses_the_target(failed: Sample) -> None:
    result = judge(sample(), failed)
    assert not result.checks.met
    assert result.kinds == {f"{failed.status} {failed.code}": 1}
    assert result.failed_requests[0]["code"] == failed.code


@pytest.mark.parametrize(
    ("status", "pair", "met"), [(503, "en-fr", True), (504, "en-fr", False), (503, "en-de", False)]
)
def test_pair_without_servers_may_refuse_only(status: int, pair: str, met: bool) -> None:
    assert judge(sample(), sample(pair, status=status, code="c"), may_fail=FRENCH).checks.met is met


def test_seconds_without_ends_with_the_last_failure() -> None:
    samples = [sample("en-fr", at, 503, "c") for at in (2.0, 7.0)] + [
        sample("en-de", 9.0, 503, "c"),
        sample("en-fr", 8.0),
    ]
    assert seconds_without(samples, FRENCH, began=1.0) == pytest.approx(6.1)
    assert seconds_without([sample("en-fr")], FRENCH, began=1.0) == 0


def test_broken_off_are_accepted_before_the_port_closed() -> None:
    accepted, served = sample(at=1.0, status=0, code="ConnectionError"), sample(at=1.0)
    refused = sample(at=2.0, status=0, code="ConnectionRefusedError")._replace(ended=2.01)
    held = sample(at=3.0, status=0, code="ConnectionError")
    assert broken_off([served, accepted, refused, held]) == [accepted]
    assert broken_off([accepted]) == [accepted]
    assert not broken_off([served, refused])


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (200, b'{"translation": "x", "model": "m"}', ("", "m")),
        (200, b'{"translation": ""}', ("no-translation", "")),
        (503, b'{"code": "overloaded"}', ("overloaded", "")),
        (502, b"<html>", ("no-json", "")),
        (502, b"[]", ("no-json", "")),
        (500, b"\xff", ("no-json", "")),
    ],
)
def test_judged_names_what_is_wrong(status: int, body: bytes, expected: tuple[str, str]) -> None:
    assert judged(status, body) == expected


def test_report_names_what_was_missed() -> None:
    calm, bad = judge(sample()), judge(sample(), sample(status=503, code="overloaded"))
    calm.row, bad.row = "calm", "kill"
    removal = Checks()
    removal.holds("nothing of the fleet is left", fact=False, measured="volume x")
    text = report([calm, bad], 3, ["# Title"], removal)
    assert "| kill | something | proxy | 5 | 1 / 2 | 100 (100) |" in text
    assert "* missed, kill: failed requests 1, limit ≤ 0; 1 × 503 overloaded" in text
    assert "* missed, removal: nothing of the fleet is left volume x" in text
    assert "* missed: the run ended after 2 of 3 rows" in text
