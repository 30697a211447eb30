"""Values of warnings: in answers of every form, never in logs or metrics."""

from __future__ import annotations

import logging

import pytest

from apiserver.guards.quality_guard import OutputIssue, QualityGuard
from shared.protocol.answers import MAX_VALUES
from tests.apiserver.conftest import Served
from tests.support.event_streams import request_stream

SECRET = "secret-4711"
CHANGED = OutputIssue("number-changed", "A number was changed.", usable=True, weight=5)


@pytest.fixture
def guarded(served: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Return a server whose guard finds the words of each text with "secret" changed."""

    def find_issues(_: QualityGuard, source: str, *_output: object) -> list[OutputIssue]:
        values = [word for word in source.split() if "secret" in word]
        return [CHANGED.with_values(values)] if values else []

    monkeypatch.setattr(QualityGuard, "find_issues", find_issues)
    return served


async def test_values_are_in_the_warning_of_one_text(guarded: Served) -> None:
    answer = (await guarded.translate(f"Call {SECRET} now")).json()
    assert answer["warnings"] == [{"code": CHANGED.code, "message": CHANGED.message, "values": [SECRET]}]


async def test_values_of_segments_are_joined_within_limits(guarded: Served) -> None:
    lines = [f"{SECRET} and secret-{number}{'0' * 99} here" for number in range(20)]
    (warning,) = (await guarded.translate("\n".join(lines))).json()["warnings"]
    assert warning["values"][0] == SECRET
    assert len(set(warning["values"])) == len(warning["values"]) == MAX_VALUES
    assert max(map(len, warning["values"])) == 64


async def test_each_text_of_a_list_has_its_own_values(guarded: Served) -> None:
    results = (await guarded.translate(["plain", f"{SECRET} one", "secret-2 two"])).json()["results"]
    values = [[warning.get("values") for warning in result["warnings"]] for result in results]
    assert values == [[], [[SECRET]], [["secret-2"]]]


async def test_values_are_in_a_streams_result(guarded: Served) -> None:
    body = {"text": ["plain", f"{SECRET} one"], "source_lang": "en", "target_lang": "de"}
    results = (await request_stream(guarded.client, body)).result["results"]
    assert results[0]["warnings"] == []
    assert results[1]["warnings"][0]["values"] == [SECRET]


async def test_values_are_in_no_log_and_no_metric(guarded: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = await guarded.translate([f"{SECRET} one", "plain"])
    assert SECRET in answer.text
    assert not [record for record in caplog.records if SECRET in str(vars(record))]
    metrics = (await guarded.client.get("/metrics")).text
    assert '"number-changed"' in metrics
    assert "secret" not in metrics


def test_values_are_in_no_representation() -> None:
    assert SECRET not in repr(CHANGED.with_values([SECRET]))
