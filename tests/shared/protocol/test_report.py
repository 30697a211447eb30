"""Reports of API servers."""

from __future__ import annotations

import json
import re

import pytest
from pydantic import ValidationError

from shared.languages import LanguagePair
from shared.protocol.report import MAX_REPORTED_PAIRS, PairReport, ReplicaReport, ServedPairs


def test_report_with_unknown_fields_is_read() -> None:
    report = {
        "replica_id": "a", "version": "9", "started_at": 1, "state": "ready", "in_flight": 0, "limit": 1, "later": 1,
        "pairs": {"x": {"source": "en", "target": "zh-Hant", "model": "m", "ready": True, "why": None, "later": 1}},
        "models": {},
    }  # fmt: skip
    read = ReplicaReport.model_validate(report)
    assert str(read.pairs["x"].pair) == "en-zh-Hant"
    assert read.runs_by is None, "older servers do not say"
    assert ReplicaReport.model_validate({**report, "runs_by": "nomad:x"}).runs_by == "nomad:x", "a later server's"
    with pytest.raises(ValidationError):
        ReplicaReport.model_validate({**report, "state": "asleep"})


MODEL = (
    '{"running":1,"waiting":0,"limit":8,"steps":1,"step_age_s":0.1,"kv_used":0,"revision":"r","rate":2,'
    '"room":{"bulk":{"ahead":0,"callers":0,"limit":9}}}'
)
REPORT = (
    '{"replica_id":"a","version":"9","started_at":1,"state":"ready","in_flight":0,"weight":1,"models":{"m":MODEL},'
    '"pairs":{"x":{"source":"en","target":"de","model":"m","ready":false,"why":null,"ready_in_s":1}}}'
).replace("MODEL", MODEL)


@pytest.mark.parametrize("figure", ["1e999", "-1e999", "NaN", "1e300", "-1", "1" + "0" * 400])
@pytest.mark.parametrize("name", ["weight", "rate", "limit", "ahead", "callers", "ready_in_s", "step_age_s", "steps"])
def test_report_with_an_impossible_figure_is_refused(name: str, figure: str) -> None:
    assert ReplicaReport.model_validate_json(REPORT)
    changed, count = re.subn(rf'"{name}":[0-9.]+', f'"{name}":{figure}', REPORT)
    assert count
    with pytest.raises(ValidationError):
        ReplicaReport.model_validate_json(changed)


def test_report_with_too_many_pairs_is_refused() -> None:
    report = json.loads(REPORT)
    pair = report["pairs"]["x"]
    report["pairs"] = {str(number): pair for number in range(MAX_REPORTED_PAIRS)}
    assert len(ReplicaReport.model_validate_json(json.dumps(report)).pairs) == MAX_REPORTED_PAIRS
    report["pairs"]["one more"] = pair
    with pytest.raises(ValidationError):
        ReplicaReport.model_validate_json(json.dumps(report))


def test_pairs_version_follows_all_that_is_reported_of_the_pairs() -> None:
    def pairs(**changes: object) -> ServedPairs:
        values: dict[str, object] = {"source": "en", "target": "de", "model": "m", "ready": True, "why": None}
        return ServedPairs({"en-de": PairReport.model_validate({**values, **changes})})

    assert pairs().version == pairs().version
    changed: list[dict[str, object]] = [
        {},
        {"ready": False},
        {"why": "x"},
        {"rank": 1},
        {"canary": "x"},
        {"ready_in_s": 1.0},
    ]
    assert len({pairs(**each).version for each in changed}) == len(changed)
    assert ServedPairs().version != pairs().version


def test_known_pairs_are_left_out_and_put_back() -> None:
    values = {
        "replica_id": "a", "version": "9", "started_at": 1, "state": "ready", "in_flight": 0, "models": {},
        "pairs": {"x": {"source": "en", "target": "de", "model": "m", "ready": True, "why": None}},
    }  # fmt: skip
    old, one, other = (
        ReplicaReport.model_validate({**values, "pairs_version": version}) for version in (None, "1", "2")
    )
    assert one.without_known_pairs("1").pairs == {}
    assert one.without_known_pairs("1").with_known_pairs(one) == one
    for asked in (None, "", "2"):
        assert one.without_known_pairs(asked) is one
    assert old.without_known_pairs(None) is old
    assert one.with_known_pairs(None) is one.with_known_pairs(other) is one.with_known_pairs(old) is one
    assert old.with_known_pairs(old) is old


def test_pair_is_found_under_any_name() -> None:
    one, other = (
        {"source": "en", "target": target, "model": "m", "ready": True, "why": None} for target in ("de", "fr")
    )
    values: dict[str, object] = {
        "replica_id": "a",
        "version": "9",
        "started_at": 1,
        "state": "ready",
        "in_flight": 0,
        "models": {},
    }
    report = ReplicaReport.model_validate({**values, "pairs": {"en-de": one, "x": other}})
    assert report.find(LanguagePair("en", "de")) is report.pairs["en-de"]
    assert report.find(LanguagePair("en", "fr")) is report.pairs["x"]
    assert report.find(LanguagePair("de", "en")) is None
