"""The in-flight ledger: units by caller and lane, and what comes before a request."""

from __future__ import annotations

from apiserver.scheduling.in_flight import InFlightLedger
from shared.protocol.priority import Lane


def test_units_of_counts_a_caller_in_more_urgent_lanes() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.INTERACTIVE_SHORT, 2.0)
    ledger.add("a", Lane.BULK_SHORT, 3.0)
    ledger.add("b", Lane.INTERACTIVE_SHORT, 5.0)
    assert ledger.units_of("a", Lane.INTERACTIVE_SHORT) == 2.0
    assert ledger.units_of("a", Lane.BULK_SHORT) == 5.0
    assert ledger.units_of("c", Lane.BULK_SHORT) == 0.0


def test_units_before_counts_of_each_caller_no_more_than_most() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.INTERACTIVE_SHORT, 10.0)
    ledger.add("b", Lane.INTERACTIVE_SHORT, 1.0)
    assert ledger.units_before(Lane.INTERACTIVE_SHORT) == 11.0
    assert ledger.units_before(Lane.INTERACTIVE_SHORT, 4.0) == 5.0


def test_units_before_a_short_text_limits_long_ones_altogether() -> None:
    ledger = InFlightLedger()
    for caller in "abc":
        ledger.add(caller, Lane.INTERACTIVE_LONG, 10.0)
    assert ledger.units_before(Lane.INTERACTIVE_SHORT, most_long=4.0) == 0.0
    assert ledger.units_before(Lane.STANDARD_SHORT, most_long=4.0) == 4.0
    assert ledger.units_before(Lane.INTERACTIVE_LONG, most_long=4.0) == 30.0


def test_removed_units_and_ended_requests_leave_nothing() -> None:
    ledger = InFlightLedger()
    ledger.add("a", Lane.BULK_LONG, 2.5)
    ledger.remove("a", Lane.BULK_LONG, 2.0)
    assert ledger.units_of("a", Lane.BULK_LONG) == 0.5
    ledger.remove("a", Lane.BULK_LONG, 1.0)
    assert ledger.units_of("a", Lane.BULK_LONG) == 0.0
    ledger.end("a", Lane.BULK_LONG, 0.0)
    assert len(ledger) == 0
