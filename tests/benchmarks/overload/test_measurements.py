"""What the answers of a load say together."""

from __future__ import annotations

import math

import pytest

from benchmarks.harness.load import LoadResult, Sample
from benchmarks.overload.measurements import RetrySummary, summarize


def sample(ended: float, status: int = 200, code: str = "", **change: float) -> Sample:
    fields: dict[str, float] = {"number": 1, "retry_after": -1.0, "attempt": 1, **change}
    number, attempt = int(fields["number"]), int(fields["attempt"])
    return Sample("a", number, 2.0, ended - 0.5, ended - 0.5, ended, status, code, "", fields["retry_after"], attempt)


CPU = [1.0, 2.0, 4.0]


def load(*samples: Sample) -> LoadResult:
    return LoadResult(list(samples), 0.0, 10.0, 12.0, 20.0, 1.0)


def test_goodput_is_what_ended_in_time_and_the_rest_what_was_due() -> None:
    found = summarize(
        load(sample(10.1), sample(11.0), sample(12.2), sample(11.5, 503, "overloaded"), sample(11.6, 0, "Reset")),
        CPU,
        "a",
    )

    assert (found.goodput, found.goodput_units, found.offered) == (1.0, 2.0, 2.0)
    assert (found.refusals, found.others) == ({"503 overloaded": 1}, {"0 Reset": 1})
    assert found.success_percent == 50
    assert found.cpu_ms == pytest.approx([1000 / 3, 2000 / 3, 4000 / 3])
    assert found.cells()[3:6] == ("500 / 500 / 500", "1 (503 overloaded: 1)", "500 / 500")


def test_stream_without_samples_has_no_figures() -> None:
    found = summarize(load(), CPU, "a")

    assert (found.goodput, found.refused) == (0, 0)
    assert math.isnan(found.p95)
    assert math.isnan(found.success_percent)


def test_second_attempts_are_judged_by_their_success() -> None:
    refused = [
        sample(11.0, 503, "overloaded", number=number, retry_after=wait) for number, wait in ((1, 2), (2, 4), (3, 9))
    ]
    again = [sample(12.9, number=1, attempt=2), sample(15.0, 503, "overloaded", number=2, attempt=2)]
    found = RetrySummary.of(load(*refused, *again))

    assert (found.not_retried, found.retried, found.succeeded_percent) == (1, 2, 50)
    assert found.words.startswith("3 refused, 2 came back, 50 % of them with success (2 after the burst, 50 %)")
    assert found.words.endswith("Retry-After 4 s in the middle, 9 s at most.")
