"""Reports of API servers."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from shared.protocol.report import ReplicaReport


def test_report_with_unknown_fields_is_read() -> None:
    report = {
        "replica_id": "a", "version": "9", "started_at": 1, "state": "ready", "in_flight": 0, "limit": 1, "later": 1,
        "pairs": {"x": {"source": "en", "target": "zh-Hant", "model": "m", "ready": True, "why": None, "later": 1}},
        "models": {},
    }  # fmt: skip
    read = ReplicaReport.model_validate(report)
    assert str(read.pairs["x"].pair) == "en-zh-Hant"
    with pytest.raises(ValidationError):
        ReplicaReport.model_validate({**report, "state": "asleep"})
