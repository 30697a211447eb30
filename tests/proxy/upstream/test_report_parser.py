"""Reports are read as if each were the first, whatever they share."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from proxy.fleet.replica import Replica
from proxy.fleet.store import parse_replica
from proxy.upstream.report_parser import ReportParser
from shared.protocol.report import ReplicaReport
from tests.proxy.samples import models, replica, report


def report_json(*ready: str, **changes: Any) -> bytes:
    values: dict[str, Any] = {"models": models(ahead=1, limit=2), **changes}
    return report(*ready, **values).model_dump_json().encode()


def test_equal_pairs_are_shared_between_reports() -> None:
    reports = ReportParser()
    bodies = [report_json("en>de", "en>fr", replica_id=name, in_flight=number) for number, name in enumerate("abc")]
    read = [reports.parse(body) for body in bodies]
    assert read == [ReplicaReport.model_validate_json(body) for body in bodies]
    assert [each.in_flight for each in read] == [0, 1, 2]
    assert read[0].pairs is read[1].pairs is read[2].pairs
    other = reports.parse(report_json("en>de"))
    assert list(other.pairs) == ["en>de"]
    assert reports.parse(bodies[0]).pairs is read[0].pairs


def test_equal_pairs_are_shared_between_records() -> None:
    reports = ReportParser()
    one, two = (replica(f"http://{name}", "en>de", models=models(ahead=1, limit=2)) for name in "ab")
    read = [parse_replica(reports, each.model_dump_json().encode()) for each in (one, two)]
    assert read == [one, two]
    assert read[0].report is not None
    assert read[1].report is not None
    assert read[0].report.pairs is read[1].report.pairs


@pytest.mark.parametrize(
    "name",
    ['"pairs":{', '},"models":{', 'x","pairs":{"a":{},"models":{', "\\", '\\","pairs":{}', "}"],
)
def test_marks_inside_strings_are_ignored(name: str) -> None:
    body = report_json("en>de", starting=("en>fr",), replica_id=name, models=models(ahead=1, limit=2, name=name))
    assert ReportParser().parse(body) == ReplicaReport.model_validate_json(body)


def test_report_of_other_form_is_parsed_whole() -> None:
    body = b" " + report_json("en>de").replace(b":", b" : ").replace(b",", b" , ")
    assert ReportParser().parse(body).pairs == report("en>de").pairs
    never = Replica.unseen("http://a", 1.0)
    assert parse_replica(ReportParser(), never.model_dump_json().encode()) == never


def test_validation_error_names_place_in_whole_report() -> None:
    with pytest.raises(ValidationError) as caught:
        ReportParser().parse(report_json("en>de").replace(b'"ready":true', b'"ready":7'))
    assert caught.value.errors()[0]["loc"][:3] == ("pairs", "en>de", "ready")
    with pytest.raises(ValidationError):
        ReportParser().parse(report_json("en>de")[:-1])
    with pytest.raises(ValidationError):
        ReportParser().parse(b"")


def test_pairs_without_live_report_are_forgotten() -> None:
    reports = ReportParser()
    held = [reports.parse(report_json("en>de", name)) for name in ("en>fr", "en>es")]
    for number in range(5):
        reports.parse(report_json("en>de").replace(b'"why":null', b'"why":"%d"' % number))
    assert len(reports._known) == 2  # pyright: ignore[reportPrivateUsage] - not to be seen outside
    held.clear()
    assert not reports._known  # pyright: ignore[reportPrivateUsage] - the same
