"""AdmissionController: a full fleet refuses, a free one admits, and what would be late is refused."""

from __future__ import annotations

from shared.protocol.priority import CHARS_PER_UNIT, SHORT_UNITS
from tests.proxy.admission.harness import LIMIT, AdmissionHarness, full_to


def test_full_fleet_is_refused_and_a_free_one_admitted() -> None:
    harness = AdmissionHarness(full_to(LIMIT))
    assert harness.refused_seconds() >= 1
    assert harness.shed_count("full") == 1
    harness.report(full_to(0))
    harness.admit()


def test_long_text_is_admitted_to_a_full_fleet() -> None:
    harness = AdmissionHarness(full_to(LIMIT))
    harness.admit(text="x" * (SHORT_UNITS * CHARS_PER_UNIT + 1))


def test_request_that_would_be_late_is_refused() -> None:
    harness = AdmissionHarness(full_to(5, rate=0.1))  # 50 s of work ahead, 30 s to wait
    harness.refused_seconds()
    assert harness.shed_count("late") == 1
