"""Usage report: JSON and CSV of the same rows."""

from __future__ import annotations

import csv
import io
import json

from proxy.keys.usage_report import UsageReport, render_csv, render_json
from proxy.keys.usage_store import KeyUsage, PeriodUsage

PERIODS = [
    PeriodUsage("2027-01", {"a" * 12: KeyUsage(2, 50), "b" * 12: KeyUsage(1, 0)}, is_incomplete=True),
    PeriodUsage("2026-12", {"a" * 12: KeyUsage(1, 7)}),
]
NAMES = {"a" * 12: 'Älice, "the first"'}


def test_json_has_a_row_for_each_period_and_key() -> None:
    rows = UsageReport.model_validate_json(render_json(PERIODS, NAMES)).usage
    assert [(each.period, each.key[0], each.name) for each in rows] == [
        ("2027-01", "a", NAMES["a" * 12]),
        ("2027-01", "b", ""),
        ("2026-12", "a", NAMES["a" * 12]),
    ]
    assert [(each.requests, each.characters, each.incomplete) for each in rows] == [
        (2, 50, True),
        (1, 0, True),
        (1, 7, False),
    ]
    assert json.loads(render_json([], {})) == {"usage": []}


def test_csv_has_the_same_rows() -> None:
    read = csv.DictReader(io.StringIO(render_csv(PERIODS, NAMES).decode(), newline=""))
    expected = json.loads(render_json(PERIODS, NAMES))["usage"]
    assert list(read) == [{name: str(value) for name, value in row.items()} for row in expected]


def test_name_is_no_formula_of_a_spreadsheet() -> None:
    table = render_csv(PERIODS, {"a" * 12: "=SUM(A1)"}).decode()
    assert ",'=SUM(A1)," in table
